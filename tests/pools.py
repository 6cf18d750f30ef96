"""The pools of a node, as docs/rules.md says them; in the tests' own code."""

from collections.abc import Iterable

from placer_models.cluster import Node
from placer_models.cpuset import CpuSet
from placer_models.placement import PodPlacement
from placer_models.pod import Pod
from placer_models.policy import QosClass


def pools(node: Node, tenants: Iterable[tuple[Pod, PodPlacement]]) -> dict[QosClass, CpuSet]:
    """Return the CPUs that the LS and the BE pods of the node run on."""
    here = [(pod.spec.qos, place) for pod, place in tenants if place.node == node.name]
    owned = frozenset[int]().union(*(place.cpuset for qos, place in here if qos.owns_cpus))
    shared = best_effort = node.machine.topology.online
    shared -= owned | (node.unpooled_cpus & node.reserved_cpus)
    # Nobody comes to CPUs that are pinned: their owners run.
    best_effort -= node.unpooled_cpus & (node.reserved_cpus | owned)
    for qos, place in here:
        if qos is QosClass.LSE:
            best_effort -= place.cpuset
    return {QosClass.LS: shared, QosClass.BE: best_effort}
