"""Node objects: what a cluster knows of its nodes."""

from dataclasses import dataclass

from placer_models.annotations.cpus import read_cpu_list
from placer_models.annotations.json_parts import LocatedJsonValue
from placer_models.cpuset import CpuSet
from placer_models.kubernetes.declared_features import declared_feature_labels
from placer_models.kubernetes.names import (
    AMPLIFICATION,
    CPU_BIND_POLICY,
    GPU_PARTITION_POLICY,
    NUMA_ALLOCATE_STRATEGY,
    NUMA_TOPOLOGY_POLICIES,
    RESERVATION,
    SYSTEM_QOS,
)
from placer_models.kubernetes.object_fields import (
    KubeObjectFieldValue,
    KubeObjectIdentity,
    Object,
    first_label_present,
    read_json_annotation,
    read_object_identity_and_fields,
)
from placer_models.kubernetes.resources import (
    CPU,
    MEMORY,
    SUMS,
    KubeResourceList,
    read_resource_list,
)
from placer_models.policy import AlignmentPolicy, NodeBindPolicy, NumaStrategy, PartitionPolicy
from placer_models.quantity import parse_bytes, parse_milli
from placer_models.selectors import Labels
from placer_models.taints import UNSCHEDULABLE, Taint, TaintEffect

KIND = "Node"

_TAINTED_FOR = {
    "NotReady": "not-ready",
    "DiskPressure": "disk-pressure",
    "PIDPressure": "pid-pressure",
    "NetworkUnavailable": "network-unavailable",
    "MemoryPressure": "memory-pressure",
}
"""Condition -> the taint of ``node.kubernetes.io`` by which Kubernetes keeps new pods off."""

MOST_MILLI_PER_CPU = 100_000
"""The most milli CPUs that amplification may make of one CPU."""

_BIND_ALIASES = {"PCPUOnly": NodeBindPolicy.FULL_PCPUS_ONLY}


@dataclass(frozen=True, slots=True)
class KubeNode:
    """The contents of a Node object.

    Attributes:
        taints: Its taints, that of a cordoned node among them.
        untainted: Conditions such as ``NotReady`` or ``DiskPressure`` whose taint it lacks. The
            scheduler looks at taints alone.
        reserved_cpus: CPUs that are kept for the system, by annotations.
        reserved_milli: What the reservation takes of the allocatable CPUs, in milli: 1000 for each
            CPU that it names, or else its amount.
        reserved_bytes: Memory kept for the system, by annotation.
        milli_per_cpu: How many milli CPUs pods may ask for of each CPU that no pod owns.
        amplified: Other amplified resources of the node, each with its ratio.
        alignment: The policy that a label gives, or None.
        features: Labels that stand for features which it declares, ascending.
        bind: The bind policy that a label gives, or None.

    """

    identity: KubeObjectIdentity
    capacity: KubeResourceList
    allocatable: KubeResourceList
    taints: tuple[Taint, ...] = ()
    untainted: tuple[str, ...] = ()
    reserved_cpus: CpuSet = frozenset()
    reserved_milli: int = 0
    reserved_bytes: int = 0
    milli_per_cpu: int = 1000
    amplified: tuple[tuple[str, str], ...] = ()
    bind: NodeBindPolicy | None = None
    numa_strategy: NumaStrategy | None = None
    alignment: AlignmentPolicy | None = None
    partition_policy: PartitionPolicy | None = None
    features: Labels = ()

    @property
    def says_cpus(self) -> bool:
        """Whether it says how many CPUs it has; a node that has just registered may not."""
        return self.capacity.cpu_milli is not None


