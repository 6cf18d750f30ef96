"""Columns of numbers that say what nodes have left, to look at all nodes at once."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum, auto
from functools import lru_cache
from itertools import pairwise, repeat
from operator import add
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from placer.greedy.bound import pool_milli_left
from placer_models.device import GPU, is_mig_instance
from placer_models.goals import (
    USABLE_SET_SIZES,
    Tier,
    all_tiers_most_important_first,
    strategy_of_last_tier,
)
from placer_models.links.usable import usable_set_counts
from placer_models.node_strategy import NodeStrategy, StrategyNodeLoad
from placer_models.policy import QosClass
from placer_models.problem.banks import DeviceBank, ShareableDevice
from placer_models.problem.dimensions import BEST_EFFORT_POOL, MEMORY, SHARED_POOL
from placer_models.problem.node_state import NodeState
from placer_models.problem.pools import NO_POOL
from placer_models.problem.problem import Problem, Shape
from placer_models.problem.rooms import QUARTERS
from placer_models.records import CachedHash

Numbers = NDArray[np.int64]
Indices = NDArray[np.intp]
Mask = NDArray[np.bool_]


class NodeColumnName(IntEnum):
    """Positions in a row of the numbers that every node has."""

    @staticmethod
    def _generate_next_value_(name: str, start: int, count: int, last_values: list[int]) -> int:
        return count

    POOL_MILLI = auto()
    BEST_EFFORT_MILLI = auto()
    MEMORY = auto()
    POOL_CPUS = auto()
    BEST_EFFORT_CPUS = auto()
    OWNABLE_CPUS = auto()
    CPUS_OF_WHOLE_CORES = auto()
    BROKEN_CORES = auto()
    OFFERED = auto()
    SHARED_GPUS = auto()
    MOST_PERCENT_OF_A_SHARED_GPU = auto()
    PODS = auto()
    ROOM_POINTS = auto()
    NEWCOMERS = auto()


class CellColumnName(IntEnum):
    """Positions in the row of a cell of the numbers that every cell has."""

    REAL = 0
    OWNABLE_CPUS = 1
    CPUS_OF_WHOLE_CORES = 2
    MEMORY = 3
    SHARED_MILLI = 4
    BEST_EFFORT_MILLI = 5


ROOM_MILLI = slice(len(NodeColumnName), len(NodeColumnName) + QUARTERS)
"""The columns of the milli CPUs left beside a free room of one quarter of the node, of two, three
and four; below 0 if there is no such room."""

ROOM_MEMORY = slice(ROOM_MILLI.stop, ROOM_MILLI.stop + QUARTERS)
"""The same for memory."""

_COLUMNS = ROOM_MEMORY.stop
_CELL_COLUMNS = len(CellColumnName)
_NO_ROOMS = (-1,) * (2 * QUARTERS)

_LARGE = 2**31
"""Quantities of which more than this is asked for are counted in units of ``_LARGE_UNIT``."""

_LARGE_UNIT = 2**20

LOAD_WEIGHT = 2**20
"""What a pod of the batch weighs in the columns of who looks at a resource class."""

_MOST_LEFT, _MOST_ASKED = 2**50, 2**33
"""Limits of what is left and what is asked for, so that every sum stays within 64 bits."""


class DeviceShareDimension(NamedTuple):
    """A quantity of devices of which pods ask for amounts.

    Attributes:
        unit: What 1 in the columns stands for. What is left is rounded up, what is asked for down.

    """

    type: str
    name: str
    unit: int


class NodeRow(NamedTuple):
    """What is left on a node.

    Attributes:
        numbers: One per column.
        cells: cells[cell, column]. Devices of no cell count in every cell.
        layout: Number of the state's layout.

    """

    numbers: tuple[int, ...]
    cells: Numbers
    layout: int


class _OfBanks(NamedTuple):
    """What rows say of the banks of a node.

    Attributes:
        devices: Free devices of each type.
        in_cells: (column, cell or None for every cell, free devices) of each class that has any.
        sets: Disjoint fast sets of GPUs, for each of ``USABLE_SET_SIZES``.
        shared: The percent left of each GPU that some pod has a share of.
        percent: The percent left on all devices that take shares.

    """

    devices: tuple[int, ...]
    in_cells: tuple[tuple[int, int | None, int], ...]
    sets: tuple[int, ...]
    shared: tuple[int, ...]
    percent: int


@dataclass(frozen=True, slots=True)
class NodeColumnLayout(CachedHash):
    """The columns of rows: those of `NodeColumnName`, then the slices, one after the other.

    Attributes:
        types: Device types, each with a column of free devices.
        cut_types: The types of MIG instances, which may overlap.
        resources: Indices of the resources of nodes among the dimensions, each with a column.
        strategy: What the last tier looks at.
        parts: Quantities of devices that are asked for in amounts, each with two columns: what
            is left on all devices of the type, and the most that is left on one.
        classes: How many resource classes a strategy looks at that looks at the pods on a node.

    """

    types: tuple[str, ...]
    cut_types: frozenset[str]
    resources: range
    strategy: NodeStrategy
    parts: tuple[DeviceShareDimension, ...] = ()
    classes: int = 0

    __hash__ = CachedHash.__hash__

    @classmethod
    def of(cls, problem: Problem) -> "NodeColumnLayout":
        """Return the columns for all device types that a node has or a shape asks for."""
        load = problem.nodes[0].load if problem.nodes else None
        classes = 0 if load is None else len(load.total)
        types, asked = tuple(problem.device_types), tuple(problem.asked)
        return _columns_of(problem.shapes, types, problem.resources, asked, classes)

    @property
    def devices(self) -> slice:
        """The columns of free devices."""
        return slice(_COLUMNS, _COLUMNS + len(self.types))

    @property
    def percent(self) -> int:
        """The column of the percent left on devices that take shares; a free one has 100."""
        return _COLUMNS + len(self.types)

    @property
    def sets(self) -> slice:
        """The columns of disjoint fast sets of GPUs, for each of ``USABLE_SET_SIZES``."""
        return slice(self.percent + 1, self._extras)

    @property
    def extras(self) -> slice:
        """The columns of resources of nodes."""
        return slice(self._extras, self._extras + len(self.resources))

    @property
    def left(self) -> range:
        """The columns of what is left of each of the parts."""
        first = self._extras + len(self.resources)
        return range(first, first + len(self.parts))

    @property
    def most_on_one(self) -> range:
        """The columns of the most that is left of each of the parts on one device."""
        first = self.left.stop
        return range(first, first + len(self.parts))

    @property
    def loads(self) -> tuple[slice, slice, slice]:
        """The columns of each resource class: used by running pods, by new ones, who looks at it.

        The last one counts each new pod as `LOAD_WEIGHT`, divided by the classes it looks at.
        """
        ends = [self.most_on_one.stop + part * self.classes for part in range(4)]
        used, new, present = (slice(*pair) for pair in pairwise(ends))
        return used, new, present

    @property
    def count(self) -> int:
        """How many numbers a row has."""
        return self.most_on_one.stop + 3 * self.classes

    @property
    def _extras(self) -> int:
        return self.percent + 1 + len(USABLE_SET_SIZES)

    @property
    def spare(self) -> list[int]:
        """The columns that together say how much of a node is free."""
        most = [
            NodeColumnName.POOL_MILLI,
            NodeColumnName.BEST_EFFORT_MILLI,
            NodeColumnName.MEMORY,
        ]
        devices = range(self.devices.start, self.devices.stop)
        extras = range(self.extras.start, self.extras.stop)
        return [*most, *devices, self.percent, *extras, *self.left]

    def column_of(self, device_type: str) -> int:
        """Return the column of free devices of the type."""
        return _COLUMNS + self.types.index(device_type)

    def row_of(self, node: NodeState, layout: int) -> NodeRow:
        """Return the row of a node: what is left on it in numbers, and its layout as given."""
        return self.rows_of((node,), (layout,))[0]

    def rows_of(self, nodes: Sequence[NodeState], layouts: Sequence[int]) -> list[NodeRow]:
        """Return the rows of nodes, each with its layout as given."""
        known: dict[int, _OfBanks] = {}
        of_numbers, of_cells = [], []
        for node in nodes:
            # Nodes share their banks, which are looked at once.
            number = id(node.banks)
            if number not in known:
                known[number] = self._of_banks(node.banks)
            cells = self._cells_of(node, known[number])
            of_cells.append(cells)
            of_numbers.append(self._numbers_of(node, known[number]))
        found = _as_arrays(of_cells)
        return list(map(NodeRow, of_numbers, found, layouts))

    def _of_banks(self, banks: Iterable[DeviceBank]) -> "_OfBanks":
        """Return what the columns say of banks."""
        devices = [0] * len(self.types)
        sets = [0] * len(USABLE_SET_SIZES)
        in_cells: list[tuple[int, int | None, int]] = []
        percent = 0
        shared: list[int] = []
        for bank in banks:
            at = self.types.index(bank.type)
            free = sum(bank.free)
            devices[at] += free
            homes = zip(bank.free, bank.cells, strict=True)
            in_cells += [(_CELL_COLUMNS + at, home, count) for count, home in homes if count]
            taken = [d.left[0] for of_class in bank.shareable for d in of_class if d.shared]
            if bank.type == GPU:
                sets = list(map(add, sets, usable_set_counts(bank.board, bank.free)))
                shared += taken
            if bank.shareable:
                percent += 100 * free + sum(taken)
        return _OfBanks(tuple(devices), tuple(in_cells), tuple(sets), tuple(shared), percent)

    def _cells_of(self, node: NodeState, of_banks: "_OfBanks") -> list[list[int]]:
        """Return the rows of the node's cells."""
        no_devices = [0] * len(self.types)
        pools: Iterable[tuple[int, int]] = repeat((0, 0))
        if node.bound or any(
            cell.shared is not NO_POOL or cell.best_effort is not NO_POOL for cell in node.cells
        ):
            pools = zip(
                pool_milli_left(node, QosClass.LS), pool_milli_left(node, QosClass.BE), strict=True
            )
        cells = [
            [cell.real, 0, 0, cell.amounts[MEMORY], shared, best_effort, *no_devices]
            for cell, (shared, best_effort) in zip(node.cells, pools, strict=False)
        ]
        for c in node.cores:
            cell = cells[c.cell]
            cell[CellColumnName.OWNABLE_CPUS] += c.free_threads
            cell[CellColumnName.CPUS_OF_WHOLE_CORES] += c.whole_cores * c.threads
        for column, home, count in of_banks.in_cells:
            for cell in cells if home is None else [cells[home]]:
                cell[column] += count
        return cells

    def _numbers_of(self, node: NodeState, of_banks: "_OfBanks") -> tuple[int, ...]:
        """Return the numbers of the node as a whole."""
        ownable = whole = broken = 0
        for c in node.cores:
            cores = c.whole_cores
            ownable += c.free_threads
            whole += cores * c.threads
            broken += c.cores - cores
        load = node.load
        return (
            node.pool_milli,
            node.amounts[BEST_EFFORT_POOL],
            node.memory,
            node.pool_cpus,
            node.best_effort_cpus,
            ownable,
            whole,
            broken,
            node.offered,
            len(of_banks.shared),
            max(of_banks.shared, default=0),
            0 if load is None else load.running + load.newcomers,
            node.room_points,
            0 if load is None else load.newcomers,
            *_beside_rooms(node),
            *of_banks.devices,
            of_banks.percent,
            *of_banks.sets,
            *node.amounts[self.resources.start : self.resources.stop],
            *_left_of(node, self.parts),
            *_load_of(load),
        )

    def least(self, shape: Shape, *, only_whole_cores: bool) -> Numbers:
        """Return what a node has to have left, at least, to host a pod of the shape.

        If that is 0, the node need not even have 0: pools may be overfull.
        """
        owned = shape.owned_cpus
        percent = sum(need.count * (need.share.percent or 0) for need in shape.shares)
        least: Numbers = np.zeros(self.count, dtype=np.int64)
        least[NodeColumnName.POOL_MILLI] = shape.amounts[SHARED_POOL]
        least[NodeColumnName.BEST_EFFORT_MILLI] = shape.amounts[BEST_EFFORT_POOL]
        least[NodeColumnName.MEMORY] = shape.memory
        least[NodeColumnName.POOL_CPUS] = owned + shape.shared
        least[NodeColumnName.BEST_EFFORT_CPUS] = owned * shape.exclusive + shape.best_effort
        least[NodeColumnName.OWNABLE_CPUS] = owned
        least[NodeColumnName.CPUS_OF_WHOLE_CORES] = owned * only_whole_cores
        least[self.devices] = [shape.whole_of(kind) for kind in self.types]
        least[self.percent] = percent
        least[self.extras] = shape.amounts[self.resources.start : self.resources.stop]
        for column, part in zip(self.left, self.parts, strict=True):
            least[column] = sum(count * asked for count, asked in _asked(shape, part))
        return least

    def least_on_one(self, shape: Shape) -> list[tuple[int, int]]:
        """Return (column, what the best device has to have left, at least) for each part."""
        parts = zip(self.most_on_one, self.parts, strict=True)
        asked = ((column, [n for _, n in _asked(shape, part)]) for column, part in parts)
        return [(column, max(amounts)) for column, amounts in asked if any(amounts)]

    def most(self, shape: Shape) -> Numbers:
        """Return how much a pod of the shape takes, at most, of what is spare on a node."""
        percent = sum(need.count * (need.share.percent or 100) for need in shape.shares)
        most: Numbers = np.zeros(self.count, dtype=np.int64)
        most[NodeColumnName.POOL_MILLI] = shape.most_amounts[SHARED_POOL]
        most[NodeColumnName.BEST_EFFORT_MILLI] = shape.most_amounts[BEST_EFFORT_POOL]
        most[NodeColumnName.MEMORY] = shape.memory
        most[self.devices] = [shape.count_of(kind) for kind in self.types]
        most[self.percent] = percent + 100 * sum(count for _, count in shape.devices)
        most[self.extras] = shape.amounts[self.resources.start : self.resources.stop]
        for column, part in zip(self.left, self.parts, strict=True):
            most[column] = sum(count * (asked + 1) for count, asked in _asked(shape, part))
        return most

    def least_in_cells(self, shape: Shape, *, only_whole_cores: bool) -> Numbers:
        """Return what the cells of a pod have to have left together, at least.

        They need not be NUMA nodes here. If a policy limits how many they are, an LS or BE pod
        is bound to them, and what it counts there is in the columns of pools.
        """
        whole = shape.owned_cpus if only_whole_cores else 0
        devices = (shape.whole_of(kind) for kind in self.types)
        pools = (shape.shared * shape.pool_milli, shape.best_effort * shape.pool_milli)
        least = [0, shape.owned_cpus, whole, shape.memory, *pools, *devices]
        return np.array(least, dtype=np.int64)


