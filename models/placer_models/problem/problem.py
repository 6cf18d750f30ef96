"""The Problem: one batch as a solver sees it, all in integers, with counts instead of ids.

`placer.state` builds a Problem from an instance, `placer.counting` turns counts into ids and back.
"""

from collections import Counter
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field

from placer_models.device import GPU
from placer_models.goals import Tier, all_tiers_most_important_first, number_of_tiers_before_links
from placer_models.links.board import LinkedDeviceClasses
from placer_models.node_strategy import StrategyPodRequest
from placer_models.policy import (
    BINDING,
    AlignmentPolicy,
    BindPolicy,
    ExclusivePolicy,
    QosClass,
    SameTypeDevicesScope,
)
from placer_models.problem.banks import DeviceChosenForShare, DeviceShareNeed
from placer_models.problem.dimensions import (
    BEST_EFFORT_POOL,
    MEMORY,
    SHARED_POOL,
    Amounts,
    Dimension,
    amounts_at_milli_per_cpu,
    cell_dimensions,
)
from placer_models.problem.fits import ContainerFit, FewestCellsAndPackages, JointDevicesFit
from placer_models.problem.node_state import CoreClassGranularity, NodeState
from placer_models.problem.tasks import (
    NO_AFFINITIES,
    InNodeAffinityOfShape,
    ProblemAffinities,
    ProblemGang,
)
from placer_models.records import CachedHash, record


@dataclass(frozen=True, slots=True)
class Shape(CachedHash):
    """What pods of one spec ask for.

    Attributes:
        owned_cpus: How many CPUs the pod gets by id (LSE, LSR).
        exclusive: Whether the owned CPUs are shared with nobody, not even BE pods (LSE).
        shared: Whether the pod runs in the shared pool (LS).
        best_effort: Whether the pod runs in the BE pool.
        amounts: What it takes in each of the Problem's dimensions. CPUs that it owns are taken
            from the pools, more of them on a node with amplified CPUs (`amounts_on`).
        most_amounts: The most that it takes on any node.
        of_cells: How many of these dimensions cells have; they are the first ones.
        devices: Whole devices: (type, count), ascending by type, no zeros.
        shares: Shares of devices, all of different devices, no zeros.
        best_pair_minimum: The fastest slowest pair of any equal-sized GPU set that the pod may
            have on any empty node it may go to, in 0.01 GB/s; 0 for fewer than two GPUs.
        scopes: (device type, scope within which all its devices must be).
        burst_cpus: ``cpus`` as in `PoolBindingNeed`; 0: the pod is not under ConstrainedBurst.
        in_node_affinity: How it and others affect each other inside a node; None: not at all.
        at_least: Types of devices of which it may take more, whole or in part, on some nodes.

    """

    owned_cpus: int
    exclusive: bool
    shared: bool
    best_effort: bool
    amounts: Amounts
    most_amounts: Amounts
    of_cells: int
    devices: tuple[tuple[str, int], ...]
    best_pair_minimum: int
    scopes: tuple[tuple[str, SameTypeDevicesScope], ...] = ()
    shares: tuple[DeviceShareNeed, ...] = ()
    burst_cpus: int = 0
    in_node_affinity: InNodeAffinityOfShape | None = None
    at_least: tuple[str, ...] = ()

    __hash__ = CachedHash.__hash__

    def amounts_on(self, node: NodeState) -> Amounts:
        """Return what the pod takes of a node in each of the Problem's dimensions."""
        return amounts_at_milli_per_cpu(self.amounts, self.owned_cpus, node.milli_per_cpu)

    def scope_of(self, device_type: str) -> SameTypeDevicesScope:
        """Return the scope within which all devices of the type must be."""
        return dict(self.scopes).get(device_type, SameTypeDevicesScope.NODE)

    @property
    def pool(self) -> QosClass | None:
        """The pool that the pod runs in; None where it owns CPUs."""
        if self.best_effort:
            return QosClass.BE
        return QosClass.LS if self.shared else None

    @property
    def pool_milli(self) -> int:
        """CPU request of an LS or BE pod."""
        if self.best_effort:
            return self.amounts[BEST_EFFORT_POOL]
        return self.amounts[SHARED_POOL] if self.shared else 0

    @property
    def in_cells(self) -> Amounts:
        """What the pod takes in the dimensions that cells have."""
        return self.amounts[: self.of_cells]

    @property
    def memory(self) -> int:
        """Memory that the pod asks for, in the Problem's unit."""
        return self.amounts[MEMORY]

    def count_of(self, device_type: str) -> int:
        """Return how many devices of the type the shape asks for, whole or in part."""
        shared = sum(need.count for need in self.shares if need.type == device_type)
        return self.whole_of(device_type) + shared

    def whole_of(self, device_type: str) -> int:
        """Return how many whole devices of the type the shape asks for."""
        return sum(count for kind, count in self.devices if kind == device_type)