def read_kube_node(found: Object) -> KubeNode:
    """Return the contents of a Node object.

    Raises:
        KubernetesObjectError: Something is wrong with it.

    """
    identity, root = read_object_identity_and_fields(found, KIND, namespaced=False)
    spec, status = root.get("spec"), root.get("status")
    capacity = read_resource_list(status.get("capacity"), without=SUMS)
    allocatable = read_resource_list(status.get("allocatable"), without=SUMS)
    kept = read_json_annotation(root, _reservation, RESERVATION)
    reserved_cpus, milli, size = kept or (frozenset(), 0, 0)
    reserved_cpus |= read_json_annotation(root, _system_cpus, SYSTEM_QOS) or frozenset()
    bind = first_label_present(root, CPU_BIND_POLICY)
    strategy = first_label_present(root, NUMA_ALLOCATE_STRATEGY)
    alignment = first_label_present(root, *NUMA_TOPOLOGY_POLICIES)
    partitions = first_label_present(root, GPU_PARTITION_POLICY)
    ratios = read_json_annotation(root, _amplification, AMPLIFICATION)
    milli_per_cpu, amplified = ratios or (1000, ())
    taints = tuple(_taint(item) for item in spec.get("taints").items())
    if spec.get("unschedulable").flag() and UNSCHEDULABLE not in taints:
        taints += (UNSCHEDULABLE,)
    return KubeNode(
        identity=identity,
        capacity=capacity if status.get("capacity").there else allocatable,
        allocatable=allocatable if status.get("allocatable").there else capacity,
        taints=taints,
        untainted=tuple(
            condition
            for condition in _conditions(status.get("conditions"))
            if f"node.kubernetes.io/{_TAINTED_FOR[condition]}" not in {one.key for one in taints}
        ),
        reserved_cpus=reserved_cpus,
        reserved_milli=milli,
        reserved_bytes=size,
        milli_per_cpu=milli_per_cpu,
        amplified=amplified,
        bind=bind.word(NodeBindPolicy, _BIND_ALIASES) if bind else None,
        numa_strategy=strategy.word(NumaStrategy) if strategy else None,
        alignment=alignment.word(AlignmentPolicy) if alignment else None,
        partition_policy=partitions.word(PartitionPolicy) if partitions else None,
        features=declared_feature_labels(status),
    )


def _taint(part: KubeObjectFieldValue) -> Taint:
    return Taint(
        part.get("key").text(),
        part.get("value").text(""),
        part.get("effect").word(TaintEffect),
    )


def _conditions(part: KubeObjectFieldValue) -> list[str]:
    found = []
    for item in part.items():
        kind, status = item.get("type").text(), item.get("status").text("Unknown")
        if kind == "Ready" and status != "True":
            found.append("NotReady")
        elif kind in _TAINTED_FOR and status == "True":
            found.append(kind)
    return found


def _reservation(whole: LocatedJsonValue) -> tuple[CpuSet, int, int]:
    """Return the CPUs, milli CPUs and bytes that the annotation keeps for the system."""
    fields = whole.fields(("resources", "reservedCPUs", "applyPolicy"))
    cpus = read_cpu_list(fields.get("reservedCPUs"))
    amounts = fields["resources"].members() if "resources" in fields else {}
    milli = amounts[CPU].amount(parse_milli) if CPU in amounts else 0
    size = amounts[MEMORY].amount(parse_bytes) if MEMORY in amounts else 0
    policy = fields["applyPolicy"].text() if "applyPolicy" in fields else ""
    if policy not in ("", "Default", "ReservedCPUsOnly"):
        fields["applyPolicy"].refuse(f"got {policy!r}; expected Default or ReservedCPUsOnly")
    if policy == "ReservedCPUsOnly":
        return cpus, 0, 0
    return cpus, 1000 * len(cpus) if cpus else milli, size


def _system_cpus(whole: LocatedJsonValue) -> CpuSet:
    fields = whole.fields(("cpuset", "cpusetExclusive"))
    alone = fields.get("cpusetExclusive")
    # Koordinator's own default is exclusive: nobody else runs there.
    return frozenset() if alone and alone.value is False else read_cpu_list(fields.get("cpuset"))


def _amplification(whole: LocatedJsonValue) -> tuple[int, tuple[tuple[str, str], ...]]:
    """Return the milli per CPU, and other amplified resources; ratios up to 1 are ignored."""
    milli = {name: part.amount(parse_milli) for name, part in whole.members().items()}
    if milli.get(CPU, 0) > MOST_MILLI_PER_CPU:
        whole.members()[CPU].refuse(f"expected {MOST_MILLI_PER_CPU // 1000} at most")
    more = sorted((name, f"{ratio / 1000:g}") for name, ratio in milli.items() if ratio > 1000)
    return max(1000, milli.get(CPU, 0)), tuple(one for one in more if one[0] != CPU)
