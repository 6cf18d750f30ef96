"""What is left on a node while pods are being placed: values, never changed in place."""

from collections.abc import Sequence
from dataclasses import dataclass
from operator import le
from typing import NamedTuple

from placer_models.links import Board
from placer_models.mig import Cut
from placer_models.node_strategy import NodeLoad
from placer_models.numa_strategy import CellStrategy
from placer_models.policy import QosClass, Strength
from placer_models.pools import Bound, CellPool
from placer_models.problem import Choice, CoreTake, NodeState, Shape
from placer_models.shares import ShareTake, Slot

NO_CORES = CoreTake()
"""Nothing of a core class."""


class ClassFacts(NamedTuple):
    """What never changes about a core class; as in ``CoreClass``."""

    cell: int
    threads: int
    free: int
    package: int | None = None
    cache: int | None = None
    efficient: bool = False

    @property
    def whole(self) -> bool:
        """Whether cores of the class can be taken whole."""
        return self.free == self.threads


Guest = tuple[int, int]
"""A side of a ``Beside``, and a number that tells its pods on a node apart where they count."""


class ClassLeft(NamedTuple):
    """What is left of a core class.

    Attributes:
        cores: Cores that nobody took whole.
        threads: Single threads taken.
        broken: Cores that those threads are on.
        held: How strongly pods that count as PCPULevel are kept off these cores.
        guests: Who of the sides of a ``Beside`` is on these cores.

    """

    cores: int
    threads: int
    broken: int
    held: Strength | None = None
    guests: frozenset[Guest] = frozenset()


class SlotLeft(NamedTuple):
    """A device that can take shares.

    Attributes:
        slot: What is left of it.
        shared: Pods have shares of it.

    """

    slot: Slot
    shared: bool


Slots = tuple[tuple[SlotLeft, ...], ...]
"""For each twin class of a bank, the devices that can take shares."""


