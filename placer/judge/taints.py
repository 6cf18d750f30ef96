"""Taints: pods that do not tolerate those of a node should be elsewhere, or have to be."""

from collections.abc import Iterator

from placer.judge.family import Finding, JudgedFamily, pod_breach_finding
from placer.judge.open_nodes import untolerated_taints
from placer.judge.scene import InstanceWithPlacement


def taints_breaches(scene: InstanceWithPlacement) -> Iterator[Finding]:
    """The pod tolerates each taint of its node that keeps new pods off."""
    for judged, placed in scene.newcomers:
        tolerations = placed.pod.spec.tolerations
        met = [taint for taint in untolerated_taints(judged.node, tolerations) if taint.keeps_off]
        if met:
            yield pod_breach_finding(
                placed,
                f"does not tolerate {', '.join(map(str, met))} of node {judged.node.name!r}; give "
                "it a toleration, or another node",
            )


JUDGED = JudgedFamily(rules={"taints": taints_breaches})