@dataclass(frozen=True, slots=True)
class Fit(CachedHash):
    """What a shape means on a kind of node; there is no fit where it can never run.

    Attributes:
        alignment: The policy that holds.
        cell_limit: The most cells the pod may use, all of them NUMA nodes; None: any number.
        fewest_cells: The number of cells that BestEffort is measured against.
        bind: FULL_PCPUS or SPREAD_BY_PCPUS; matters only if the shape owns CPUs.
        bind_required: Whether the bind policy may not be broken: the pod or the node says so.
        bind_asked: Whether the pod or the node requires or prefers it; otherwise it is what
            Default stands for.
        bind_remainder: How many CPUs must be against the bind policy even on the empty node.
        bind_waived: How many more than these cost nothing, for the sake of even shares.
        best_pair_sum: The largest pair sum of an equal-sized GPU set that the pod may have
            on the empty node.
        joint: Devices that are wanted side by side; None: none are.
        fewest_packages: Packages that owned CPUs need on the empty node; None: no wish.
        fewest_caches: The same for last-level caches.
        fewest_cpu_cells: The same for cells, where the node has a NUMA strategy.
        cpus_apart: By how many CPUs shares of cells may differ and still be even.
        containers: The containers, if each is aligned by itself; the pod as a whole then has no
            policy.
        locality: The fewest places the pod can be in; None where it may be anywhere.
        spread_wished: Whether the pod would like one thread of each core, although whole cores
            are required; then bind_remainder is that of this wish.
        ask: What it asks of each resource class; None under ``usable``.
        weight_missed: The total weight of what it would like of its node and does not get there.
        apart: The exclusive policy; NONE also where the bind policy ensures it anyway.
        apart_required: Whether the exclusive policy may not be broken.

    """

    alignment: AlignmentPolicy
    cell_limit: int | None
    fewest_cells: int
    bind: BindPolicy
    bind_required: bool
    bind_asked: bool
    bind_remainder: int
    best_pair_sum: int
    joint: JointDevicesFit | None = None
    fewest_packages: int | None = None
    fewest_caches: int | None = None
    fewest_cpu_cells: int | None = None
    cpus_apart: int = 1
    containers: tuple[ContainerFit, ...] = ()
    locality: FewestCellsAndPackages | None = None
    spread_wished: bool = False
    ask: StrategyPodRequest | None = None
    weight_missed: int = 0
    apart: ExclusivePolicy = ExclusivePolicy.NONE
    apart_required: bool = False
    bind_waived: int = 0

    __hash__ = CachedHash.__hash__

    @property
    def keeps_cores(self) -> bool:
        """Whether the pod counts as PCPULevel, or would if it fell back."""
        falls_back = self.apart is ExclusivePolicy.NUMA_NODE_LEVEL and not self.apart_required
        return self.apart is ExclusivePolicy.PCPU_LEVEL or falls_back

    @property
    def by_cell(self) -> bool:
        """Whether it matters which cells the pod as a whole uses."""
        close = self.locality is not None and self.locality.cells is not None
        return close or self.alignment is not AlignmentPolicy.NONE

    def binds(self, shape: Shape) -> bool:
        """Return whether a policy binds a pod of the shape, or its containers, to NUMA nodes."""
        policies = {self.alignment, *(part.alignment for part in self.containers)}
        return shape.pool is not None and not policies.isdisjoint(BINDING)

    def uses_cells(self, shape: Shape) -> bool:
        """Return whether a pod of the shape always uses some cell."""
        return bool(shape.owned_cpus or shape.burst_cpus or any(shape.in_cells)) or (
            self.binds(shape) and shape.pool_milli > 0
        )


