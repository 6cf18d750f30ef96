"""A cluster and its work: machines, nodes made of them, running pods and waiting gangs."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

from placer_models.cpuset import CpuSet
from placer_models.defaults import NO_DEFAULTS, Defaults
from placer_models.demand import ExpectedDemand
from placer_models.device import GPU, Device, GpuLinkMatrix, PartitionTable, is_mig_instance
from placer_models.left_out import PodLeftOutBeforeSolve
from placer_models.mig import Modes, gpu_minor_of_mig_instance, with_possible_mig_instances
from placer_models.network import NODE_LEVEL, GangNetworkLevelRule
from placer_models.node_strategy import NodeStrategy
from placer_models.placement import NamespacedName, PodPlacement
from placer_models.pod import Gang, GangGroup, NamedInNamespace, Pod
from placer_models.policy import (
    BINDING,
    AlignmentPolicy,
    AlignmentScope,
    BindPolicy,
    CpuLocalityWish,
    ExclusivePolicy,
    GatherLevel,
    NodeBindPolicy,
    NumaStrategy,
    PartitionPolicy,
)
from placer_models.taints import Taint
from placer_models.topology import ARM, Topology
from placer_models.typed import (
    PrecheckedSequence,
    TypeChecked,
    check_field_types,
    suggest_argument_names,
)

MOST_REMEMBERED = 256
"""The most values about the same nodes that are kept at a time."""

T = TypeVar("T")


@suggest_argument_names
@dataclass(frozen=True, slots=True)
class Machine(TypeChecked):
    """A kind of machine; many nodes may be of one kind.

    Attributes:
        name: Its name in the catalogue or in the file that defines it.
        title: One line for people.
        devices: Ascending by (type, minor).
        gpu_links: None where nothing is known about links between its GPUs.
        partitions: The sets of GPUs that its fabric manager can make a partition of;
            empty where the machine has no partition table.
        sources: Where the facts come from.

    """

    name: str
    title: str
    topology: Topology
    devices: tuple[Device, ...] = ()
    gpu_links: GpuLinkMatrix | None = None
    partitions: PartitionTable = ()
    sources: tuple[str, ...] = ()
    notes: str = ""


@suggest_argument_names
@dataclass(frozen=True, slots=True)
class Node(TypeChecked):
    """One node of the cluster.

    Attributes:
        labels: Ascending by key.
        domains: (level, domain) of the network, ascending by level; `NODE_LEVEL` is not
            among them (G4).
        reserved_cpus: CPUs kept for the system: never given to a pod by id, and
            no part of the capacity that requests are counted against.
        alignment: The node's NUMA alignment policy (C12); None: not set.
        unhealthy: (type, minor) of devices that are broken on this node, besides
            those that its machine calls unhealthy (D6), or are given to nobody for another reason.
        checkpoint_devices: Those of ``unhealthy`` that work, and are kept from pods because a
            kubelet's checkpoint gives them to pods that are not here, or may do so (D12).
        cordoned: No new pod is placed here.
        closed: The same, because nobody knows what the node still has; to topology spread, which
            may leave cordoned nodes out, it is a node like any other.
        cpu_bind: The bind policy that every pod that owns CPUs has to keep to here (C10).
        hugepages: (NUMA node, page size in bytes, pages), ascending: what this node
            sets aside, where that differs from its machine.
        partitions: The node's own partition table; None: its machine's.
        partition_policy: How pods keep to the table; None: they do not look at it.
        locality: What pods that own CPUs would like here if they have no wish of their own; in
            the order of the enumeration, each once.
        numa_strategy: Which NUMA nodes owned CPUs come from; None: not set (C11).
        extended: (name, amount) of resources that are plain amounts, such as licences
            or tokens; ascending by name, no amount of 0.
        offered: Whether the node is not there yet: the first pod that comes to it opens it.
        mig: GPUs in MIG mode, which are given out in instances only.
        scope: What the alignment policy aligns together; None: not set.
        milli_per_cpu: How much LS and BE pods may ask for of each CPU of their pool, in milli:
            more than 1000 on nodes whose CPUs are amplified.
        max_pods: The most pods that the node takes, running ones included; None: no limit.
        taints: Taints, which keep off pods that do not tolerate them.
        unpooled_cpus: CPUs that are in no pool (C5, C6) as long as they are reserved, for the
            system alone, or owned by running pods that a kubelet has pinned.
        homes: What running pods that may move hold here (CPUs only where they own them). A
            solver tells these resources apart from others like them.
        opened: Whether pods run on the offered node, though a question counts them among
            those that want a place (`Instance.homes`). The node stays open if they leave.
        defaults: What its scheduler is set to, for pods and nodes that say nothing (C22). An
            instance, or a Scheduler, with defaults gives them to all its nodes.

    """

    name: str
    machine: Machine
    labels: tuple[tuple[str, str], ...] = ()
    reserved_cpus: CpuSet = frozenset()
    alignment: AlignmentPolicy | None = None
    unhealthy: frozenset[tuple[str, int]] = frozenset()
    cordoned: bool = False
    cpu_bind: NodeBindPolicy = NodeBindPolicy.NONE
    hugepages: tuple[tuple[int, int, int], ...] = ()
    partitions: PartitionTable | None = None
    partition_policy: PartitionPolicy | None = None
    locality: tuple[CpuLocalityWish, ...] = ()
    numa_strategy: NumaStrategy | None = None
    extended: tuple[tuple[str, int], ...] = ()
    offered: bool = False
    mig: Modes = ()
    scope: AlignmentScope | None = None
    domains: tuple[tuple[str, str], ...] = ()
    homes: tuple[PodPlacement, ...] = ()
    max_pods: int | None = None
    taints: tuple[Taint, ...] = ()
    milli_per_cpu: int = 1000
    unpooled_cpus: CpuSet = frozenset()
    checkpoint_devices: frozenset[tuple[str, int]] = frozenset()
    opened: bool = False
    defaults: Defaults = NO_DEFAULTS
    closed: bool = False

    @property
    def effective_strategy(self) -> NumaStrategy | None:
        """Which NUMA nodes owned CPUs come from: what it says, else the default (C11, C22)."""
        return self.numa_strategy or self.defaults.numa_strategy

    @property
    def default_bind(self) -> BindPolicy:
        """The bind policy of pods that name none: no default where the node has its own word (C22).

        Nor is there one where the node could not take it: Arm has whole cores alone (C13).
        """
        policy = self.defaults.bind
        if self.cpu_bind is not NodeBindPolicy.NONE or (
            policy is BindPolicy.SPREAD_BY_PCPUS and self._is_arm
        ):
            return BindPolicy.DEFAULT
        return policy

    @property
    def default_exclusive(self) -> ExclusivePolicy:
        """The exclusive policy of pods that name none; Arm takes no PCPULevel (C13, C22)."""
        policy = self.defaults.exclusive
        barred = policy is ExclusivePolicy.PCPU_LEVEL and self._is_arm
        return ExclusivePolicy.NONE if barred else policy

    @property
    def _is_arm(self) -> bool:
        return self.machine.topology.architecture == ARM

    @property
    def devices(self) -> tuple[Device, ...]:
        """The machine's devices, and every instance that its GPUs could be cut into.

        Ascending by (type, minor); instances overlap.
        """
        return (
            with_possible_mig_instances(self.machine.devices, self.mig)
            if self.mig
            else self.machine.devices
        )

    def out_of_pools(self, owned: CpuSet) -> CpuSet:
        """Return the CPUs that the node keeps out of both pools while pods own ``owned``."""
        return self.unpooled_cpus & (self.reserved_cpus | owned)

    @property
    def table(self) -> PartitionTable | None:
        """The partition table that pods look at here; None if they look at none."""
        if self.partition_policy is None:
            return None
        return self.machine.partitions if self.partitions is None else self.partitions

    @property
    def honors_table(self) -> bool:
        """Whether a pod's GPUs here have to be a partition."""
        return self.partition_policy is PartitionPolicy.HONOR

    def is_healthy(self, device: Device) -> bool:
        """Return whether the device may be given out on this node (D6).

        A MIG instance may if its GPU is healthy. A GPU in MIG mode is not given out itself.
        """
        key = (device.type, device.minor)
        if is_mig_instance(device.type):
            key = (GPU, gpu_minor_of_mig_instance(device.minor))
        elif self.mig and device.type == GPU and device.minor in dict(self.mig):
            return False
        return device.healthy and key not in self.unhealthy

    def pages_in(self) -> dict[tuple[int, int], int]:
        """Return (NUMA node, page size in bytes) -> how many hugepages pods can have."""
        numa_nodes = self.machine.topology.numa_nodes
        pages = {(n.id, kind.page_bytes): kind.count for n in numa_nodes for kind in n.hugepages}
        known = {numa.id for numa in numa_nodes}
        return pages | {(n, size): count for n, size, count in self.hugepages if n in known}

    def memory_bytes_in(self) -> dict[int, int]:
        """Return NUMA node -> bytes of memory that are not set aside as hugepages."""
        left = {numa.id: numa.memory_bytes for numa in self.machine.topology.numa_nodes}
        for (numa, size), count in self.pages_in().items():
            left[numa] -= size * count
        return left

    def domain(self, level: str) -> str | None:
        """Return the node's domain at a level of the network, or None if it is in none."""
        if level == NODE_LEVEL:
            return self.name
        return next((domain for name, domain in self.domains if name == level), None)

    def topology_domain(self, key: str) -> str | None:
        """Return the node's value of a label, else its domain at a level, else None."""
        for name, value in self.labels:
            if name == key:
                return value
        return self.domain(key)


