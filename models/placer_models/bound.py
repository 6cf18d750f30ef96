"""LS and BE pods that are bound to the pool of some NUMA nodes (C8, C12).

The judge has its own version, in `placer.judge.cells`.
"""

from collections import Counter
from collections.abc import Collection
from dataclasses import replace

from placer_models.cluster import Node, RunningPod
from placer_models.cpuset import CpuSet
from placer_models.effective import effective_alignment_policy
from placer_models.placement import ContainerPlacement, PodPlacement
from placer_models.pod import PodSpec
from placer_models.policy import BINDING
from placer_models.topology import Topology


def is_bound_by_policy(spec: PodSpec, node: Node) -> bool:
    """Return whether a policy binds the pod to the pool of some NUMA nodes of the node."""
    return not spec.qos.owns_cpus and effective_alignment_policy(spec, node) in BINDING


def numa_nodes_bound_to(placement: PodPlacement, spec: PodSpec, node: Node) -> frozenset[int]:
    """Return the NUMA nodes to whose pool a pod is bound; none if it floats over all of it.

    Where the placement does not name them, they are the NUMA nodes of its cpuset, or of its
    memory and devices if it has no cpuset. A pod that also runs on a CPU without a NUMA node
    is not bound.
    """
    if spec.qos.owns_cpus:
        return frozenset()
    if placement.cpu_milli is not None:
        return frozenset(numa for numa, _ in placement.cpu_milli)
    if not spec.constrained_burst and not is_bound_by_policy(spec, node):
        return frozenset()
    cpus, topology = placement.cpuset, node.machine.topology
    homes = numa_nodes_of_cpus(cpus, topology)
    if not cpus and not spec.constrained_burst:
        return numa_nodes_of_memory_and_devices(placement, node)
    floats = not spec.constrained_burst and cpus != pool_on_numa_nodes(cpus, homes, topology)
    return frozenset() if floats else homes


def with_bound_numa_nodes(running: RunningPod, node: Node) -> PodPlacement:
    """Return a pod's place, completed by the NUMA nodes to whose pool it is bound."""
    place, spec = running.placement, running.pod.spec
    if spec.qos.owns_cpus or place.cpu_milli is not None:
        return place
    homes = sorted(numa_nodes_bound_to(place, spec, node))
    counts = [spec.requests.cpu_milli, *[0] * len(homes)]
    return replace(place, cpu_milli=tuple(zip(homes, counts, strict=False)))


def numa_nodes_of_cpus(cpus: CpuSet, topology: Topology) -> frozenset[int]:
    """Return the NUMA nodes that the CPUs are on."""
    homes = {topology.cpu[cpu].numa_node for cpu in cpus if cpu in topology.cpu}
    return frozenset(home for home in homes if home is not None)


def cpu_counts_by_numa_node(cpus: CpuSet, topology: Topology) -> Counter[int]:
    """Return NUMA node -> how many of the CPUs are on it."""
    homes = (topology.cpu[cpu].numa_node for cpu in cpus)
    return Counter(home for home in homes if home is not None)


def numa_nodes_of_memory_and_devices(
    placement: PodPlacement | ContainerPlacement, node: Node
) -> frozenset[int]:
    """Return the NUMA nodes of the memory, hugepages and devices of a pod or a container."""
    held = {(grant.type, grant.minor) for grant in placement.devices}
    homes = {d.numa_node for d in node.devices if (d.type, d.minor) in held}
    homes.update(numa for numa, amount in placement.memory_bytes if amount > 0)
    homes.update(numa for numa, _, pages in placement.hugepages if pages > 0)
    known = {numa.id for numa in node.machine.topology.numa_nodes}
    return frozenset(home for home in homes if home in known)


def pool_on_numa_nodes(pool: CpuSet, numa_nodes: Collection[int], topology: Topology) -> CpuSet:
    """Return the CPUs of a pool on the NUMA nodes."""
    known = topology.cpu
    return frozenset(c for c in pool if c in known and known[c].numa_node in numa_nodes)
