"""The rule about virtual functions of devices (D9)."""

from collections.abc import Iterator, Mapping

from placer.judge.family import Finding, JudgedFamily, pod_breach_finding
from placer.judge.scene import InstanceWithPlacement, JudgedNode, PlacedPod
from placer_models.device import FunctionSelector
from placer_models.placement import DeviceGrant


def device_functions_breaches(scene: InstanceWithPlacement) -> Iterator[Finding]:
    """A share has one virtual function of its own as its pod wants it, or none if not wanted."""
    for judged, placed in scene.newcomers:
        wishes = dict(placed.pod.spec.functions)
        for grant in placed.place.devices:
            wish = wishes.get(grant.type) if grant.share is not None else None
            if fault := _fault(judged, grant, wish):
                yield pod_breach_finding(
                    placed,
                    f"holds {_named(grant)} of node {judged.node.name!r} with "
                    f"{_functions(grant)}; {fault}",
                )
    for judged in scene.entered:
        yield from _twice(judged)


def _fault(judged: JudgedNode, grant: DeviceGrant, wish: FunctionSelector | None) -> str | None:
    device = judged.inside.devices.get((grant.type, grant.minor))
    has = {vf.minor: vf.labels for vf in device.virtual_functions} if device else {}
    if wish is None:
        return "it asks for none" if grant.vfs else None
    if len(grant.vfs) != 1:
        return "each of its shares comes with one"
    labels = has.get(grant.vfs[0])
    if labels is None:
        return f"the device has {', '.join(map(str, has)) or 'none'}"
    if not is_wanted_virtual_function(wish, dict(labels)):
        return "it wants " + " and ".join(f"{key} {' or '.join(own)}" for key, own in wish)
    return None


def is_wanted_virtual_function(wish: FunctionSelector, labels: Mapping[str, str]) -> bool:
    """Return whether a virtual function with these labels is one that the pod wants."""
    return all(labels.get(key) in values for key, values in wish)


def _twice(judged: JudgedNode) -> Iterator[Finding]:
    """A virtual function has one holder. Only new pods are blamed."""
    holder: dict[tuple[str, int, int], PlacedPod] = {}
    for placed in judged.placed_pods:
        for grant in placed.place.devices:
            for function in grant.vfs:
                first = holder.setdefault((grant.type, grant.minor, function), placed)
                if first is not placed and (first.new or placed.new):
                    yield pod_breach_finding(
                        placed,
                        f"holds virtual function {function} of {_named(grant)} of node "
                        f"{judged.node.name!r}, which pod {first.title!r} holds; a virtual "
                        "function has one holder",
                    )


def _named(grant: DeviceGrant) -> str:
    return f"{grant.type} {grant.minor}"


def _functions(grant: DeviceGrant) -> str:
    if not grant.vfs:
        return "no virtual function"
    return f"virtual functions {', '.join(map(str, grant.vfs))}"


JUDGED = JudgedFamily(rules={"device-functions": device_functions_breaches})
