"""Kubernetes' NodeResourceTopology, read as an inventory and written from one (C15).

CPUs are in the annotations of Koordinator's node agent; zones of NUMA nodes have memory,
hugepages, devices and distances.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from placer.node.discover.held import hugepages_name
from placer.node.discover.inventory import FoundCpu, FoundDevices, FoundNumaNode, Inventory
from placer.node.discover.machine import Discovered
from placer_models.annotations.json_parts import AnnotationError, JsonPart, parse_json
from placer_models.annotations.names import (
    CPU_MANAGER_POLICY,
    CPU_SHARED_POOLS,
    CPU_TOPOLOGY,
    POD_CPU_ALLOCS,
)
from placer_models.annotations.node_topology import (
    CpuManagerPolicy,
    ReportedCpu,
    cpus_of,
    read_cpu_manager_policy,
    read_cpu_topology,
    read_pod_cpu_allocs,
    shared_pools_of,
    write_cpu_manager_policy,
    write_cpu_shared_pools,
    write_cpu_topology,
    write_pod_cpu_allocs,
)
from placer_models.device import GPU, Device
from placer_models.files.documents import read_documents
from placer_models.files.errors import InputError, shown
from placer_models.files.part import Json
from placer_models.files.tree import Scalar, plain
from placer_models.machines.sketch import RDMA
from placer_models.policy import AlignmentPolicy, AlignmentScope
from placer_models.quantity import format_bytes, parse_bytes, parse_milli
from placer_models.topology import Hugepages

DOCUMENTS = (".yaml", ".yml", ".json")
"""How the files of such objects end."""

KIND = "NodeResourceTopology"

DEVICE_TYPES: Mapping[str, str] = {
    "nvidia.com/gpu": GPU,
    "amd.com/gpu": GPU,
    "rdma/hca": RDMA,
}
"""Resources that are devices of a type with a name of its own; others are named as they are."""

MOST_DEVICES = 1024
"""A machine has no more of one type."""

_ZONE = re.compile(r"[A-Za-z]*-?([0-9]{1,5})")
_POLICY = re.compile(
    r"(?i)(none|best-?effort|restricted|single-?numa-?node)-?(container|pod)?(-?level)?"
)
_HUGEPAGES = "hugepages-"
_PLAIN = ("cpu", "memory", "ephemeral-storage", "pods")
_RESOURCE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,252}")


def read_node_resource_topology(path: Path) -> Inventory:
    """Return what such an object says of its node.

    Raises:
        InputError: The file is none, or does not say where the node's CPUs are.

    """
    documents = read_documents(path)
    entry = documents[0].tree.entries.get("kind")
    kind = entry.node.text if entry and isinstance(entry.node, Scalar) else ""
    if kind != KIND or len(documents) > 1:
        got = f"got 'kind: {kind}'" if len(documents) == 1 else f"got {len(documents)} documents"
        raise InputError(str(path), None, "", f"{got}; expected one document of 'kind: {KIND}'")
    try:
        return _inventory(parse_json(json.dumps(plain(documents[0].tree)), KIND), str(path))
    except AnnotationError as error:
        key = "" if error.key == KIND else f"{error.key} "
        message = str(error).removeprefix(f"{error.key}: {error.path}: ")
        raise InputError(str(path), None, f"{key}{error.path}", message) from None


def _inventory(whole: JsonPart, source: str) -> Inventory:
    fields = whole.fields(("metadata", "zones", "topologyPolicies", "attributes"))
    metadata = whole.need(fields, "metadata").fields(("name", "annotations"))
    noted = metadata["annotations"].members() if "annotations" in metadata else {}
    texts = {key: part.text() for key, part in noted.items()}
    if CPU_TOPOLOGY not in texts:
        raise AnnotationError(
            KIND, "$.metadata.annotations", f"{CPU_TOPOLOGY} is missing: it says where CPUs are"
        )
    reported = read_cpu_topology(texts[CPU_TOPOLOGY])
    if not reported:
        raise AnnotationError(CPU_TOPOLOGY, "$.detail", "names no CPU")
    text = texts.get(CPU_MANAGER_POLICY)
    policy = read_cpu_manager_policy(text) if text is not None else None
    numa_nodes, devices = _zones(fields.get("zones"), reported)
    alignment, scope = _alignment(fields)
    return Inventory(
        source=source,
        host=metadata["name"].text() if "name" in metadata else "",
        cpus=_cpus(reported),
        numa_nodes=numa_nodes,
        policy=policy,
        pod_cpus=read_pod_cpu_allocs(texts.get(POD_CPU_ALLOCS, "[]")),
        alignment=alignment,
        scope=scope,
        found=FoundDevices(devices),
    )


def _cpus(reported: tuple[ReportedCpu, ...]) -> tuple[FoundCpu, ...]:
    members: dict[tuple[int, int], set[int]] = {}
    for cpu in reported:
        # Numbers of cores repeat from package to package.
        members.setdefault((cpu.package, cpu.core), set()).add(cpu.id)
    return tuple(
        FoundCpu(
            cpu.id,
            threads=frozenset(members[cpu.package, cpu.core]),
            package=(cpu.package,),
        )
        for cpu in reported
    )


def _zones(
    part: JsonPart | None, reported: tuple[ReportedCpu, ...]
) -> tuple[tuple[FoundNumaNode, ...], tuple[Device, ...]]:
    """Return the NUMA nodes that CPUs or zones name, and the devices of the zones."""
    zones: dict[int, JsonPart] = {}
    for item in part.items() if part else ():
        fields = item.fields(("name", "type"))
        name = _ZONE.fullmatch(fields["name"].text() if "name" in fields else "")
        if name and (fields["type"].text() if "type" in fields else "Node") == "Node":
            if int(name[1]) in zones:
                item.refuse(f"zone {name[1]} is there twice; keep one of them")
            zones[int(name[1])] = item
    ids = sorted({cpu.numa_node for cpu in reported} | zones.keys())
    nodes, devices = [], []
    counts: dict[str, int] = {}
    for id in ids:
        cpus = frozenset(cpu.id for cpu in reported if cpu.numa_node == id)
        memory_bytes, pages, there = _resources(zones.get(id))
        for type, count in there.items():
            first = counts.get(type, 0)
            zone = zones.get(id)
            if zone and first + count > MOST_DEVICES:
                zone.refuse(f"{first + count} devices of {type}; there are {MOST_DEVICES} at most")
            counts[type] = first + count
            devices += [Device(type, first + i, numa_node=id) for i in range(count)]
        nodes.append(FoundNumaNode(id, cpus, memory_bytes, pages, _distances(zones.get(id), ids)))
    return tuple(nodes), tuple(sorted(devices, key=lambda device: (device.type, device.minor)))


def _resources(
    zone: JsonPart | None,
) -> tuple[int, tuple[Hugepages, ...], dict[str, int]]:
    """Return a zone's memory, hugepages included, its hugepages, and its devices by type."""
    memory_bytes = 0
    pages: dict[int, int] = {}
    devices: dict[str, int] = {}
    fields = zone.fields(("resources",)) if zone else {}
    for item in fields["resources"].items() if "resources" in fields else ():
        said = item.fields(("name", "capacity"))
        name, capacity = item.need(said, "name").text(), item.need(said, "capacity")
        if name == "memory":
            memory_bytes = capacity.amount(parse_bytes)
        elif name.startswith(_HUGEPAGES):
            try:
                size = parse_bytes(name.removeprefix(_HUGEPAGES))
            except ValueError as error:
                item.refuse(f"the size of a page: {error}")
            if size:
                pages[size] = capacity.amount(parse_bytes) // size
        elif name not in _PLAIN:
            count = capacity.amount(parse_milli) // 1000
            if not _RESOURCE.fullmatch(name):
                item.refuse(f"{shown(name)} is no name of a resource; expected example.com/fpga")
            type = DEVICE_TYPES.get(name, name)
            devices[type] = devices.get(type, 0) + count
    found = tuple(Hugepages(size, count) for size, count in sorted(pages.items()) if count)
    return memory_bytes, found, devices


