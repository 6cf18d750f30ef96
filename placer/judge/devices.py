"""Rules about devices."""

from collections import defaultdict
from collections.abc import Iterator

from placer.judge.family import Finding, JudgedFamily, pod_breach_finding
from placer.judge.scene import InstanceWithPlacement, PlacedPod
from placer_models.device import GPU


def device_known_breaches(scene: InstanceWithPlacement) -> Iterator[Finding]:
    """Devices exist on the node; an id that is given is the device's own."""
    for judged, placed in scene.newcomers:
        for grant in placed.place.devices:
            what = f"{grant.type} {grant.minor}"
            device = judged.inside.devices.get((grant.type, grant.minor))
            if device is None:
                minors = [str(m) for kind, m in judged.inside.devices if kind == grant.type]
                yield pod_breach_finding(
                    placed,
                    f"holds {what}; node {judged.node.name!r} has {grant.type} "
                    f"{', '.join(minors) or 'none'}",
                )
            elif grant.id not in ("", device.id):
                yield pod_breach_finding(
                    placed,
                    f"holds {what} by the id {grant.id!r}; "
                    f"on node {judged.node.name!r} its id is {device.id!r}",
                )


def device_health_breaches(scene: InstanceWithPlacement) -> Iterator[Finding]:
    """Devices that are given out are healthy."""
    for judged, placed in scene.newcomers:
        for grant in placed.place.devices:
            device = judged.inside.devices.get((grant.type, grant.minor))
            in_mig_mode = grant.type == GPU and grant.minor in dict(judged.node.mig)
            if device is not None and not in_mig_mode and not judged.node.is_healthy(device):
                healthy = [str(d.minor) for d in judged.inside.healthy.get(grant.type, ())]
                kept = (grant.type, grant.minor) in judged.node.checkpoint_devices
                why = "a kubelet's checkpoint keeps from it" if kept else "is unhealthy"
                yield pod_breach_finding(
                    placed,
                    f"holds {grant.type} {grant.minor} of node {judged.node.name!r}, which {why}; "
                    f"healthy are {', '.join(healthy) or 'none'}",
                )


def device_exclusive_breaches(scene: InstanceWithPlacement) -> Iterator[Finding]:
    """A device has one holder, or several with a share each, running pods included."""
    for judged in scene.entered:
        holders: dict[tuple[str, int], list[tuple[PlacedPod, bool]]] = {}
        for placed in judged.placed_pods:
            for grant in placed.place.devices:
                before = holders.setdefault((grant.type, grant.minor), [])
                whole = grant.share is None
                for other, had_whole in before:
                    alone = whole or had_whole or other is placed
                    if alone and (other.new or placed.new):
                        yield pod_breach_finding(
                            placed,
                            f"holds {grant.type} {grant.minor} of node {judged.node.name!r}, "
                            f"which pod {other.title!r} holds; a device has one holder, once, or "
                            "pods with a share each",
                        )
                        break
                before.append((placed, whole))


def device_count_breaches(scene: InstanceWithPlacement) -> Iterator[Finding]:
    """A pod holds as many devices of each type as it asks for, and as many whole ones.

    If a strategy says how many, the rule ``device-strategy`` counts them.
    """
    for _, placed in scene.newcomers:
        if not (placed.place.devices or placed.requests.devices):
            continue
        held: defaultdict[str, int] = defaultdict(int)
        whole: defaultdict[str, int] = defaultdict(int)
        for grant in placed.place.devices:
            held[grant.type] += 1
            whole[grant.type] += grant.share is None
        asked: defaultdict[str, int] = defaultdict(int)
        asked_whole: defaultdict[str, int] = defaultdict(int)
        strategies = dict(placed.pod.spec.strategies)
        for request in placed.requests.devices:
            count = held[request.type] if request.type in strategies else request.count
            asked[request.type] += count
            asked_whole[request.type] += count if request.share is None else 0
        for kind in sorted({*held, *asked}):
            if held[kind] != asked[kind]:
                yield pod_breach_finding(
                    placed,
                    f"holds {held[kind]} devices of type {kind!r}; its request is {asked[kind]}",
                )
            elif whole[kind] != asked_whole[kind]:
                yield pod_breach_finding(
                    placed,
                    f"holds {whole[kind]} whole devices of type {kind!r}; its request is "
                    f"{asked_whole[kind]}, and shares of the others",
                )


JUDGED = JudgedFamily(
    rules={
        "device-known": device_known_breaches,
        "device-health": device_health_breaches,
        "device-exclusive": device_exclusive_breaches,
        "device-count": device_count_breaches,
    }
)
