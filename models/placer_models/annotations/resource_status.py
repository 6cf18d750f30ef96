"""``resource-status``: which CPUs and NUMA nodes a pod was given (C14)."""

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from placer_models.annotations.cpus import (
    AnnotatedSharedPool,
    read_cpu_list,
    read_shared_pool,
    shared_pool_to_dict,
)
from placer_models.annotations.json_parts import LocatedJsonValue, parse_located_json
from placer_models.annotations.names import RESOURCE_STATUS
from placer_models.bound import numa_nodes_bound_to
from placer_models.cluster import Node
from placer_models.cpuset import CpuSet, format_cpu_list
from placer_models.placement import PodPlacement
from placer_models.pod import PodSpec
from placer_models.quantity import format_bytes, format_milli, parse_bytes, parse_milli

_CPU = "cpu"
_MEMORY = "memory"
_HUGEPAGES = "hugepages-"


@dataclass(frozen=True, slots=True)
class ResourceStatusNumaNode:
    """What a pod holds of one NUMA node.

    Attributes:
        hugepages_bytes: (Page size, amount in pages of that size), both in bytes,
            ascending, no zeros. Not counts: Koordinator halves a page at times.
        more_milli: (Resource, thousandths) of any other resource, ascending, no zeros.

    """

    node: int
    cpu_milli: int = 0
    memory_bytes: int = 0
    hugepages_bytes: tuple[tuple[int, int], ...] = ()
    more_milli: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class ResourceStatusAnnotation:
    """What the annotation says.

    Attributes:
        cpuset: The pod's own CPUs; empty for a pod that owns none.
        numa: Ascending by NUMA node.
        shared_pools: The pools that the pod is bound to, ascending by NUMA node and package. The
            proposal has them; Koordinator's node agent reads ``numa`` instead.

    """

    cpuset: CpuSet = frozenset()
    numa: tuple[ResourceStatusNumaNode, ...] = ()
    shared_pools: tuple[AnnotatedSharedPool, ...] = ()

    @property
    def homes(self) -> tuple[ResourceStatusNumaNode, ...]:
        """The NUMA nodes that a pod of a pool is bound to, as either field names them."""
        return self.numa or tuple(
            map(ResourceStatusNumaNode, sorted({pool.node for pool in self.shared_pools}))
        )


def resource_status_of_placement(
    placement: PodPlacement, spec: PodSpec, node: Node
) -> ResourceStatusAnnotation:
    """Return what a pod was given, as the annotation says it.

    A pod that owns CPUs has its cpuset; CPUs that belong to no NUMA node appear only there.
    A pod that is bound to the pool of some NUMA nodes has these nodes and nothing of any
    other. A pod that floats over its pool has neither, because Koordinator's node agent would
    keep it to the pools of all NUMA nodes named, even if named only for its memory.

    Raises:
        ValueError: The placement is not on this node, or has a CPU that it lacks.

    """
    if placement.node != node.name:
        raise ValueError(f"pod {placement.name} is on node {placement.node}, not on {node.name}")
    owned = placement.cpuset if spec.qos.owns_cpus else frozenset()
    cpus = node.machine.topology.cpu
    if unknown := owned - cpus.keys():
        raise ValueError(
            f"pod {placement.name} has CPUs {format_cpu_list(unknown)}; "
            f"node {node.name} has {format_cpu_list(cpus)}"
        )
    homes = numa_nodes_bound_to(placement, spec, node)
    memory = dict(placement.memory_bytes)
    if owned:
        counts = Counter(numa for cpu in owned if (numa := cpus[cpu].numa_node) is not None)
        milli = {numa: 1000 * count for numa, count in counts.items()}
        held = {*counts, *memory, *(numa for numa, _, _ in placement.hugepages)}
    else:
        milli = dict(placement.cpu_milli or ())
        if not milli and len(homes) == 1:
            milli = dict.fromkeys(homes, spec.requests.cpu_milli)
        held = set(homes)
    return ResourceStatusAnnotation(
        cpuset=owned,
        numa=tuple(
            ResourceStatusNumaNode(
                node=numa,
                cpu_milli=milli.get(numa, 0),
                memory_bytes=memory.get(numa, 0),
                hugepages_bytes=_pages(placement, numa),
            )
            for numa in sorted(held)
        ),
        shared_pools=tuple(
            AnnotatedSharedPool(package, numa)
            for numa in sorted(homes)
            for package in sorted({c.package for c in cpus.values() if c.numa_node == numa})
        ),
    )


