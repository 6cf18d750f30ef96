"""The pools of a node, and the CPUs and memory nodes of each of its containers (C4 to C7).

The shared pool is what no pod owns, the BE pool what no LSE pod owns; CPUs that are reserved
for the system are inside both (C5, C6). A pod that is bound to NUMA nodes has its pool's CPUs
there.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from placer_models.bound import numa_nodes_bound_to, pool_on_numa_nodes
from placer_models.cpuset import CpuSet
from placer_models.instance.running_defaults import (
    running_pool_cpus_of_node,
    split_cpuset_over_containers,
)
from placer_models.node_placement import NodePlacement, NodePlacementPod
from placer_models.placement import ContainerPlacement
from placer_models.policy import QosClass


@dataclass(frozen=True, slots=True)
class CpusByPoolAndOwner:
    """The CPUs of a node by pool and owner.

    Attributes:
        shared: CPUs of LS pods: online and owned by nobody.
        best_effort: CPUs of BE pods: online and owned by no LSE pod.
        owned: LSE, LSR -> the CPUs that pods of the class own.
        bound: NUMA nodes that pods are bound to -> the part of the shared pool there.

    """

    shared: CpuSet
    best_effort: CpuSet
    owned: Mapping[QosClass, CpuSet]
    bound: Mapping[frozenset[int], CpuSet]


def cpu_pools_of_node(document: NodePlacement) -> CpusByPoolAndOwner:
    """Return the pools that the pods of the node leave."""
    node = document.node
    owned: dict[QosClass, CpuSet] = {}
    for one in document.pods:
        qos = one.pod.spec.qos
        if qos.owns_cpus:
            owned[qos] = owned.get(qos, frozenset()) | one.placement.cpuset
    shared = running_pool_cpus_of_node(QosClass.LS, node, owned)
    homes = {
        home
        for one in document.pods
        if one.pod.spec.qos is QosClass.LS
        and (home := numa_nodes_bound_to(one.placement, one.pod.spec, node))
    }
    topology = node.machine.topology
    return CpusByPoolAndOwner(
        shared,
        running_pool_cpus_of_node(QosClass.BE, node, owned),
        owned,
        {home: pool_on_numa_nodes(shared, home, topology) for home in sorted(homes, key=sorted)},
    )


def with_cpus_of_each_container(document: NodePlacement) -> NodePlacement:
    """Return the document with the CPUs of every container; pools are as all its pods leave them.

    A pod of a pool runs in the whole of it, whatever its placement says: that was written
    before others came or went (C7).
    """
    pools = cpu_pools_of_node(document)
    return replace(document, pods=tuple(_settled(one, document, pools) for one in document.pods))


def _settled(
    one: NodePlacementPod, document: NodePlacement, pools: CpusByPoolAndOwner
) -> NodePlacementPod:
    spec, seat, node = one.pod.spec, one.placement, document.node
    given = {container.name: container for container in seat.containers}
    if spec.qos.owns_cpus:
        parts = tuple(
            given.get(part.name, part)
            for part in split_cpuset_over_containers(spec, seat.cpuset, node.machine.topology)
        )
        return replace(one, placement=replace(seat, containers=parts))
    pool = pools.best_effort if spec.qos is QosClass.BE else pools.shared
    homes = numa_nodes_bound_to(seat, spec, node)
    parts = tuple(
        replace(part, cpuset=_pool_there(pool, _homes(part, homes), document))
        for container in spec.containers
        for part in [given.get(container.name, ContainerPlacement(container.name, frozenset()))]
    )
    cpuset = _pool_there(pool, homes, document)
    milli = seat.cpu_milli
    if milli is None:  # noted once, so that nobody has to derive it from the cpuset again
        milli = tuple((home, 0) for home in sorted(homes))
        if milli:
            milli = ((milli[0][0], spec.requests.cpu_milli), *milli[1:])
    return replace(one, placement=replace(seat, cpuset=cpuset, containers=parts, cpu_milli=milli))


def memory_nodes_of_container(
    part: ContainerPlacement, one: NodePlacementPod, document: NodePlacement
) -> frozenset[int]:
    """Return the NUMA nodes whose memory a container may use.

    These are the ones where its memory or its pod's is placed, if the pod has CPUs of its own or
    is bound to NUMA nodes. Otherwise they are all with memory: then the placement only serves
    for counting.
    """
    node = document.node
    with_memory = frozenset(
        numa.id for numa in node.machine.topology.numa_nodes if numa.memory_bytes
    ) or frozenset(numa.id for numa in node.machine.topology.numa_nodes)
    spec, seat = one.pod.spec, one.placement
    if not (spec.qos.owns_cpus or numa_nodes_bound_to(seat, spec, node)):
        return with_memory
    for held in (part, seat):
        placed = {numa for numa, size in held.memory_bytes if size}
        placed |= {numa for numa, _, pages in held.hugepages if pages}
        if placed:
            return frozenset(placed)
    return with_memory


def _homes(part: ContainerPlacement, homes: frozenset[int]) -> frozenset[int]:
    """Return the NUMA nodes that a container is bound to: its own, else its pod's."""
    return frozenset(numa for numa, _ in part.cpu_milli) if part.cpu_milli else homes


def _pool_there(pool: CpuSet, homes: frozenset[int], document: NodePlacement) -> CpuSet:
    return pool_on_numa_nodes(pool, homes, document.node.machine.topology) if homes else pool
