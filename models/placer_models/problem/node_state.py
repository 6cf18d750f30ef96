"""The state of a node in counts: what is left on it, when a batch comes and while it is placed."""

from dataclasses import field, fields
from enum import IntEnum
from operator import attrgetter
from typing import NamedTuple

from placer_models.node_strategy import StrategyNodeLoad
from placer_models.policy import QosClass, RequiredOrPreferred
from placer_models.problem.banks import ClassesBelow, DeviceBank
from placer_models.problem.dimensions import MEMORY, SHARED_POOL, Amounts
from placer_models.problem.numa_strategy import NumaStrategyOnCells
from placer_models.problem.pools import NO_POOL, CellPool, PoolBindingNeed
from placer_models.problem.rooms import room_points
from placer_models.records import record


class CoreClassGranularity(IntEnum):
    """How finely the cores of a node are told apart, because it may matter who shares them (C9)."""

    ALIKE = 0
    """No waiting pod minds who shares a core."""

    HELD = 1
    """One waiting pod minds: cores that running pods keep are told apart from others."""

    PAIRS = 2
    """Several waiting pods mind: each core with more than two threads is a class of its own.
    For cores with two threads counts are enough: a pod that shares one has one of the two."""

    EACH = 3
    """Each core with more than one free thread is a class of its own."""

    WHO = 4
    """As EACH, and the other cores are told apart by who runs on them (C18)."""


Guest = tuple[int, int]
"""(Side of an `InNodeAffinityOfShape`, number that tells its pods apart if each counts)."""

NOBODY: frozenset[Guest] = frozenset()


def affinity_sides_of_guests(guests: frozenset[Guest]) -> frozenset[int]:
    """Return the sides that the guests belong to."""
    return frozenset(side for side, _ in guests)


class Cell(NamedTuple):
    """A NUMA node of a node, or the place of the CPUs that belong to none.

    Attributes:
        numa_node: Its id; None for the place of CPUs without a NUMA node.
        amounts: What may be pinned to it, in each of the Problem's dimensions that cells have.
        held: How strongly pods under NUMANodeLevel keep others off; None: not at all.
        shared: Its part of the shared pool; counted where pods are bound.
        best_effort: Its part of the BE pool; counted where pods are bound.
        package: The package that all its CPUs are in, if there is one.
        guests: The guests that own CPUs here.

    """

    numa_node: int | None
    amounts: Amounts
    held: RequiredOrPreferred | None = None
    shared: CellPool = NO_POOL
    best_effort: CellPool = NO_POOL
    package: int | None = None
    guests: frozenset[Guest] = NOBODY

    @property
    def real(self) -> bool:
        """Whether it is a NUMA node."""
        return self.numa_node is not None

    def pool(self, qos: QosClass) -> CellPool:
        """Return the cell's part of the BE pool, or of the shared pool for any other class."""
        return self.best_effort if qos is QosClass.BE else self.shared


class CoreClass(NamedTuple):
    """Cores of a node that are equal to a solver.

    Attributes:
        cell: Index of the cell the cores belong to.
        cores: How many cores no pod of the batch has taken whole.
        threads: Online threads of each core.
        free: Threads of each core that pods of the batch may own; at least 1.
        package: The package they are in; None where packages are not told apart.
        cache: The last-level cache they share, -1 where it is not known; None where
            caches are not told apart.
        held: How strongly pods that count as PCPULevel keep others off; None: not at all.
        efficient: Whether they are efficiency cores: a pod that asks for no bind policy does not
            mind having a part of one.
        guests: The guests that own CPUs of these cores.
        taken: Single threads that pods of the batch have.
        broken: How many cores those threads are on.

    """

    cell: int
    cores: int
    threads: int
    free: int
    package: int | None = None
    cache: int | None = None
    held: RequiredOrPreferred | None = None
    efficient: bool = False
    guests: frozenset[Guest] = NOBODY
    taken: int = 0
    broken: int = 0

    @property
    def whole(self) -> bool:
        """Whether cores of the class can be taken whole."""
        return self.free == self.threads

    @property
    def paired(self) -> bool:
        """Whether two threads of each core are free, and nothing else is there."""
        return self.free == self.threads == 2

    @property
    def free_threads(self) -> int:
        """How many CPUs of the class a pod may still own."""
        return self.cores * self.free - self.taken

    @property
    def whole_cores(self) -> int:
        """How many cores of the class are free as a whole."""
        return self.cores - self.broken if self.free == self.threads else 0

    @property
    def hidden(self) -> "CoreClass":
        """The class without its cores, as pods that may not have them see it."""
        return self._replace(cores=0, held=None, guests=NOBODY, taken=0, broken=0)


