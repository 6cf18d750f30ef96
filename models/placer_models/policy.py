"""Policies that a pod or a node may ask for; each value is the word used in files."""

from enum import StrEnum


class QosClass(StrEnum):
    """How a pod shares CPUs with others (C2 to C6)."""

    LSE = "LSE"
    """Latency sensitive, exclusive: its CPUs are shared with nobody."""

    LSR = "LSR"
    """Latency sensitive, reserved: its CPUs are shared with BE pods only."""

    LS = "LS"
    """Latency sensitive: runs in the shared pool, with other LS pods."""

    BE = "BE"
    """Best effort: runs on every CPU that no LSE pod holds."""

    def __init__(self, word: str) -> None:
        self.owns_cpus = word in ("LSE", "LSR")
        """Whether pods of this class get CPUs of their own, by id."""


class BindPolicy(StrEnum):
    """Which threads of a core a pod wants (C8)."""

    DEFAULT = "Default"
    """FullPCPUs, preferred."""

    FULL_PCPUS = "FullPCPUs"
    """Whole cores: all online threads of a core, so that no neighbour shares it."""

    SPREAD_BY_PCPUS = "SpreadByPCPUs"
    """One thread per core first, for pods limited by what a core shares."""


class NodeBindPolicy(StrEnum):
    """Which threads of a core all pods of a node may own (C10)."""

    NONE = "None"
    """Those that each pod asks for."""

    FULL_PCPUS_ONLY = "FullPCPUsOnly"
    """Whole cores, so that no two pods share one."""

    SPREAD_BY_PCPUS = "SpreadByPCPUs"
    """At most one thread of a core for each pod."""


class NumaStrategy(StrEnum):
    """Which NUMA nodes of a node the CPUs that pods own come from (C11)."""

    MOST_ALLOCATED = "MostAllocated"
    """NUMA nodes with the fewest free CPUs, so that idle ones stay idle."""

    LEAST_ALLOCATED = "LeastAllocated"
    """NUMA nodes with the most free CPUs, so that pods are far from each other."""

    DISTRIBUTE_EVENLY = "DistributeEvenly"
    """A pod that needs several NUMA nodes gets equally many CPUs from each."""


class CpuLocalityWish(StrEnum):
    """What the CPUs that a pod owns would like to stay within."""

    PACKAGE = "Package"
    """As few packages (sockets) as possible."""

    LLC = "LLC"
    """As few last-level caches as possible."""


class DeviceChoicePolicy(StrEnum):
    """Which fitting device of a node gives a share, judged by how much others use them (B14)."""

    LEAST_USED = "least-used"
    """The device that is used least, so that load is even."""

    MOST_USED = "most-used"
    """The device that is used most and still fits, which keeps room for large requests."""


class ExclusivePolicy(StrEnum):
    """Which pods a pod with CPUs of its own keeps apart from (C9)."""

    NONE = "None"
    """None."""

    PCPU_LEVEL = "PCPULevel"
    """It shares no core with another pod of this policy."""

    NUMA_NODE_LEVEL = "NUMANodeLevel"
    """It shares no NUMA node with another pod of this policy. If it does all the same, because
    the policy is only preferred, the pod falls back: it counts as PCPULevel, too."""


class RequiredOrPreferred(StrEnum):
    """Whether a wish may be broken at a price, or not at all."""

    PREFERRED = "preferred"
    REQUIRED = "required"


MOST_WEIGHT = 100
"""The highest weight of a preferred term, as in Kubernetes; the lowest is 1."""


class AlignmentPolicy(StrEnum):
    """How a pod's CPUs, memory and devices keep to NUMA nodes (C12)."""

    NONE = "None"
    """Anywhere on the node."""

    BEST_EFFORT = "BestEffort"
    """On as few NUMA nodes as possible; never a reason to refuse."""

    RESTRICTED = "Restricted"
    """On one set of NUMA nodes, as few as each resource asked for needs by itself."""

    SINGLE_NUMA_NODE = "SingleNUMANode"
    """On one NUMA node, or not on this node at all."""


BINDING = frozenset({AlignmentPolicy.RESTRICTED, AlignmentPolicy.SINGLE_NUMA_NODE})
"""The policies that bind LS and BE pods to the pool of their NUMA nodes."""


class AlignmentScope(StrEnum):
    """What an alignment policy aligns together (C12)."""

    POD = "pod"
    """All that the pod holds."""

    CONTAINER = "container"
    """All that one container holds, each container by itself."""


class GatherLevel(StrEnum):
    """Where the members of a gang come together (G4, D8)."""

    NODE = "node"
    """All members on one node."""


class JointDevicesScope(StrEnum):
    """Where devices of several types count as side by side (D9)."""

    SAME_PCIE = "SamePCIe"
    """Below one PCIe switch; if a machine names no switch for a type, below one PCIe root."""

    SAME_NUMA_NODE = "SameNUMANode"
    """On one NUMA node."""


class PartitionPolicy(StrEnum):
    """What a node's partition table means to pods with GPUs (D10)."""

    HONOR = "Honor"
    """A pod's GPUs are one partition of the table, or it does not run here."""

    PREFER = "Prefer"
    """Sets that are partitions are preferred to others."""


class SameTypeDevicesScope(StrEnum):
    """What all devices of one type that a pod holds have in common (D10)."""

    PCIE = "PCIe"
    """The nearest PCIe switch."""

    NUMA_NODE = "NUMANode"
    """The NUMA node."""

    PACKAGE = "Package"
    """The socket."""

    NODE = "Node"
    """Only the node, on which the pod is anyway."""


class HybridCoreKind(StrEnum):
    """The kind of a core on machines that mix them (C1)."""

    PERFORMANCE = "performance"
    EFFICIENCY = "efficiency"
