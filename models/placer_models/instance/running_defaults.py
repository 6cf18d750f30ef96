"""Defaults of a running pod's place, where the file leaves it open."""

from collections.abc import Collection, Iterable, Mapping

from placer_models.bound import numa_nodes_of_cpus
from placer_models.cluster import Node
from placer_models.cpuset import CpuSet
from placer_models.placement import ContainerPlacement, DeviceGrant
from placer_models.pod import ContainerRole, PodSpec
from placer_models.policy import QosClass
from placer_models.topology import Topology

_NONE: CpuSet = frozenset()


def running_pool_cpus_of_node(
    qos: QosClass, node: Node, owned: Mapping[QosClass, CpuSet]
) -> CpuSet:
    """Return the CPUs that LS or BE pods of the node run on (C5, C6)."""
    taken = frozenset[int]().union(*owned.values())
    online = node.machine.topology.online - node.out_of_pools(taken)
    if qos is QosClass.BE:
        return online - owned.get(QosClass.LSE, _NONE)
    return online - owned.get(QosClass.LSE, _NONE) - owned.get(QosClass.LSR, _NONE)


def split_amount_over_numa_nodes(
    amount: int, near: Collection[int], room: Mapping[int, int]
) -> dict[int, int]:
    """Return how much of a pod's memory, or how many of its pages, each NUMA node gives.

    The NUMA nodes of the pod's own CPUs and devices give first, where the kernel would have
    put it; among equals the one with the most room, then the one with the lowest id. Together
    they give less than the amount if there is too little.

    Args:
        amount: How many bytes or pages to lay out.
        near: NUMA nodes of its own CPUs and devices.
        room: NUMA node -> what it has left.

    """
    taken, left = {}, amount
    for numa in sorted(room, key=lambda numa: (numa not in near, -room[numa], numa)):
        if here := min(left, max(0, room[numa])):
            taken[numa] = here
            left -= here
    return taken


def numa_nodes_of_cpus_and_devices(
    node: Node, cpus: CpuSet, devices: Iterable[DeviceGrant]
) -> frozenset[int]:
    """Return the NUMA nodes of a pod's own CPUs and of its devices, as far as they have one."""
    topology = node.machine.topology
    held = {(grant.type, grant.minor) for grant in devices}
    local = {d.numa_node for d in node.devices if (d.type, d.minor) in held}
    local |= numa_nodes_of_cpus(cpus & topology.online, topology)
    return frozenset(numa for numa in local if numa is not None)


def split_cpuset_over_containers(
    spec: PodSpec, cpuset: CpuSet, topology: Topology
) -> tuple[ContainerPlacement, ...]:
    """Return the CPUs of each container of a pod (rule ``containers``).

    App and restartable init containers that ask for CPUs get parts of an owned
    cpuset, core by core in the order written; all others run on the whole of it.
    """
    parts = []
    left = sorted(
        cpuset, key=lambda cpu: (topology.cpu[cpu].core if cpu in topology.cpu else 0, cpu)
    )
    for container in spec.containers:
        want = container.requests.cpu_milli // 1000
        part = cpuset
        if spec.qos.owns_cpus and want and container.role is not ContainerRole.INIT:
            part, left = frozenset(left[:want]), left[want:]
        parts.append(ContainerPlacement(container.name, part))
    return tuple(parts)