def pod_memory_not_in_status(
    placement: PodPlacement, status: ResourceStatusAnnotation
) -> ResourceStatusAnnotation:
    """Return where a pod's memory and hugepages are, or nothing if the status says all of it."""
    held = {numa for numa, _ in placement.memory_bytes} | {n for n, _, _ in placement.hugepages}
    memory = dict(placement.memory_bytes)
    shares = tuple(
        ResourceStatusNumaNode(numa, 0, memory.get(numa, 0), _pages(placement, numa))
        for numa in sorted(held)
    )
    said = {(one.node, one.memory_bytes, one.hugepages_bytes) for one in status.numa}
    known = {(one.node, one.memory_bytes, one.hugepages_bytes) for one in shares} <= said
    return ResourceStatusAnnotation() if known else ResourceStatusAnnotation(numa=shares)


def _pages(placement: PodPlacement, numa: int) -> tuple[tuple[int, int], ...]:
    return tuple((size, size * pages) for at, size, pages in placement.hugepages if at == numa)


def write_resource_status_annotation(status: ResourceStatusAnnotation) -> str:
    """Return the annotation's value, in Koordinator's spelling of today."""
    document: dict[str, object] = {}
    if status.cpuset:
        document["cpuset"] = format_cpu_list(status.cpuset)
    if status.numa:
        document["numaNodeResources"] = [_numa_to_json(share) for share in status.numa]
    if status.shared_pools:
        document["cpuSharedPools"] = [shared_pool_to_dict(pool) for pool in status.shared_pools]
    return json.dumps(document, separators=(",", ":"))


def read_resource_status_annotation(text: str) -> ResourceStatusAnnotation:
    """Read the annotation; fields that are not known are passed over.

    Raises:
        AnnotationError: The text is not such a document; the message has the JSON path.

    """
    fields = parse_located_json(text, RESOURCE_STATUS).fields(
        ("cpuset", "numaNodeResources", "cpuSharedPools")
    )
    return ResourceStatusAnnotation(
        cpuset=read_cpu_list(fields.get("cpuset")),
        numa=_entries(fields.get("numaNodeResources"), _numa),
        shared_pools=_entries(fields.get("cpuSharedPools"), read_shared_pool),
    )


def _numa_to_json(share: ResourceStatusNumaNode) -> dict[str, object]:
    resources = {_CPU: format_milli(share.cpu_milli)} if share.cpu_milli else {}
    for page_bytes, size in share.hugepages_bytes:
        resources[f"{_HUGEPAGES}{format_bytes(page_bytes)}"] = format_bytes(size)
    if share.memory_bytes:
        resources[_MEMORY] = format_bytes(share.memory_bytes)
    for name, milli in share.more_milli:
        resources[name] = format_milli(milli)
    return {"node": share.node, **({"resources": resources} if resources else {})}


_Entry = TypeVar("_Entry", ResourceStatusNumaNode, AnnotatedSharedPool)


def _entries(
    part: LocatedJsonValue | None, read: Callable[[LocatedJsonValue], _Entry]
) -> tuple[_Entry, ...]:
    found: dict[tuple[int, int], _Entry] = {}
    for item in part.items() if part else ():
        entry = read(item)
        # A NUMA node of several packages has a pool for each.
        key = entry.node, entry.package if isinstance(entry, AnnotatedSharedPool) else 0
        if key in found:
            item.refuse(f"NUMA node {entry.node} is there twice; keep one of them")
        found[key] = entry
    return tuple(found[key] for key in sorted(found))


def _numa(part: LocatedJsonValue) -> ResourceStatusNumaNode:
    fields = part.fields(("node", "resources"))
    cpu_milli, memory_bytes = 0, 0
    hugepages: dict[int, int] = {}
    more: dict[str, int] = {}
    resources = fields.get("resources")
    for name, amount in resources.members().items() if resources else ():
        if name == _CPU:
            cpu_milli = amount.amount(parse_milli)
        elif name == _MEMORY:
            memory_bytes = amount.amount(parse_bytes)
        elif name.startswith(_HUGEPAGES):
            page_bytes = _page_bytes(name, amount)
            if page_bytes in hugepages:
                amount.refuse("pages of this size are there twice; keep one of them")
            hugepages[page_bytes] = amount.amount(parse_bytes)
        else:
            more[name] = amount.amount(parse_milli)
    return ResourceStatusNumaNode(
        node=part.need(fields, "node").integer(),
        cpu_milli=cpu_milli,
        memory_bytes=memory_bytes,
        hugepages_bytes=tuple(sorted((page, size) for page, size in hugepages.items() if size)),
        more_milli=tuple(sorted((name, milli) for name, milli in more.items() if milli)),
    )


def _page_bytes(name: str, part: LocatedJsonValue) -> int:
    size = name.removeprefix(_HUGEPAGES)
    try:
        page_bytes = parse_bytes(size)
    except ValueError as error:
        part.refuse(f"the size of a page: {error}")
    if page_bytes == 0:
        part.refuse("a page has a size; write hugepages-2Mi or hugepages-1Gi")
    return page_bytes