@lru_cache(maxsize=1_024)
def _columns_of(
    shapes: tuple[Shape, ...],
    device_types: tuple[str, ...],
    resources: range,
    tiers: tuple[Tier, ...],
    classes: int,
) -> NodeColumnLayout:
    """Return the columns for some shapes and tiers, which are asked for again and again."""
    strategy = (
        strategy_of_last_tier(all_tiers_most_important_first((), tiers)) or NodeStrategy.USABLE
    )
    asked = {kind for shape in shapes for kind, _ in shape.devices}
    asked |= {need.type for shape in shapes for need in shape.shares}
    types = tuple(sorted(asked.union(device_types)))
    cut_types = frozenset(filter(is_mig_instance, types))
    return NodeColumnLayout(types, cut_types, resources, strategy, _parts_asked(shapes), classes)


def _beside_rooms(node: NodeState) -> tuple[int, ...]:
    milli, memory, rooms = node.pool_milli, node.memory, node.rooms
    return (*(milli - cpu for cpu, _ in rooms), *(memory - m for _, m in rooms)) or _NO_ROOMS


def _parts_asked(shapes: Iterable[Shape]) -> tuple[DeviceShareDimension, ...]:
    """Return the quantities of which some share asks for an amount, not only a percentage."""
    most: dict[tuple[str, str], int] = {}
    for shape in shapes:
        for need in shape.shares:
            for name, amount in need.share.amounts.items():
                key = need.type, name
                most[key] = max(amount, most.get(key, 0))
    return tuple(
        DeviceShareDimension(*key, _LARGE_UNIT if amount > _LARGE else 1)
        for key, amount in sorted(most.items())
    )