def _distances(zone: JsonPart | None, ids: list[int]) -> tuple[int, ...]:
    fields = zone.fields(("costs",)) if zone else {}
    costs: dict[int, int] = {}
    for item in fields["costs"].items() if "costs" in fields else ():
        said = item.fields(("name", "value"))
        name = _ZONE.fullmatch(item.need(said, "name").text())
        if name:
            costs[int(name[1])] = item.need(said, "value").integer()
    return tuple(costs[id] for id in ids) if costs.keys() >= set(ids) else ()


def _alignment(fields: Mapping[str, JsonPart]) -> tuple[AlignmentPolicy, AlignmentScope | None]:
    """Return the topology manager's policy and scope: old objects have them in one word."""
    policies = fields.get("topologyPolicies")
    words = [item.text() for item in policies.items()] if policies else []
    scope = ""
    for item in fields["attributes"].items() if "attributes" in fields else ():
        said = item.fields(("name", "value"))
        name = said["name"].text() if "name" in said else ""
        if "value" in said and name == "topologyManagerPolicy":
            words.append(said["value"].text())
        elif "value" in said and name == "topologyManagerScope":
            scope = said["value"].text()
    match = _POLICY.fullmatch(words[-1]) if words else None
    if match is None:
        return AlignmentPolicy.NONE, None
    spelt = match[1].lower().replace("-", "")
    policy = next(policy for policy in AlignmentPolicy if policy.value.lower() == spelt)
    scope = (match[2] or scope).lower()
    return policy, AlignmentScope(scope) if scope in list(AlignmentScope) else None


def write_node_resource_topology(found: Discovered) -> Json:
    """Return such an object: what is reserved on the node is capacity, and not allocatable."""
    topology, inventory = found.machine.topology, found.inventory
    owned = frozenset[int]().union(*(pod.cpuset for pod in inventory.pod_cpus))
    known = inventory.policy or CpuManagerPolicy()
    policy = replace(known, reserved=found.reserved - owned)
    node = found.node()
    annotations = {
        CPU_TOPOLOGY: write_cpu_topology(cpus_of(topology)),
        CPU_SHARED_POOLS: write_cpu_shared_pools(
            shared_pools_of(topology, topology.online - found.reserved)
        ),
    }
    if policy != CpuManagerPolicy():
        annotations[CPU_MANAGER_POLICY] = write_cpu_manager_policy(policy)
    if inventory.pod_cpus:
        annotations[POD_CPU_ALLOCS] = write_pod_cpu_allocs(inventory.pod_cpus)
    scope = {"": "", "pod": "PodLevel", "container": "ContainerLevel"}[node.scope or ""]
    aligned = "" if node.alignment is AlignmentPolicy.NONE else scope
    return {
        "apiVersion": "topology.node.k8s.io/v1alpha1",
        "kind": KIND,
        "metadata": {"name": node.name, "annotations": annotations},
        "topologyPolicies": [f"{node.alignment.value}{aligned}"],
        "zones": [_zone(found, i) for i in range(len(topology.numa_nodes))],
    }


def _zone(found: Discovered, i: int) -> Json:
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
        amounts.append((hugepages_name(page.page_bytes), size, size))
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
