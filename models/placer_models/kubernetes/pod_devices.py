"""Annotations about a pod's devices, translated into a PodSpec's fields (D9, D10)."""

from collections.abc import Collection, Mapping, Sequence

from placer_models.annotations.device_hint import (
    AllocateHintStrategy,
    DeviceAllocateHint,
    DeviceExclusivePolicy,
    DeviceLabelOperator,
    DeviceTopologyScope,
    Selector,
    with_device_hint_applied,
)
from placer_models.device import FunctionSelector
from placer_models.pod import Container, DeviceRequest
from placer_models.policy import SameTypeDevicesScope

Hints = Mapping[str, DeviceAllocateHint]

_SCOPES = {
    DeviceTopologyScope.PCIE: SameTypeDevicesScope.PCIE,
    DeviceTopologyScope.NUMA_NODE: SameTypeDevicesScope.NUMA_NODE,
    DeviceTopologyScope.NODE: SameTypeDevicesScope.NODE,
}


def with_percent_as_device_count(
    demand: DeviceRequest, hint: DeviceAllocateHint | None
) -> DeviceRequest:
    """Return a demand, its percent turned into a number of devices if a hint says so."""
    if hint is None or hint.strategy is not AllocateHintStrategy.REQUESTS_AS_COUNT:
        return demand
    return with_device_hint_applied(demand, hint, ())


def device_scopes_asked(
    hints: Hints, asked: Collection[str]
) -> tuple[tuple[str, SameTypeDevicesScope], ...]:
    """Return each type whose devices must all be within one scope, with that scope."""
    return tuple(
        (kind, _SCOPES[hint.scope])
        for kind, hint in sorted(hints.items())
        if kind in asked and hint.scope in _SCOPES
    )


def virtual_function_selectors(
    hints: Hints, containers: Sequence[Container]
) -> tuple[tuple[str, FunctionSelector], ...]:
    """Return the selectors of virtual functions that come with shares of devices, by type."""
    shared = {r.type for one in containers for r in one.requests.devices if r.share}
    found = []
    for kind in sorted(shared & hints.keys()):
        wanted = hints[kind].vf_selector
        selector = None if wanted is None else _function_selector(wanted)
        if selector is not None:
            found.append((kind, selector))
    return tuple(found)


def inexpressible_demands(hints: Hints, asked: Collection[str]) -> tuple[str, ...]:
    """Return demands of hints that a PodSpec cannot express."""
    found = []
    for kind, hint in sorted(hints.items()):
        if kind not in asked:
            continue
        if hint.selector:
            found.append(f"{kind} with some labels")
        if hint.exclusive is DeviceExclusivePolicy.PCIE_LEVEL or (
            hint.exclusive is DeviceExclusivePolicy.DEVICE_LEVEL
            and hint.strategy is not AllocateHintStrategy.REQUESTS_AS_COUNT
        ):
            found.append(f"{kind} of its own ({hint.exclusive})")
        if hint.vf_selector is not None and _function_selector(hint.vf_selector) is None:
            found.append(f"virtual functions of {kind} by more than values of labels")
    return tuple(found)


def _function_selector(selector: Selector) -> FunctionSelector | None:
    """Return the labels that are wanted, or None if more than label values is asked for."""
    wanted: dict[str, tuple[str, ...]] = {}
    for requirement in selector:
        if requirement.operator is not DeviceLabelOperator.IN or requirement.key in wanted:
            return None
        wanted[requirement.key] = requirement.values
    return tuple(sorted(wanted.items()))