def nodes_with_defaults(nodes: tuple[Node, ...], defaults: Defaults) -> tuple[Node, ...]:
    """Return the nodes of a scheduler with these defaults; as they are if they have them (C22)."""
    if all(node.defaults == defaults for node in nodes):
        return nodes
    return tuple(replace(node, defaults=defaults) for node in nodes)


class NodesWithCachedFacts(tuple[Node, ...], PrecheckedSequence):
    """Nodes, with facts about all of them that are worked out once.

    It is a tuple like any other. A caller that asks about the same nodes again and again
    keeps the object.
    """

    @classmethod
    def of(cls, nodes: tuple[Node, ...]) -> "NodesWithCachedFacts":
        """Return the nodes as ``NodesWithCachedFacts``: unchanged if they are that already."""
        return nodes if isinstance(nodes, NodesWithCachedFacts) else cls(nodes)

    def __reduce__(self) -> tuple[type["NodesWithCachedFacts"], tuple[tuple[Node, ...]]]:
        """Return how to make the same nodes again; what was worked out stays behind."""
        return NodesWithCachedFacts, (tuple(self),)

    def remembered(self, what: Hashable, make: Callable[[], T]) -> T:
        """Return what follows from the nodes alone; worked out once, as long as there is room.

        Args:
            what: What identifies the value. Callers tell theirs apart by a function among it.
            make: Works the value out.

        """
        found: T
        if what in self._memo:
            found = self._memo[what]
            return found
        if len(self._memo) >= MOST_REMEMBERED:
            self._memo.clear()
        found = self._memo[what] = make()
        return found

    @cached_property
    def _memo(self) -> dict[Hashable, Any]:
        return {}

    @cached_property
    def position(self) -> Mapping[str, int]:
        """Name of a node -> its index in the tuple."""
        return {node.name: position for position, node in enumerate(self)}

    @cached_property
    def offer(self) -> bool:
        """Whether some of the nodes are only offered, that is, not there yet."""
        return any(node.offered for node in self)

    @cached_property
    def have_strategy(self) -> bool:
        """Whether some of the nodes have a NUMA strategy for owned CPUs."""
        return any(node.effective_strategy for node in self)

    @cached_property
    def exclusive_defaults(self) -> frozenset[ExclusivePolicy]:
        """Exclusive policies that pods without a word of their own have on some of the nodes."""
        return frozenset(node.default_exclusive for node in self)

    @cached_property
    def prefer_partitions(self) -> bool:
        """Whether pods would like to keep to the partition table of some of the nodes."""
        return any(node.partition_policy is PartitionPolicy.PREFER for node in self)

    @cached_property
    def soft_taints(self) -> frozenset[Taint]:
        """Taints of the nodes that would rather keep pods off, but do not."""
        return frozenset(t for node in self for t in node.taints if not t.keeps_off)

    @cached_property
    def localities(self) -> frozenset[CpuLocalityWish]:
        """Localities that pods without a wish of their own would like on some of the nodes."""
        return frozenset(wish for node in self for wish in node.locality)

    @cached_property
    def have_cells(self) -> bool:
        """Whether some of the nodes have several NUMA nodes, or also CPUs without one."""
        return any(len(machine.topology.package_in) > 1 for machine in self._machines)

    @cached_property
    def have_gpus(self) -> bool:
        """Whether some of the nodes have GPUs."""
        return any(device.type == GPU for m in self._machines for device in m.devices)

    @cached_property
    def have_packages(self) -> bool:
        """Whether some of the nodes have several packages."""
        return any(machine.topology.packages > 1 for machine in self._machines)

    @cached_property
    def _machines(self) -> tuple[Machine, ...]:
        return tuple({id(node.machine): node.machine for node in self}.values())

    @cached_property
    def bind_pools(self) -> bool:
        """Whether some of the nodes bind LS and BE pods to the pool of NUMA nodes."""
        return any(
            (node.defaults.alignment if node.alignment is None else node.alignment) in BINDING
            for node in self
        )

    @cached_property
    def align_containers(self) -> bool:
        """Whether some of the nodes align each container by itself."""
        return any(node.scope is AlignmentScope.CONTAINER for node in self)


