"""Device count strategies: how many devices of a type a pod has (D9)."""

from collections.abc import Collection, Mapping, Sequence
from enum import StrEnum

from placer_models.device import GPU, is_mig_instance


class DeviceCountStrategy(StrEnum):
    """From how many devices of a type a pod gets what it asks of one device."""

    APPLY_FOR_ALL = "ApplyForAll"
    """From all healthy devices of the type on its node, at least one."""

    APPLY_FOR_EACH_GROUP = "ApplyForEachGroup"
    """From one device for each group that gives it a device of the first of its joint types."""


Strategies = tuple[tuple[str, DeviceCountStrategy], ...]
"""(Device type, strategy), ascending by type."""


def device_count_strategy_fault(
    kind: str,
    strategies: Mapping[str, DeviceCountStrategy],
    counts: Mapping[str, int],
    joint: Sequence[str],
    scoped: Collection[str],
) -> str | None:
    """Return why a pod cannot have its strategy for a device type, or None if it can.

    Args:
        kind: The device type.
        strategies: All strategies of the pod, by type.
        counts: Device type -> how many devices its containers ask for.
        joint: Types that the pod wants side by side.
        scoped: Types for which the pod has a topology scope.

    """
    strategy = strategies[kind]
    if kind == GPU or is_mig_instance(kind):
        return f"there is no strategy for {kind}; ask for as many as the pod needs"
    if counts.get(kind, 0) != 1:
        return (
            f"the pod asks for {counts.get(kind, 0)} devices of type {kind}; ask for one, or a "
            f"share of one: {strategy} says of how many"
        )
    if kind in scoped:
        return f"{strategy} says which {kind} the pod has; leave requiredTopologyScope out"
    if strategy is DeviceCountStrategy.APPLY_FOR_ALL:
        return None
    if kind not in joint[1:]:
        return (
            f"{strategy} is for what jointAllocate names after another type, "
            f"such as deviceTypes: [gpu, {kind}]"
        )
    if joint[0] in strategies or not counts.get(joint[0]):
        return f"{strategy} follows {joint[0]}; ask for as many of them as the pod needs"
    return None
