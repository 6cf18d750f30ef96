"""The pools of a node, as docs/rules.md says them; in the tests' own code."""

from collections.abc import Iterable

from placer_models.cluster import Node
from placer_models.cpuset import CpuSet
from placer_models.placement import PodPlacement
from placer_models.pod import Pod
from placer_models.policy import QosClass


def pools(node: Node, tenants: Iterable[tuple[Pod, PodPlacement]]) -> dict[QosClass, CpuSet]:
    """Return the CPUs that the LS and the BE pods of the node run on."""
    shared = best_effort = node.machine.topology.online
    for pod, place in tenants:
        if place.node == node.name and pod.spec.qos.owns_cpus:
            shared -= place.cpuset
        if place.node == node.name and pod.spec.qos is QosClass.LSE:
            best_effort -= place.cpuset
    return {QosClass.LS: shared, QosClass.BE: best_effort}
