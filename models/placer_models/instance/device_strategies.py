"""Device count strategies in files: how many devices a pod has (D9)."""

from collections.abc import Collection, Mapping, Sequence

from placer_models.device_strategy import (
    DeviceCountStrategy,
    Strategies,
    device_count_strategy_fault,
)
from placer_models.files.faults import DocumentLocation
from placer_models.instance.requests import device_type_of_written_name
from placer_models.message_text import in_quotes
from placer_models.pod import Container, JointDevicesRequest, device_counts_asked_by_containers
from placer_models.policy import AlignmentScope


def read_device_strategies(
    written: Mapping[str, DeviceCountStrategy],
    containers: Sequence[Container],
    joint: JointDevicesRequest | None,
    scoped: Collection[str],
    aligned: AlignmentScope | None,
    place: DocumentLocation,
) -> Strategies:
    """Return the strategies of a pod that are compatible with all else that it asks for.

    Args:
        written: Device type -> strategy.
        containers: Containers of the pod.
        joint: Devices that the pod wants side by side.
        scoped: Types that have a topology scope.
        aligned: What the pod's alignment policy aligns together.
        place: Where the strategies are written.

    """
    strategies: dict[str, DeviceCountStrategy] = {}
    for name, strategy in written.items():
        kind = device_type_of_written_name(name)
        if kind in strategies:
            place.at(name).fault(
                f"the strategy of {in_quotes(kind)} is given twice; keep one", illegal=True
            )
        strategies[kind] = strategy
    counts, types = device_counts_asked_by_containers(containers), joint.types if joint else ()
    found = {}
    for name in written:
        kind = device_type_of_written_name(name)
        fault = device_count_strategy_fault(kind, strategies, counts, types, scoped)
        if fault is None and aligned is AlignmentScope.CONTAINER:
            fault = (
                "devices by a strategy are not parted among containers; leave numaScope out, "
                "or ask for a number of them"
            )
        if fault:
            place.at(name).fault(fault, illegal=True)
        else:
            found[kind] = strategies[kind]
    return tuple(sorted(found.items()))
