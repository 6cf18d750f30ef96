"""Taints: pods that do not tolerate those of a node should be elsewhere, or have to be."""

from collections.abc import Iterator, Sequence

from placer.judge.finding import Finding
from placer.judge.scene import Scene
from placer_models.cluster import Node
from placer_models.taints import Taint, Toleration


def taints(scene: Scene) -> Iterator[Finding]:
    """The pod tolerates each taint of its node that keeps new pods off."""
    for site, tenant in scene.newcomers:
        tolerations = tenant.pod.spec.tolerations
        met = [taint for taint in taints_met(site.node, tolerations) if taint.keeps_off]
        if met:
            yield Finding(
                tenant.title,
                f"pod {tenant.title!r} does not tolerate {', '.join(map(str, met))} of node "
                f"{site.node.name!r}; give it a toleration, or another node",
            )


def taints_met(node: Node, tolerations: Sequence[Toleration]) -> list[Taint]:
    """Return the taints of a node that a pod does not tolerate."""
    return [
        taint
        for taint in node.taints
        if not any(toleration.tolerates(taint) for toleration in tolerations)
    ]
