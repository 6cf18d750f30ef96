"""Device strategies, which say how many devices of a type a pod has (D9)."""

from collections.abc import Iterator

from placer.judge.family import Finding, JudgedFamily, pod_breach_finding
from placer.judge.joint import PLACE_NAMES, granted_devices_by_joint_place
from placer.judge.scene import InstanceWithPlacement, JudgedNode, PlacedPod
from placer_models.device_strategy import DeviceCountStrategy


def device_strategy_breaches(scene: InstanceWithPlacement) -> Iterator[Finding]:
    """A pod has all devices of a type on its node, or one at most for each group it is in."""
    for judged, placed in scene.newcomers:
        for kind, strategy in placed.pod.spec.strategies:
            fault = (
                _not_all(judged, placed, kind)
                if strategy is DeviceCountStrategy.APPLY_FOR_ALL
                else _not_each(judged, placed, kind)
            )
            if fault:
                held = ", ".join(map(str, placed.place.minors(kind))) or "none"
                yield pod_breach_finding(
                    placed,
                    f"on node {judged.node.name!r} holds {kind} {held}; {strategy}: {fault}",
                )


def _not_all(judged: JudgedNode, placed: PlacedPod, kind: str) -> str | None:
    there = [device.minor for device in judged.inside.healthy.get(kind, ())]
    if not there:
        return "the node has no healthy one"
    if sorted(placed.place.minors(kind)) != sorted(there):
        return f"the node has {', '.join(map(str, there))}"
    return None


def _not_each(judged: JudgedNode, placed: PlacedPod, kind: str) -> str | None:
    wish = placed.pod.spec.joint
    assert wish is not None, "a strategy of groups without any"
    first = wish.types[0]
    given, nowhere = granted_devices_by_joint_place(judged, placed)
    groups = nowhere[first] + sum(bool(of_place[first]) for of_place in given.values())
    where = PLACE_NAMES[wish.scope]
    crowded = sorted(str(place) for place, of_place in given.items() if of_place[kind] > 1)
    if crowded:
        return f"it may have one of each {where}, and has more of {', '.join(crowded)}"
    if not 1 <= len(placed.place.minors(kind)) <= groups:
        return f"it has {first} of {groups} {where}s, and one for each at most, one at least"
    return None


JUDGED = JudgedFamily(rules={"device-strategy": device_strategy_breaches})