def _asked(shape: Shape, part: DeviceShareDimension) -> list[tuple[int, int]]:
    """Return (count, amount of the part on each device) of the shape's needs, rounded down."""
    return [
        (need.count, min(_MOST_ASKED, need.share.amounts.get(part.name, 0) // part.unit))
        for need in shape.shares
        if need.type == part.type
    ]


def _left_of(node: NodeState, parts: Sequence[DeviceShareDimension]) -> list[int]:
    """Return what is left of each part, then the most of each on one device."""
    sums, most = [], []
    for part in parts:
        left = [
            -(-device.left_of(part.name) // (100 * part.unit))
            for device in _open_to_shares(node, part.type)
        ]
        sums.append(min(_MOST_LEFT, sum(left)))
        most.append(min(_MOST_LEFT, max(left, default=0)))
    return [*sums, *most]


def _load_of(load: StrategyNodeLoad | None) -> list[int]:
    """Return the columns of each class that a strategy looks at (`NodeColumnLayout.loads`)."""
    if load is None:
        return []
    new, present = [0] * len(load.total), [0] * len(load.total)
    for ask, count in load.new:
        for at, amount in enumerate(ask.amounts):
            new[at] += count * amount
        for at in ask.classes:
            present[at] += count * LOAD_WEIGHT // len(ask.classes)
    return [*load.used, *new, *present]


def _open_to_shares(node: NodeState, device_type: str) -> Iterator[ShareableDevice]:
    """Yield what is left of the devices of a type that can take shares."""
    for bank in node.banks:
        if bank.type == device_type:
            for openable, members in zip(bank.free, bank.shareable, strict=False):
                yield from (device for device in members if device.shared)
                # Devices that no pod has a part of are alike; some may have been given whole.
                yield from [device for device in members if not device.shared][:openable]


def _as_arrays(cells: Sequence[list[list[int]]]) -> list[Numbers]:
    """Return the cells of each node as an array; those of nodes with as many are made at once."""
    of_length: defaultdict[int, list[int]] = defaultdict(list)
    for at, one in enumerate(cells):
        of_length[len(one)].append(at)
    found: dict[int, Numbers] = {}
    for length, nodes in of_length.items():
        rows = np.array([cells[at] for at in nodes], dtype=np.int64)
        found.update(zip(nodes, rows.reshape(len(nodes), length, -1), strict=True))
    return [found[at] for at in range(len(cells))]