@suggest_argument_names
@dataclass(frozen=True, slots=True)
class RunningPod:
    """A pod that holds its place already (G5).

    Attributes:
        movable: Whether it may get another place, where the instance has a budget of moves.
        illegal: What it asks for that no pod may ask for, in one line, where its spec cannot say
            it. Such a pod is a misfit, and counts by what it holds (`illegal_running`).
        guessed: Whether the NUMA nodes of its memory and hugepages, and so those to whose pool
            it is bound, are a guess: nobody says where it has them.
        of_node: Whether it runs for its node and ends with it, as static pods and those of
            DaemonSets do. Such a pod is never movable.
        restarts_with: The gang, of its namespace, that it restarts with where its place names
            none: nobody knows what that gang asks of places. Empty: it restarts by itself.

    """

    pod: Pod
    placement: PodPlacement
    movable: bool = True
    illegal: str = ""
    guessed: bool = False
    of_node: bool = False
    restarts_with: str = ""

    def __post_init__(self) -> None:
        check_field_types(self)
        if self.of_node:
            object.__setattr__(self, "movable", False)

    @property
    def gang_key(self) -> NamespacedName | None:
        """Namespace and name of the gang that it restarts with, if any."""
        gang = self.placement.gang or self.restarts_with
        return (self.pod.namespace, gang) if gang else None


