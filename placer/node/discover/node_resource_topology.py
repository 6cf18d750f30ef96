"""Kubernetes' NodeResourceTopology, read as an inventory and written from one (C15).

CPUs are in the annotations of Koordinator's node agent; zones of NUMA nodes have memory,
hugepages, devices and distances.
"""

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from placer.node.discover.inventory import (
    DiscoveredCpu,
    DiscoveredDevices,
    DiscoveredNumaNode,
    HardwareInventory,
)
from placer.node.discover.machine import DiscoveredMachine
from placer_models.annotations.names import (
    CPU_MANAGER_POLICY,
    CPU_SHARED_POOLS,
    CPU_TOPOLOGY,
    POD_CPU_ALLOCS,
)
from placer_models.annotations.node_topology import (
    CpuManagerPolicyAnnotation,
    NodeTopologyAnnotationCpu,
    shared_pools_of,
    topology_to_reported_cpus,
    write_cpu_manager_policy_annotation,
    write_cpu_shared_pools_annotation,
    write_cpu_topology_annotation,
    write_pod_cpu_allocs_annotation,
)
from placer_models.device import GPU, Device
from placer_models.files.errors import InputError
from placer_models.files.part import Json
from placer_models.files.tree import field_path_text
from placer_models.instance.hugepages import hugepages_resource_name
from placer_models.kubernetes.object_fields import KubernetesObjectError
from placer_models.kubernetes.resources import NOTHING
from placer_models.kubernetes.stream import load_kubernetes_objects
from placer_models.kubernetes.topology import (
    KIND,
    KubeNodeResourceTopology,
    KubeNumaZone,
    device_counts_of_topology_zone,
    read_kube_node_resource_topology,
)
from placer_models.machines.sketch import RDMA
from placer_models.message_text import in_quotes
from placer_models.policy import AlignmentPolicy
from placer_models.quantity import format_bytes
from placer_models.topology import hugepages_of_bytes

DOCUMENTS = (".yaml", ".yml", ".json")
"""The endings of the files of such objects."""

DEVICE_TYPES: Mapping[str, str] = {
    "nvidia.com/gpu": GPU,
    "amd.com/gpu": GPU,
    "rdma/hca": RDMA,
}
"""Resource -> the device type that it is; other resources are types of their own name."""

MOST_DEVICES = 1024
"""The most devices of one type that a machine has."""

_NO_ZONE = KubeNumaZone(NOTHING, NOTHING, NOTHING)
_RESOURCE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,252}")


def read_node_resource_topology(path: Path) -> HardwareInventory:
    """Return what a NodeResourceTopology says about its node.

    Raises:
        InputError: The file is no such object, or does not say where the node's CPUs are.

    """
    objects = list(load_kubernetes_objects(path))
    found = objects[0] if len(objects) == 1 else None
    if isinstance(found, InputError):
        raise found
    if found is None or found.kind != KIND:
        got = f"got 'kind: {found.kind}'" if found else f"got {len(objects)} objects"
        raise InputError(str(path), None, "", f"{got}; expected one of 'kind: {KIND}'")
    try:
        return _inventory(read_kube_node_resource_topology(found.value), str(path))
    except KubernetesObjectError as error:
        line, field = found.line_at(error.path), field_path_text(error.path)
        raise InputError(str(path), line, field, f"{error.title}: {error.message}") from None


def _inventory(part: KubeNodeResourceTopology, source: str) -> HardwareInventory:
    if not part.cpus:
        at = ("metadata", "annotations", CPU_TOPOLOGY)
        raise KubernetesObjectError(part.identity.title, at, "names no CPU; it says where CPUs are")
    known = frozenset(cpu.id for cpu in part.cpus)
    return HardwareInventory(
        source=source,
        host=part.identity.name,
        cpus=_cpus(part.cpus),
        numa_nodes=_numa_nodes(part),
        policy=part.policy,
        pod_cpus=tuple(replace(one, cpuset=one.cpuset & known) for one in part.allocs),
        alignment=part.alignment,
        scope=part.scope,
        found=DiscoveredDevices(_devices(part)),
        warnings=tuple(
            f"CPUs in {name} that cpu-topology lacks are left out" for name in part.doubted
        ),
    )


def _cpus(reported: tuple[NodeTopologyAnnotationCpu, ...]) -> tuple[DiscoveredCpu, ...]:
    members: dict[tuple[int, int], set[int]] = {}
    for cpu in reported:
        # Numbers of cores repeat from package to package.
        members.setdefault((cpu.package, cpu.core), set()).add(cpu.id)
    return tuple(
        DiscoveredCpu(
            cpu.id,
            threads=frozenset(members[cpu.package, cpu.core]),
            package=(cpu.package,),
        )
        for cpu in reported
    )


