"""Joint devices: the rule and the tier about devices of several types side by side."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping
from itertools import permutations

from placer.judge.family import Finding, JudgedFamily, pod_breach_finding
from placer.judge.scene import InstanceWithPlacement, JudgedNode, NodeCapacity, PlacedPod
from placer_models.alignment import fewest_cell_count_for_all_resources
from placer_models.device import Device
from placer_models.device_strategy import DeviceCountStrategy
from placer_models.goals import JOINT
from placer_models.policy import JointDevicesScope, RequiredOrPreferred

_Place = str | int
"""A PCIe switch, a PCIe root or a NUMA node."""

PLACE_NAMES = {
    JointDevicesScope.SAME_PCIE: "PCIe switch",
    JointDevicesScope.SAME_NUMA_NODE: "NUMA node",
}


def joint_breaches(scene: InstanceWithPlacement) -> Iterator[Finding]:
    """Where required, a place that gives a device of one type gives one of each other type."""
    for judged, placed, counts in _wishing(scene, RequiredOrPreferred.REQUIRED):
        if fault := _fault(judged, placed, counts):
            yield pod_breach_finding(
                placed,
                f"on node {judged.node.name!r} {fault}; "
                f"it wants {' and '.join(counts)} side by side",
            )


def joint_device_split_excess(scene: InstanceWithPlacement) -> int:
    """Return tier ``joint``: places that give a pod only some types, plus devices of no place."""
    apart = 0
    for judged, placed, counts in _wishing(scene, RequiredOrPreferred.PREFERRED):
        given, nowhere = granted_devices_by_joint_place(judged, placed)
        apart += nowhere.total() + sum(len(types) < len(counts) for types in given.values())
    return apart


def _wishing(
    scene: InstanceWithPlacement, strength: RequiredOrPreferred
) -> Iterator[tuple[JudgedNode, PlacedPod, Mapping[str, int]]]:
    """Yield newly placed pods that want two types or more side by side, with their counts."""
    for judged, placed in scene.newcomers:
        wish = placed.pod.spec.joint
        if wish is not None and wish.strength is strength:
            counts = _asked(placed)
            if len(counts) > 1:
                yield judged, placed, counts


def granted_devices_by_joint_place(
    judged: JudgedNode, placed: PlacedPod
) -> tuple[Mapping[_Place, Counter[str]], Counter[str]]:
    """Return place -> how many devices of each type it gives the pod, and how many no place does.

    Only the types that it wants side by side count.
    """
    counts = _asked(placed)
    place_of = _places(judged.inside, _scope(placed), counts)
    given: dict[_Place, Counter[str]] = defaultdict(Counter)
    nowhere: Counter[str] = Counter()
    for grant in placed.place.devices:
        if grant.type in counts and (grant.type, grant.minor) in place_of:
            place = place_of[grant.type, grant.minor]
            if place is None:
                nowhere[grant.type] += 1
            else:
                given[place][grant.type] += 1
    return given, nowhere


def _asked(placed: PlacedPod) -> dict[str, int]:
    """Return type -> count of the types that the pod asks for and wants side by side.

    A type under ApplyForAll is left out: the pod has all of it, wherever that is.
    """
    wish, strategies = placed.pod.spec.joint, dict(placed.pod.spec.strategies)
    types = wish.types if wish is not None else ()
    counts = {
        kind: placed.requests.count_of(kind)
        for kind in types
        if strategies.get(kind) is not DeviceCountStrategy.APPLY_FOR_ALL
    }
    return {kind: count for kind, count in counts.items() if count}


def _fault(judged: JudgedNode, placed: PlacedPod, counts: Mapping[str, int]) -> str | None:
    given, homeless = granted_devices_by_joint_place(judged, placed)
    nowhere, scope = homeless.total(), _scope(placed)
    if nowhere:
        return f"holds {nowhere} devices of which no {PLACE_NAMES[scope]} is known"
    first, *_ = counts
    followers = dict(placed.pod.spec.strategies).keys() & counts.keys()
    in_full = _in_full(judged.inside, scope, counts, followers)
    for one, other in permutations(counts, 2):
        # If even the empty node could not give all in full, the less numerous of the first type
        # and another stands beside the more numerous. A type that follows the groups of the
        # first has one in each.
        fewer = counts[one] <= counts[other] or not followers.isdisjoint((one, other))
        owed = in_full or (first in (one, other) and fewer)
        alone = sorted(str(at) for at, has in given.items() if one in has and other not in has)
        if owed and alone:
            return f"holds {one} but no {other} of {PLACE_NAMES[scope]} {', '.join(alone)}"
    return None


def _in_full(
    inside: NodeCapacity,
    scope: JointDevicesScope,
    asked: Mapping[str, int],
    followers: Collection[str],
) -> bool:
    """Return whether the empty node could give all from places that each give every type.

    Types of which a pod has one for each place are not counted.
    """
    held: dict[_Place, Counter[str]] = defaultdict(Counter)
    place_of = _places(inside, scope, asked)
    counts = {kind: count for kind, count in asked.items() if kind not in followers}
    for kind in counts:
        for device in inside.healthy.get(kind, ()):
            place = place_of[kind, device.minor]
            if place is not None:
                held[place][kind] += 1
    cells = [tuple(has[kind] for kind in counts) for has in held.values()]
    fewest = fewest_cell_count_for_all_resources(
        [cell for cell in cells if all(cell)], tuple(counts.values())
    )
    return fewest is not None and fewest <= min(counts.values())


def _places(
    inside: NodeCapacity, scope: JointDevicesScope, counts: Mapping[str, int]
) -> dict[tuple[str, int], _Place | None]:
    """Return (type, minor) -> place of each device of the types."""
    devices = {key: device for key, device in inside.devices.items() if key[0] in counts}
    switched = {d.type for d in devices.values() if d.pcie_switch is not None}

    def place(device: Device) -> _Place | None:
        if scope is JointDevicesScope.SAME_NUMA_NODE:
            return device.numa_node
        # If a type names no switch at all, only the roots can be compared.
        return device.pcie_switch if len(switched) == len(counts) else device.pcie_root

    return {key: place(device) for key, device in devices.items()}


def _scope(placed: PlacedPod) -> JointDevicesScope:
    wish = placed.pod.spec.joint
    assert wish is not None
    return wish.scope


JUDGED = JudgedFamily(rules={"joint": joint_breaches}, tiers={JOINT: joint_device_split_excess})