@record(frozen=True, slots=True)
class KindHardware:
    """What holds for all nodes of a kind.

    Attributes:
        cells: The most cells that any of them has.
        core_sizes: The most different numbers of threads that the cores of any of them have.
        board: Their GPU board, or None if they have none.

    """

    cells: int
    core_sizes: int
    board: LinkedDeviceClasses | None


@record(frozen=True, slots=True)
class Problem:
    """A batch of gangs and the nodes that could host them.

    Attributes:
        pods: The shape index of every pod, gang by gang in the instance's order.
        fits: fits[shape][kind]; None where pods of the shape never run on the kind.
        priorities: Distinct priorities, highest first.
        dimensions: What is counted in plain amounts, in units that divide each exactly: memory,
            hugepages of each size, resources of nodes, the shared pool, the BE pool.
        affinity: What shapes ask of other pods on their node or in its domain.
        domains: For each level asked for, the domain of every node, as a number.
        asked: Tiers beyond those that every instance has.
        core_tiers: The tiers for which cores of different packages or caches are told apart.
        most: For each resource of nodes, the most that any node has left.
        device_types: The types of which some node has devices, broken ones too; ascending.
        granularity: How finely the nodes' core classes tell cores apart.
        encoding: How the states of nodes are written. Two Problems with equal encodings have equal
            states for a node that has not changed.
        on_kinds: Shape of pods that ask for different things on different nodes -> for each kind,
            the shape that counts there; as a whole they take what they take on any node at least.
        homes: (pod, its place now) for each running pod that may move; None: its node is not in
            the Problem, or it cannot stay. Each gets a place in any case.
        move_budget: How many of these pods may get another place.

    """

    nodes: Sequence[NodeState]
    shapes: tuple[Shape, ...]
    pods: tuple[int, ...]
    gangs: tuple[ProblemGang, ...]
    fits: tuple[tuple[Fit | None, ...], ...]
    priorities: tuple[int, ...]
    dimensions: tuple[Dimension, ...]
    domains: tuple[tuple[int, ...], ...] = ()
    affinity: ProblemAffinities = NO_AFFINITIES
    asked: tuple[Tier, ...] = ()
    core_tiers: tuple[Tier, ...] = ()
    most: Amounts = ()
    device_types: tuple[str, ...] = ()
    granularity: CoreClassGranularity = CoreClassGranularity.ALIKE
    encoding: Hashable = None
    homes: tuple[tuple[int, "Choice | None"], ...] = ()
    move_budget: int = 0
    on_kinds: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    _of_kinds: Mapping[int, KindHardware] | None = field(
        default=None, init=False, compare=False, repr=False
    )

    @property
    def of_kinds(self) -> Mapping[int, KindHardware]:
        """What holds for the nodes of each kind that there is; worked out once.

        What is asked of each shape asks this, and not each node: there may be millions of pairs.
        """
        if self._of_kinds is None:
            object.__setattr__(self, "_of_kinds", _summaries(self.nodes))
        assert self._of_kinds is not None
        return self._of_kinds

    @property
    def tiers(self) -> tuple[Tier, ...]:
        """All tiers, most important first."""
        return all_tiers_most_important_first(self.priorities, self.asked)

    @property
    def in_cells(self) -> tuple[Dimension, ...]:
        """The dimensions of which each cell has an amount; they are the first ones."""
        return cell_dimensions(self.dimensions)

    @property
    def resources(self) -> range:
        """The indices of the resources of nodes among the dimensions."""
        first = len(self.in_cells)
        return range(first, first + len(self.most))

    @property
    def before_links(self) -> int:
        """How many tiers come before those that look at links."""
        return number_of_tiers_before_links(self.tiers)

    def fit(self, pod: int, node: int) -> Fit | None:
        """Return what the pod's shape means on the node, or None if it never runs there."""
        return self.fits[self.pods[pod]][self.nodes[node].kind]

    def shape_of(self, pod: int) -> Shape:
        """Return the shape of a pod: what it takes on any node at least."""
        return self.shapes[self.pods[pod]]

    def shape_on(self, shape: int, node: NodeState) -> Shape:
        """Return what pods of a shape take on a node."""
        if shape not in self.on_kinds:
            return self.shapes[shape]
        return self.shapes[self.on_kinds[shape][node.kind]]

    def shapes_of(self, shape: int) -> Collection[Shape]:
        """Return all that pods of a shape take on some kind of node."""
        if shape not in self.on_kinds:
            return (self.shapes[shape],)
        return tuple(self.shapes[one] for one in sorted(set(self.on_kinds[shape])))