def _numa_nodes(part: KubeNodeResourceTopology) -> tuple[DiscoveredNumaNode, ...]:
    """Return the NUMA nodes that CPUs or zones name; memory includes its hugepages."""
    ids = sorted({cpu.numa_node for cpu in part.cpus} | part.zones.keys())
    nodes = []
    for id in ids:
        zone = part.zones.get(id, _NO_ZONE)
        pages = hugepages_of_bytes(zone.capacity.hugepages)
        known = zone.distances.keys() >= set(ids)
        nodes.append(
            DiscoveredNumaNode(
                id,
                frozenset(cpu.id for cpu in part.cpus if cpu.numa_node == id),
                zone.capacity.memory_bytes or 0,
                pages,
                tuple(zone.distances[other] for other in ids) if known else (),
            )
        )
    return tuple(nodes)


def _devices(part: KubeNodeResourceTopology) -> tuple[Device, ...]:
    """Return the devices of the zones, numbered type by type."""
    places: defaultdict[str, list[int]] = defaultdict(list)
    for numa_node, zone in part.zones.items():
        for name, count in device_counts_of_topology_zone(zone.capacity):
            if not _RESOURCE.fullmatch(name):
                message = f"{in_quotes(name)} is no name of a resource; expected example.com/fpga"
                raise KubernetesObjectError(part.identity.title, ("zones",), message)
            here = places[DEVICE_TYPES.get(name, name)]
            if len(here) + count > MOST_DEVICES:
                message = f"{len(here) + count} devices of {name}; there are {MOST_DEVICES} at most"
                raise KubernetesObjectError(part.identity.title, ("zones",), message)
            here += [numa_node] * count
    return tuple(
        Device(type, minor, numa_node=numa_node)
        for type, numa_nodes in sorted(places.items())
        for minor, numa_node in enumerate(numa_nodes)
    )


def write_node_resource_topology(found: DiscoveredMachine) -> Json:
    """Return such an object; what is reserved on the node is capacity, but not allocatable."""
    topology, inventory = found.machine.topology, found.inventory
    known = inventory.policy or CpuManagerPolicyAnnotation()
    policy = replace(known, reserved=found.reserved - found.pinned)
    node = found.node()
    annotations = {
        CPU_TOPOLOGY: write_cpu_topology_annotation(topology_to_reported_cpus(topology)),
        CPU_SHARED_POOLS: write_cpu_shared_pools_annotation(
            shared_pools_of(topology, topology.online - found.reserved)
        ),
    }
    if policy != CpuManagerPolicyAnnotation():
        annotations[CPU_MANAGER_POLICY] = write_cpu_manager_policy_annotation(policy)
    if inventory.pod_cpus:
        annotations[POD_CPU_ALLOCS] = write_pod_cpu_allocs_annotation(inventory.pod_cpus)
    scope = {"": "", "pod": "PodLevel", "container": "ContainerLevel"}[node.scope or ""]
    alignment = node.alignment or AlignmentPolicy.NONE
    aligned = "" if alignment is AlignmentPolicy.NONE else scope
    return {
        "apiVersion": "topology.node.k8s.io/v1alpha1",
        "kind": KIND,
        "metadata": {"name": node.name, "annotations": annotations},
        "topologyPolicies": [f"{alignment.value}{aligned}"],
        "zones": [_zone(found, i) for i in range(len(topology.numa_nodes))],
    }


def _zone(found: DiscoveredMachine, i: int) -> Json:
    topology = found.machine.topology
    numa = topology.numa_nodes[i]
    here = {cpu.id for cpu in topology.cpus if cpu.online and cpu.numa_node == numa.id}
    pages_bytes = sum(page.page_bytes * page.count for page in numa.hugepages)
    memory = found.inventory.pod_memory
    free = str(len(here - found.reserved))
    resources = [("cpu", str(len(here)), free, free)]
    amounts = [("memory", numa.memory_bytes, numa.memory_bytes - pages_bytes)]
    for page in numa.hugepages:
        size = page.page_bytes * page.count
        amounts.append((hugepages_resource_name(page.page_bytes), size, size))
    for name, capacity, allocatable in amounts:
        key = numa.id, name
        allocatable = max(0, allocatable - (memory.system_bytes.get(key, 0) if memory else 0))
        available = max(0, allocatable - (memory.given_bytes.get(key, 0) if memory else 0))
        resources.append(
            (name, format_bytes(capacity), format_bytes(allocatable), format_bytes(available))
        )
    row = topology.numa_distances[i] if topology.numa_distances else ()
    costs = [
        {"name": f"node-{other.id}", "value": value}
        for other, value in zip(topology.numa_nodes, row, strict=False)
    ]
    return {
        "name": f"node-{numa.id}",
        "type": "Node",
        **({"costs": costs} if costs else {}),
        "resources": [
            dict(zip(("name", "capacity", "allocatable", "available"), row, strict=True))
            for row in resources
        ],
    }