class Bank(NamedTuple):
    """What never changes about the devices of one type; as in ``DeviceBank``."""

    type: str
    board: Board
    cells: tuple[int | None, ...]
    cuts: tuple[Cut, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """What never changes about nodes that are alike. Compared by identity.

    Attributes:
        number: Its position among the layouts that are known together.
        kind: As in ``NodeState``.
        real: For each cell whether it is a NUMA node.
        packages: The package of each cell, as in ``Cell``.
        rooms: As in ``NodeState``.

    """

    number: int
    kind: int
    real: tuple[bool, ...]
    classes: tuple[ClassFacts, ...]
    banks: tuple[Bank, ...]
    strategy: CellStrategy | None = None
    packages: tuple[int | None, ...] = ()
    rooms: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Residual:
    """What is left on a node. Equal residuals are interchangeable.

    Attributes:
        memory: What may still be pinned to each cell.
        memory_total: What may still be taken altogether; less than the sum of
            ``memory`` where pods hold memory that may come from anywhere.
        pages: For each page size, hugepages that may still be pinned to each cell.
        pages_total: What may still be taken altogether of each size.
        extended: Of each extended resource of the Problem.
        offered: The node is not there yet; the first pod opens it.
        devices: For each bank, free devices of each twin class.
        slots: For each bank, the slots of each twin class; as in ``DeviceBank``.
        cells_held: For each cell, how strongly pods under NUMANodeLevel are kept off.
        shared: What is left of each cell's part of the shared pool; as in ``Cell``.
        best_effort: The same for the BE pool.
        bound: What bound pods want of them, ascending.
        cell_guests: For each cell, who of the sides of a ``Beside`` owns CPUs there.
        near: Memory, then hugepages of each size, that pods should get from each cell, though
            they may have it from anywhere; empty where none should.
        load: Who is there, as the strategy sees it; None under ``usable``.

    """

    layout: Layout
    cores: tuple[ClassLeft, ...]
    memory: tuple[int, ...]
    memory_total: int
    devices: tuple[tuple[int, ...], ...]
    pool_milli: int
    best_effort_milli: int
    pool_cpus: int
    best_effort_cpus: int
    has_shared: bool
    has_best_effort: bool
    pages: tuple[tuple[int, ...], ...] = ()
    pages_total: tuple[int, ...] = ()
    slots: tuple[Slots, ...] = ()
    extended: tuple[int, ...] = ()
    cells_held: tuple[Strength | None, ...] = ()
    offered: bool = False
    shared: tuple[CellPool, ...] = ()
    best_effort: tuple[CellPool, ...] = ()
    bound: tuple[Bound, ...] = ()
    cell_guests: tuple[frozenset[Guest], ...] = ()
    near: tuple[tuple[int, ...], ...] = ()
    load: NodeLoad | None = None

    def pool(self, qos: QosClass) -> tuple[CellPool, ...]:
        """Return what is left of each cell's part of the pool of LS or BE pods."""
        return self.best_effort if qos is QosClass.BE else self.shared


class Inside(NamedTuple):
    """A place for one pod inside a node, whichever node that is; as in ``Choice``.

    Attributes:
        near: As in ``Residual``, of what may come from anywhere; the realiser sees to it.

    """

    cores: tuple[CoreTake, ...]
    memory: tuple[int, ...] | None
    devices: tuple[tuple[int, ...], ...]
    pages: tuple[tuple[int, ...], ...] = ()
    shares: tuple[ShareTake, ...] = ()
    containers: tuple[tuple[tuple[int, ...], ...], ...] = ()
    pool: tuple[tuple[tuple[int, ...], int], ...] = ()
    near: tuple[tuple[int, ...], ...] = ()

    def on(self, node: int) -> Choice:
        """Return the same on a node."""
        near = {cell for row in self.near for cell, amount in enumerate(row) if amount}
        return Choice(node, *self[:-1], near=tuple(sorted(near)))


class Layouts:
    """The layouts of nodes; nodes that are alike share one.

    Attributes:
        all: Those known so far, by number.

    """

    def __init__(self) -> None:
        """Begin with none."""
        self.all: list[Layout] = []
        self._known: dict[object, Layout] = {}

    def of(self, node: NodeState) -> Layout:
        """Return the node's layout."""
        real = tuple(cell.numa_node is not None for cell in node.cells)
        classes = tuple(
            ClassFacts(c.cell, c.threads, c.free, c.package, c.cache, c.efficient)
            for c in node.cores
        )
        # By identity: nodes of one kind share their boards, which a layout keeps alive.
        boards = tuple((bank.type, id(bank.board), bank.cells, bank.cuts) for bank in node.banks)
        packages = tuple(cell.package for cell in node.cells)
        key = (node.kind, real, classes, boards, node.strategy, packages, node.rooms)
        if key not in self._known:
            banks = tuple(Bank(bank.type, bank.board, bank.cells, bank.cuts) for bank in node.banks)
            layout = Layout(
                len(self.all), node.kind, real, classes, banks, node.strategy, packages, node.rooms
            )
            self._known[key] = layout
            self.all.append(layout)
        return self._known[key]


def residual_of(node: NodeState, layout: Layout) -> Residual:
    """Return what is left before anything new is placed."""
    memory = tuple(cell.memory for cell in node.cells)
    pages = tuple(zip(*(cell.pages for cell in node.cells), strict=True))
    return Residual(
        layout=layout,
        cores=tuple(ClassLeft(c.cores, 0, 0, c.held, _guests(c.sides)) for c in node.cores),
        memory=memory,
        memory_total=sum(memory),
        devices=tuple(bank.free for bank in node.banks),
        pool_milli=node.pool_milli,
        best_effort_milli=node.best_effort_milli,
        pool_cpus=node.pool_cpus,
        best_effort_cpus=node.best_effort_cpus,
        has_shared=node.has_shared,
        has_best_effort=node.has_best_effort,
        pages=pages,
        pages_total=tuple(map(sum, pages)),
        slots=tuple(
            tuple(
                tuple(SlotLeft(slot, not bank.is_free(twin, at)) for at, slot in enumerate(slots))
                for twin, slots in enumerate(bank.slots)
            )
            for bank in node.banks
        ),
        extended=node.extended,
        cells_held=tuple(cell.held for cell in node.cells),
        offered=node.offered,
        shared=tuple(cell.shared for cell in node.cells),
        best_effort=tuple(cell.best_effort for cell in node.cells),
        bound=node.bound,
        cell_guests=tuple(_guests(cell.sides) for cell in node.cells),
        load=node.load,
    )


def _guests(running: Sequence[int]) -> frozenset[Guest]:
    """Return running pods; those that count have a side of their own each."""
    return frozenset((side, 0) for side in running)


def after_cores(facts: ClassFacts, left: ClassLeft, take: CoreTake) -> ClassLeft:
    """Return what is left of a class; right only if ``broken`` stays within ``cores``."""
    threads = left.threads + take.threads
    broken = max(-(-threads // facts.free), left.broken, take.touched)
    return ClassLeft(left.cores - take.whole, threads, broken, left.held, left.guests)


def sums_allow(residual: Residual, shape: Shape) -> bool:
    """Return whether pools, memory as a whole and extended resources have room for the shape."""
    owned = shape.owned_cpus
    exclusive = owned if shape.exclusive else 0
    pool_need = 1000 * owned + shape.shared_milli
    best_effort_need = 1000 * exclusive + shape.best_effort_milli
    pool_left = residual.pool_cpus - owned
    best_effort_left = residual.best_effort_cpus - exclusive
    return (
        shape.memory <= residual.memory_total
        and all(map(le, shape.pages, residual.pages_total))
        and all(map(le, shape.extended, residual.extended))
        and (not pool_need or pool_need <= residual.pool_milli)
        and (not best_effort_need or best_effort_need <= residual.best_effort_milli)
        # Who takes no CPU out of a pool cannot empty it; it may be empty already.
        and pool_left >= (shape.shared or (owned > 0 and residual.has_shared))
        and best_effort_left >= (shape.best_effort or (exclusive > 0 and residual.has_best_effort))
    )


def free_threads(facts: ClassFacts, left: ClassLeft) -> int:
    """Return how many CPUs of the class a pod may still own."""
    return left.cores * facts.free - left.threads


def whole_cores(facts: ClassFacts, left: ClassLeft) -> int:
    """Return how many cores of the class are free as a whole."""
    return left.cores - left.broken if facts.whole else 0
