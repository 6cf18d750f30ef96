"""NodeResourceTopology: where the CPUs, the memory and the devices of a node are (C15)."""

import re
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field

from placer_models.annotations.cpus import AnnotatedSharedPool
from placer_models.annotations.names import (
    CPU_MANAGER_POLICY,
    CPU_SHARED_POOLS,
    CPU_TOPOLOGY,
    POD_CPU_ALLOCS,
)
from placer_models.annotations.node_topology import (
    CpuManagerPolicyAnnotation,
    NodeTopologyAnnotationCpu,
    PodCpuAlloc,
    read_cpu_manager_policy_annotation,
    read_cpu_shared_pools_annotation,
    read_cpu_topology_annotation,
    read_pod_cpu_allocs_annotation,
)
from placer_models.cpuset import CpuSet
from placer_models.kubernetes.object_fields import (
    KubeObjectFieldValue,
    KubeObjectIdentity,
    Object,
    first_annotation_present,
    read_annotation,
    read_object_identity_and_fields,
)
from placer_models.kubernetes.resources import PODS, SUMS, KubeResourceList, read_resource_list
from placer_models.policy import AlignmentPolicy, AlignmentScope

KIND = "NodeResourceTopology"

_NO_DEVICES = (PODS, "ephemeral-storage")
_ZONE = re.compile(r"[A-Za-z]*-?([0-9]{1,5})")
_POLICY = re.compile(
    r"(?i)(none|best-?effort|restricted|single-?numa-?node)-?(container|pod)?(-?level)?"
)


@dataclass(frozen=True, slots=True)
class KubeNumaZone:
    """The resources of a NUMA node.

    Attributes:
        available: What pods leave, as the node's agent saw it.
        distances: NUMA node -> distance in the kernel's units.

    """

    capacity: KubeResourceList
    allocatable: KubeResourceList
    available: KubeResourceList
    distances: Mapping[int, int] = field(default_factory=dict)


def device_counts_of_topology_zone(amounts: KubeResourceList) -> list[tuple[str, int]]:
    """Return the device resources that a zone names with their counts, ascending by name."""
    return sorted(
        (name, count)
        for name, count in amounts.other.items()
        if not (name in _NO_DEVICES or "batch-" in name)
    )


@dataclass(frozen=True, slots=True)
class KubeNodeResourceTopology:
    """The contents of a NodeResourceTopology, which has the name of its node.

    Attributes:
        cpus: The CPUs ascending by id; empty if no annotation lists them.
        policy: How the kubelet gives out CPUs, or None if that is not said.
        zones: NUMA node -> its resources, ascending.
        alignment: The topology manager's policy; None if it aligns nothing, or nothing is said.
        allocs: CPUs that pods own, according to the node's agent.
        doubted: What names CPUs that are not among ``cpus``, in words, ascending: annotations that
            are set aside. Nobody knows then which CPUs the node has.

    """

    identity: KubeObjectIdentity
    cpus: tuple[NodeTopologyAnnotationCpu, ...] = ()
    policy: CpuManagerPolicyAnnotation | None = None
    allocs: tuple[PodCpuAlloc, ...] = ()
    shared_pools: tuple[AnnotatedSharedPool, ...] = ()
    zones: Mapping[int, KubeNumaZone] = field(default_factory=dict)
    alignment: AlignmentPolicy | None = None
    scope: AlignmentScope | None = None
    doubted: tuple[str, ...] = ()

    @property
    def knows_cpus(self) -> bool:
        """Whether the node's CPUs are known by id, so that pods may own some."""
        return bool(self.cpus) and not self.doubted

    @property
    def owners(self) -> tuple[PodCpuAlloc, ...]:
        """The CPUs that pods own, or none if it names CPUs that the node lacks."""
        return () if _name_of(POD_CPU_ALLOCS) in self.doubted else self.allocs


def read_kube_node_resource_topology(found: Object) -> KubeNodeResourceTopology:
    """Return the contents of a NodeResourceTopology.

    Raises:
        KubernetesObjectError: Something is wrong with it.

    """
    identity, root = read_object_identity_and_fields(found, KIND, namespaced=False)
    cpus = first_annotation_present(root, CPU_TOPOLOGY)
    allocs = first_annotation_present(root, POD_CPU_ALLOCS)
    reported = cpus.checked(read_cpu_topology_annotation, cpus.text()) if cpus else ()
    if cpus:
        _check_cores(reported, cpus)
    given = allocs.checked(read_pod_cpu_allocs_annotation, allocs.text()) if allocs else ()
    if allocs:
        _check_allocs(given, allocs)
    manager = read_annotation(root, read_cpu_manager_policy_annotation, CPU_MANAGER_POLICY)
    shared = read_annotation(root, read_cpu_shared_pools_annotation, CPU_SHARED_POOLS) or ()
    named = {
        _name_of(POD_CPU_ALLOCS): [alloc.cpuset for alloc in given],
        _name_of(CPU_SHARED_POOLS): [pool.cpuset for pool in shared],
        f"reservedCPUs of {_name_of(CPU_MANAGER_POLICY)}": [manager.reserved] if manager else [],
    }
    alignment, scope = _alignment(root)
    return KubeNodeResourceTopology(
        identity=identity,
        cpus=reported,
        policy=manager,
        allocs=given,
        shared_pools=shared,
        zones=_zones(root.get("zones")),
        alignment=alignment,
        scope=scope,
        doubted=_beyond({cpu.id for cpu in reported}, named) if cpus else (),
    )