def _summaries(nodes: Sequence[NodeState]) -> dict[int, KindHardware]:
    found: dict[int, KindHardware] = {}
    seen = set[tuple[int, int, int, int]]()
    for node in nodes:
        # Nodes that stand alike, such as idle ones, have their parts in common.
        parts = node.kind, id(node.cells), id(node.cores), id(node.banks)
        if parts in seen:
            continue
        seen.add(parts)
        known = found.get(node.kind, KindHardware(0, 0, None))
        bank = node.bank(GPU)
        found[node.kind] = KindHardware(
            max(known.cells, len(node.cells)),
            max(known.core_sizes, len({core.threads for core in node.cores})),
            known.board if bank is None else bank.board,
        )
    return found


@dataclass(frozen=True, slots=True)
class CoreTake:
    """What a pod takes of one core class.

    Attributes:
        whole: How many whole cores.
        threads: How many single threads, in addition to the whole cores.
        touched: Over how many cores the single threads are spread, at least.

    """

    whole: int = 0
    threads: int = 0
    touched: int = 0


def cells_of_cpus(node: NodeState, takes: Sequence[CoreTake]) -> set[int]:
    """Return the NUMA nodes, as cells, that the cores taken are in."""
    classes = zip(node.cores, takes, strict=True)
    cells = {c.cell for c, take in classes if take.whole or take.threads}
    return {cell for cell in cells if node.cells[cell].real}


NO_NODE = -1


@record(frozen=True, slots=True)
class Choice:
    """A place for one pod, in counts.

    Attributes:
        node: The node's index; ``NO_NODE`` for a place on any node that has just as much left.
        cores: One entry per core class of the node.
        devices: For each bank of the node, whole devices from each equivalence class.
        pinned: For each dimension that cells have, the amount from each cell; empty where it may
            come from anywhere.
        shares: Shares of devices, ascending.
        containers: For each container of the fit and each good, the amount from each cell; the
            last number is the amount from no cell.
        pool: What a bound pod wants of its pool: (cells, milli that are shared out over
            them), ascending; several where its containers have pools of their own.
        near: As ``pinned``, the amounts that had better come from each cell, where they may come
            from anywhere.

    """

    node: int
    cores: tuple[CoreTake, ...]
    devices: tuple[tuple[int, ...], ...]
    pinned: tuple[Amounts, ...] = ()
    shares: tuple[DeviceChosenForShare, ...] = ()
    containers: tuple[tuple[tuple[int, ...], ...], ...] = ()
    pool: tuple[tuple[tuple[int, ...], int], ...] = ()
    near: tuple[Amounts, ...] = ()

    def on(self, node: int) -> "Choice":
        """Return the same place on a node."""
        return Choice(
            node,
            self.cores,
            self.devices,
            self.pinned,
            self.shares,
            self.containers,
            self.pool,
            self.near,
        )

    @property
    def near_cells(self) -> tuple[int, ...]:
        """The cells that memory and hugepages had better come from, ascending."""
        return tuple(cell for cell, some in enumerate(zip(*self.near, strict=True)) if any(some))

    @property
    def pool_cells(self) -> tuple[int, ...]:
        """The cells to whose pool the pod is bound, ascending."""
        return tuple(sorted({cell for cells, _ in self.pool for cell in cells}))

    def touched(self, bank: int) -> tuple[int, ...]:
        """Return the devices of each equivalence class of a bank, whole ones and shares."""
        shared = Counter(take.class_index for take in self.shares if take.bank == bank)
        return tuple(
            count + shared[class_index] for class_index, count in enumerate(self.devices[bank])
        )


Choices = dict[int, Choice]
"""Pod index -> the pod's place; a pod that is left out has none."""