@record(frozen=True, slots=True)
class NodeState:
    """What is left on one node. Equal states are interchangeable nodes.

    Attributes:
        kind: Index of the node's kind; a shape's Fit is looked up by it.
        amounts: What may still be taken in each of the Problem's dimensions. In dimensions that
            cells have, it is less than their sum if pods of the batch hold some from anywhere.
        pool_cpus: CPUs of the shared pool, reserved ones included.
        best_effort_cpus: CPUs of the BE pool, reserved ones included.
        has_shared: Whether an LS pod runs here already, so that the shared pool must not empty.
        has_best_effort: The same for a BE pod and the BE pool.
        offered: Whether the node is not there yet; the first pod opens it.
        strategy: None where the node has none, or has CPUs in one cell only.
        bound: Pods bound to the pool of cells, ascending; none needs more than the pool has.
        rooms: As `rooms.room_sizes` returns them, in the Problem's memory units.
        milli_per_cpu: How much less pods of its pools may ask for, for each owned CPU.
        load: Who is there, as the strategy sees it; None under ``usable``.
        near: As in `Choice`, of all pods of the batch together; empty if there is none.
        switches: Those that join GPUs with other devices (`problem.switches`); they follow from
            the boards of the banks.

    """

    name: str = field(compare=False)
    kind: int
    cells: tuple[Cell, ...]
    cores: tuple[CoreClass, ...]
    banks: tuple[DeviceBank, ...]
    amounts: Amounts
    pool_cpus: int
    best_effort_cpus: int
    has_shared: bool
    has_best_effort: bool
    offered: bool = False
    strategy: NumaStrategyOnCells | None = None
    bound: tuple[PoolBindingNeed, ...] = ()
    rooms: tuple[tuple[int, int], ...] = ()
    milli_per_cpu: int = 1000
    load: StrategyNodeLoad | None = None
    near: tuple[tuple[int, ...], ...] = ()
    switches: tuple[ClassesBelow, ...] = field(default=(), compare=False)

    @property
    def memory(self) -> int:
        """Memory that may still be taken."""
        return self.amounts[MEMORY]

    @property
    def pool_milli(self) -> int:
        """What LS requests and newly owned CPUs, at ``milli_per_cpu`` each, may sum to."""
        return self.amounts[SHARED_POOL]

    @property
    def room_points(self) -> int:
        """What its free rooms are worth in tier ``usable``."""
        return room_points(self.rooms, self.pool_milli, self.memory)

    def bank(self, device_type: str) -> DeviceBank | None:
        """Return the bank of the type, if the node has such devices."""
        return next((bank for bank in self.banks if bank.type == device_type), None)

    def bank_index(self, device_type: str) -> int:
        """Return the index of the bank of a type of devices that the node has."""
        return next(i for i, bank in enumerate(self.banks) if bank.type == device_type)

    def on(self, name: str, kind: int) -> "NodeState":
        """Return the same state on another node: ``replace`` would take ten times as long."""
        return NodeState(name, kind, *_INSIDE(self))

    def with_banks(self, banks: tuple[DeviceBank, ...]) -> "NodeState":
        """Return the same state with other banks: ``replace`` would take ten times as long."""
        found = self.on(self.name, self.kind)
        found.banks = banks  # type: ignore[misc]  # Nobody has seen it yet.
        return found

    def loaded(self, load: StrategyNodeLoad) -> "NodeState":
        """Return the same state with its load told: ``replace`` would take ten times as long."""
        found = self.on(self.name, self.kind)
        found.load = load  # type: ignore[misc]  # Nobody has seen it yet.
        return found


_INSIDE = attrgetter(*(one.name for one in fields(NodeState) if one.name not in ("name", "kind")))
"""All that a state says beside the node's name and its kind, in the order of its fields."""