def _name_of(key: str) -> str:
    return key.rpartition("/")[2]


def _beyond(known: Set[int], named: Mapping[str, Iterable[CpuSet]]) -> tuple[str, ...]:
    """Return, ascending, the names under which there are CPUs that are not known."""
    return tuple(sorted(name for name, of in named.items() if any(cpus - known for cpus in of)))


def _check_cores(cpus: tuple[NodeTopologyAnnotationCpu, ...], part: KubeObjectFieldValue) -> None:
    """Check that the threads of each core are on one NUMA node."""
    first: dict[tuple[int, int], NodeTopologyAnnotationCpu] = {}
    for cpu in cpus:
        other = first.setdefault((cpu.package, cpu.core), cpu)
        if other.numa_node != cpu.numa_node:
            part.refuse(
                f"CPUs {other.id} and {cpu.id} are of one core, {cpu.core}, and on the NUMA nodes "
                f"{other.numa_node} and {cpu.numa_node}; a core is on one"
            )


def _check_allocs(allocs: tuple[PodCpuAlloc, ...], part: KubeObjectFieldValue) -> None:
    """Check that each CPU has at most one owner."""
    owners: dict[int, str] = {}
    for alloc in allocs:
        who = f"{alloc.namespace}/{alloc.name}" if alloc.name else alloc.uid
        for cpu in sorted(alloc.cpuset):
            if owners.setdefault(cpu, who) != who:
                part.refuse(
                    f"CPU {cpu} is given to {owners[cpu]} and to {who}; a CPU has one owner"
                )


def _zones(part: KubeObjectFieldValue) -> dict[int, KubeNumaZone]:
    zones: dict[int, KubeNumaZone] = {}
    for item in part.items():
        match = _ZONE.fullmatch(item.get("name").text())
        if match is None or item.get("type").text("Node") != "Node":
            continue
        if int(match[1]) in zones:
            item.get("name").refuse(f"zone {match[1]} is there twice; keep one of them")
        resources = item.get("resources")
        capacity = _amounts(resources, "capacity")
        zones[int(match[1])] = KubeNumaZone(
            capacity=capacity,
            allocatable=_amounts(resources, "allocatable"),
            available=_amounts(resources, "available", "allocatable"),
            distances=_distances(item.get("costs")),
        )
    return dict(sorted(zones.items()))


def _amounts(resources: KubeObjectFieldValue, *columns: str) -> KubeResourceList:
    """Return each resource of a zone, by the first of these columns that it has or its capacity."""
    amounts: dict[str, object] = {}
    for item in resources.items():
        name = item.get("name").text()
        if name in amounts:
            item.get("name").refuse(f"{name} is there twice; keep one of them")
        if not item.get("capacity").there:
            item.get("capacity").refuse("is missing; a zone says how much it has")
        said = [item.get(column).value for column in (*columns, "capacity")]
        amounts[name] = next(value for value in said if value is not None)
    return read_resource_list(
        KubeObjectFieldValue(resources.title, amounts, resources.path), without=SUMS
    )


def _distances(part: KubeObjectFieldValue) -> dict[int, int]:
    distances = {}
    for item in part.items():
        if match := _ZONE.fullmatch(item.get("name").text()):
            distances[int(match[1])] = item.get("value").integer()
    return distances


def _alignment(root: KubeObjectFieldValue) -> tuple[AlignmentPolicy | None, AlignmentScope | None]:
    """Return the topology manager's policy and scope, which old objects give in one word.

    Attributes without a scope mean the kubelet's default. An old word without a scope gives
    none, and neither does a policy that aligns nothing.
    """
    policies = root.get("topologyPolicies").items()
    part, scope, word = (policies[0] if policies else None), None, ""
    for item in root.get("attributes").items():
        name = item.get("name").text("")
        if name == "topologyManagerPolicy" and item.get("value").there:
            part, word = item.get("value"), AlignmentScope.CONTAINER.value
        elif name == "topologyManagerScope":
            scope = item.get("value")
    if part is None or not part.text():
        return None, None
    match = _POLICY.fullmatch(part.text())
    if match is None:
        part.refuse(
            f"got {part.got}; expected a policy of the topology manager, such as "
            "SingleNUMANodePodLevel or best-effort"
        )
    spelt = match[1].lower().replace("-", "")
    policy = next(policy for policy in AlignmentPolicy if policy.value.lower() == spelt)
    if policy is AlignmentPolicy.NONE:
        return None, None
    word = (match[2] or (scope.text("") if scope else "") or word).lower()
    if scope is not None and word not in list(AlignmentScope):
        scope.refuse(f"got {scope.got}; expected container or pod")
    return policy, AlignmentScope(word) if word else None
