"""The pools of a node, as docs/rules.md says them; in the tests' own code."""

from collections.abc import Iterable

from placer_models.cluster import Node
from placer_models.cpuset import CpuSet
from placer_models.placement import PodPlacement
from placer_models.pod import Pod
from placer_models.policy import QosClass

Tenant = tuple[Pod, PodPlacement]


def pools(
    node: Node, running: Iterable[Tenant], new: Iterable[Tenant] = ()
) -> dict[QosClass, CpuSet]:
    """Return the CPUs that the LS and the BE pods of the node run on.

    Args:
        node: The node.
        running: Pods that run, here or elsewhere.
        new: Pods that come; what a kubelet had pinned and they own is owned as any other CPU.

    """
    before, more = (
        [(pod.spec.qos, place) for pod, place in tenants if place.node == node.name]
        for tenants in (running, new)
    )
    pinned = frozenset[int]().union(*(place.cpuset for qos, place in before if qos.owns_cpus))
    owned = pinned.union(*(place.cpuset for qos, place in more if qos.owns_cpus))
    shared = best_effort = node.machine.topology.online
    shared -= owned | (node.unpooled_cpus & node.reserved_cpus)
    best_effort -= node.unpooled_cpus & (node.reserved_cpus | pinned)
    for qos, place in (*before, *more):
        if qos is QosClass.LSE:
            best_effort -= place.cpuset
    return {QosClass.LS: shared, QosClass.BE: best_effort}
