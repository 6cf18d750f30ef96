"""NodeResourceTopology: what Koordinator's node agent says of a node (C15)."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from placer_models.annotations.cpus import (
    AnnotatedSharedPool,
    read_cpu_list,
    read_shared_pool,
    shared_pool_to_dict,
)
from placer_models.annotations.json_parts import LocatedJsonValue, parse_located_json
from placer_models.annotations.names import (
    CPU_MANAGER_POLICY,
    CPU_SHARED_POOLS,
    CPU_TOPOLOGY,
    POD_CPU_ALLOCS,
)
from placer_models.cpuset import MAX_CPU_ID, CpuSet, format_cpu_list
from placer_models.topology import Topology


@dataclass(frozen=True, slots=True)
class NodeTopologyAnnotationCpu:
    """Where a CPU is. Core numbers may repeat from package to package."""

    id: int
    core: int
    package: int
    numa_node: int


@dataclass(frozen=True, slots=True)
class CpuManagerPolicyAnnotation:
    """How a kubelet gives out CPUs.

    Attributes:
        policy: ``none`` or ``static``; empty where it is not said.
        options: (Name, value), ascending, such as (``full-pcpus-only``, ``true``).
        reserved: CPUs that the kubelet keeps for the system.

    """

    policy: str = ""
    options: tuple[tuple[str, str], ...] = ()
    reserved: CpuSet = frozenset()

    @property
    def is_static(self) -> bool:
        """Whether Guaranteed pods own CPUs."""
        return self.policy == "static"

    def has(self, option: str) -> bool:
        """Return whether an option holds; none does without the static policy."""
        return self.is_static and dict(self.options).get(option) == "true"


@dataclass(frozen=True, slots=True)
class PodCpuAlloc:
    """The CPUs that a pod owns."""

    namespace: str
    name: str
    uid: str
    cpuset: CpuSet
    managed_by_kubelet: bool = False


def topology_to_reported_cpus(topology: Topology) -> tuple[NodeTopologyAnnotationCpu, ...]:
    """Return the online CPUs of a machine; a CPU of no NUMA node counts as on the first one."""
    first = topology.numa_nodes[0].id
    return tuple(
        NodeTopologyAnnotationCpu(
            cpu.id, cpu.core, cpu.package, first if cpu.numa_node is None else cpu.numa_node
        )
        for cpu in topology.cpus
        if cpu.online
    )


def shared_pools_of(topology: Topology, cpus: CpuSet) -> tuple[AnnotatedSharedPool, ...]:
    """Return the pools that these CPUs form: one for each package of each NUMA node."""
    pools: dict[tuple[int, int], set[int]] = {}
    for cpu in topology_to_reported_cpus(topology):
        if cpu.id in cpus:
            pools.setdefault((cpu.numa_node, cpu.package), set()).add(cpu.id)
    return tuple(
        AnnotatedSharedPool(package, node, frozenset(members))
        for (node, package), members in sorted(pools.items())
    )


def write_cpu_topology_annotation(cpus: Iterable[NodeTopologyAnnotationCpu]) -> str:
    """Return the value of ``cpu-topology``."""
    detail = [
        {"id": cpu.id, "core": cpu.core, "socket": cpu.package, "node": cpu.numa_node}
        for cpu in cpus
    ]
    return _written({"detail": detail})


def read_cpu_topology_annotation(text: str) -> tuple[NodeTopologyAnnotationCpu, ...]:
    """Read ``cpu-topology``; ascending by CPU.

    Raises:
        AnnotationError: The text is not such a document; the message has the JSON path.

    """
    detail = parse_located_json(text, CPU_TOPOLOGY).fields(("detail",)).get("detail")
    found: dict[int, NodeTopologyAnnotationCpu] = {}
    for part in detail.items() if detail else ():
        fields = part.fields(("id", "core", "socket", "node"))
        numbers = [part.need(fields, name).integer() for name in ("id", "core", "socket", "node")]
        cpu = NodeTopologyAnnotationCpu(*numbers)
        if cpu.id > MAX_CPU_ID or cpu.numa_node > MAX_CPU_ID:
            part.refuse(f"ids of CPUs and NUMA nodes end at {MAX_CPU_ID}")
        if cpu.id in found:
            homes = sorted({cpu.numa_node, found[cpu.id].numa_node})
            on = f", on the NUMA nodes {homes[0]} and {homes[1]}" if homes[1:] else ""
            part.refuse(f"CPU {cpu.id} is there twice{on}; keep one of them")
        found[cpu.id] = cpu
    return tuple(found[cpu] for cpu in sorted(found))


def write_cpu_manager_policy_annotation(policy: CpuManagerPolicyAnnotation) -> str:
    """Return the value of ``cpu-manager-policy``."""
    reserved = {"reservedCPUs": format_cpu_list(policy.reserved)} if policy.reserved else {}
    options = {"options": dict(policy.options)} if policy.options else {}
    return _written({"policy": policy.policy, **options, **reserved})


def read_cpu_manager_policy_annotation(text: str) -> CpuManagerPolicyAnnotation:
    """Read ``cpu-manager-policy``.

    Raises:
        AnnotationError: The text is not such a document; the message has the JSON path.

    """
    fields = parse_located_json(text, CPU_MANAGER_POLICY).fields(
        ("policy", "options", "reservedCPUs")
    )
    options = fields["options"].members() if "options" in fields else {}
    return CpuManagerPolicyAnnotation(
        policy=_text(fields.get("policy")),
        options=tuple(sorted((name, part.text()) for name, part in options.items())),
        reserved=read_cpu_list(fields.get("reservedCPUs")),
    )


def write_pod_cpu_allocs_annotation(pods: Iterable[PodCpuAlloc]) -> str:
    """Return the value of ``pod-cpu-allocs``."""
    return _written(
        [
            {
                "namespace": pod.namespace,
                "name": pod.name,
                "uid": pod.uid,
                "cpuset": format_cpu_list(pod.cpuset),
                **({"managedByKubelet": True} if pod.managed_by_kubelet else {}),
            }
            for pod in pods
        ]
    )


def read_pod_cpu_allocs_annotation(text: str) -> tuple[PodCpuAlloc, ...]:
    """Read ``pod-cpu-allocs``.

    Raises:
        AnnotationError: The text is not such a document; the message has the JSON path.

    """
    return tuple(map(_alloc, _items(parse_located_json(text, POD_CPU_ALLOCS))))


def write_cpu_shared_pools_annotation(pools: Sequence[AnnotatedSharedPool]) -> str:
    """Return the value of ``cpu-shared-pools``."""
    return _written([shared_pool_to_dict(pool) for pool in pools])


def read_cpu_shared_pools_annotation(text: str) -> tuple[AnnotatedSharedPool, ...]:
    """Read ``cpu-shared-pools``.

    Raises:
        AnnotationError: The text is not such a document; the message has the JSON path.

    """
    return tuple(map(read_shared_pool, _items(parse_located_json(text, CPU_SHARED_POOLS))))


def _items(part: LocatedJsonValue) -> list[LocatedJsonValue]:
    """Return the items of a document; Go programs write null for an empty list."""
    return [] if part.value is None else part.items()


def _alloc(part: LocatedJsonValue) -> PodCpuAlloc:
    # The proposal's example calls it cpu, its Go type cpuset.
    names = ("namespace", "name", "uid", "cpuset", "managedByKubelet")
    fields = part.fields(names, {"cpu": "cpuset"})
    managed = fields.get("managedByKubelet")
    return PodCpuAlloc(
        namespace=_text(fields.get("namespace")),
        name=_text(fields.get("name")),
        uid=_text(fields.get("uid")),
        cpuset=read_cpu_list(fields.get("cpuset")),
        managed_by_kubelet=managed is not None and managed.value in (True, "true"),
    )


def _text(part: LocatedJsonValue | None) -> str:
    return part.text() if part else ""


def _written(document: object) -> str:
    return json.dumps(document, separators=(",", ":"))