@dataclass(frozen=True, slots=True)
class RunningGang(NamedInNamespace):
    """A gang of running pods: what they ask of each other's places (G5).

    Its members are the running pods whose placement names it.

    Attributes:
        gather: As in `Gang`.
        levels: As in `Gang`.

    """

    name: str
    namespace: str
    gather: GatherLevel | None = None
    levels: tuple[GangNetworkLevelRule, ...] = ()


@suggest_argument_names
@dataclass(frozen=True, slots=True)
class Instance:
    """One placement problem, complete: the solver asks nothing else.

    Attributes:
        nodes: Names are unique.
        gangs: All gangs that wait; a pod without a gang stands in a gang of its own
            (``lone``). Keys of gangs and of pods are unique.
        groups: Gang groups; each names gangs of this instance.
        running: Pods in place; none has the key of a pod that waits.
        move_budget: How many running pods may move at most (G5).
        homes: Where some of the pods that wait run now. Files have none: this is how the
            running pods that may move become part of the question (`placer_models.moves`).
        gone: Keys of the pods with homes that cannot stay, because they break a rule there.
        could_leave: The running pods that break a rule, and stay in this question.
        is_question: Whether the running pods that may move wait beside the others already.
        running_gangs: Gangs of running pods. None has the key of a gang that waits.
        strategy: The node strategy, which says what the last tier is.
        left_out: Pods that wait as well, but are in none of the gangs: they are illegal, or need
            others that are, or are not to be asked about. No rule or tier looks at them; an answer
            lists them.
        defaults: What holds where neither a pod nor its node says anything, for all nodes (C22).
            None: what the nodes have got already.
        demand: The pods that are expected, for strategy ``expected``. None: like those that run
            and wait (`forecast.given_or_learned_demand`).

    """

    nodes: tuple[Node, ...]
    gangs: tuple[Gang, ...]
    groups: tuple[GangGroup, ...] = ()
    running: Sequence[RunningPod] = ()
    name: str = ""
    move_budget: int = 0
    homes: tuple[PodPlacement, ...] = ()
    gone: frozenset[tuple[str, str]] = frozenset()
    could_leave: tuple[RunningPod, ...] = ()
    is_question: bool = False
    running_gangs: tuple[RunningGang, ...] = ()
    strategy: NodeStrategy = NodeStrategy.USABLE
    left_out: tuple[PodLeftOutBeforeSolve, ...] = ()
    defaults: Defaults | None = None
    demand: ExpectedDemand | None = None

    def __post_init__(self) -> None:
        check_field_types(self)
        if self.defaults is not None:
            object.__setattr__(self, "nodes", nodes_with_defaults(self.nodes, self.defaults))

    @property
    def common_defaults(self) -> Defaults:
        """The defaults that hold on all its nodes.

        Raises:
            ValueError: Its nodes have got different ones.

        """
        found = {node.defaults for node in self.nodes}
        if len(found) > 1:
            raise ValueError("nodes have different defaults; give the instance those of all nodes")
        return found.pop() if found else self.defaults or NO_DEFAULTS


def with_only_gangs(instance: Instance, gangs: Sequence[Gang]) -> Instance:
    """Return the instance in which only some of its gangs wait, with the groups that are whole."""
    asked = {gang.key for gang in gangs}
    groups = tuple(
        group for group in instance.groups if group.gangs and asked.issuperset(group.gangs)
    )
    return replace(instance, gangs=tuple(gangs), groups=groups)
