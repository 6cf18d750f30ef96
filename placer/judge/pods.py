"""Rules about which pods are placed, and on which nodes."""

from collections.abc import Iterator

from placer.judge.family import Finding, JudgedFamily, pod_breach_finding
from placer.judge.scene import InstanceWithPlacement


def known_breaches(scene: InstanceWithPlacement) -> Iterator[Finding]:
    """Every placed pod waits in the instance, is placed once, and its node exists."""
    placed: set[tuple[str, str]] = set()
    strange = any(place.key not in scene.waiting for place in scene.placement.pods)
    running = {runner.pod.key for runner in scene.instance.running} if strange else set()
    left_out = {one.key for one in scene.instance.left_out}
    for place in scene.placement.pods:
        title = place.title
        pod = scene.waiting.get(place.key)
        if pod is None:
            what = "does not wait in the instance"
            if place.key in running:
                what = "runs, and may not move"
            elif place.key in left_out:
                what = "is left out, being illegal or short of members that are"
            yield Finding(title, f"pod {title!r} {what}; only pods that wait are placed")
            continue
        if place.key in placed:
            yield Finding(title, f"pod {title!r} is placed more than once; a pod has one place")
        placed.add(place.key)
        if place.node not in scene.nodes_before.judged_nodes:
            yield Finding(
                title,
                f"pod {title!r} is placed on node {place.node!r}, which the instance has not; "
                f"it has {len(scene.nodes_before.judged_nodes)} nodes of other names",
            )
        gang = scene.gang_of[place.key]
        expected = None if gang.lone else gang.name
        if place.gang != expected:
            yield Finding(
                title,
                f"pod {title!r} is placed as a member of gang {place.gang!r}; "
                + ("it belongs to none" if expected is None else f"its gang is {expected!r}"),
            )


def cordon_breaches(scene: InstanceWithPlacement) -> Iterator[Finding]:
    """Nothing new runs on a cordoned node."""
    for judged, placed in scene.newcomers:
        if judged.node.cordoned:
            yield pod_breach_finding(
                placed, f"is placed on node {judged.node.name!r}, which is cordoned"
            )


def closed_breaches(scene: InstanceWithPlacement) -> Iterator[Finding]:
    """Nothing new runs on a node of which nobody knows what it still has."""
    for judged, placed in scene.newcomers:
        if judged.node.closed:
            yield pod_breach_finding(
                placed, f"is placed on node {judged.node.name!r}, which is closed"
            )


JUDGED = JudgedFamily(
    rules={
        "known": known_breaches,
        "cordon": cordon_breaches,
        "closed": closed_breaches,
    }
)
