"""Cost bounds: the least that places for pods can cost on each node, for all nodes at once.

They are found without looking into nodes, and no place costs less than its bound. So nodes
are looked into in the order of their bounds, and no further once a place costs no more than
the bound of the next node.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from placer.greedy.columns import (
    ROOM_MEMORY,
    ROOM_MILLI,
    DeviceShareDimension,
    Mask,
    NodeColumnLayout,
    NodeColumnName,
    Numbers,
)
from placer.greedy.load_bound import NodeStrategyCostBound
from placer.greedy.node_rows import NodeRows
from placer.greedy.offer import AT, BY_STRATEGY, WIDTH
from placer.greedy.shape_bound import ShapeFitColumns, TermColumns, Wanted
from placer_models.device import GPU
from placer_models.goals import (
    BIND,
    GPU_POINTS,
    NODE_PREFERENCE,
    OPENED,
    POD_PAIR_MINIMUM,
    USABLE_SET_SIZES,
    WHOLE_CORE_POINTS,
)
from placer_models.node_strategy import FIRST_WEIGHT, LOOK_AT_WHAT_IS_LEFT, NodeStrategy
from placer_models.problem.dimensions import SHARED_POOL
from placer_models.problem.node_state import NodeState
from placer_models.problem.problem import Shape
from placer_models.problem.rooms import POINTS

_POINTS: Numbers = np.array(POINTS, dtype=np.int64)
"""What the rooms of a node are worth, by its free quarters."""

_SET_SIZES: Numbers = np.array(USABLE_SET_SIZES, dtype=np.int64)[:, np.newaxis]
"""The usual set sizes, upright so that they broadcast over nodes."""


class TierCostLowerBoundsByNode:
    """Lower bounds of what places cost for pods that come to one node together."""

    def __init__(self, columns: NodeColumnLayout, counts: Iterable[tuple[Wanted, int]]) -> None:
        """Note what the pods ask for.

        Args:
            columns: The columns of the rows.
            counts: (what pods ask for, how many pods do), each once.

        """
        counts = list(counts)
        self._shapes = [(ShapeFitColumns(columns, wanted), count) for wanted, count in counts]
        self._loads = [NodeStrategyCostBound(columns, fits, count) for (_, fits), count in counts]
        pods = [(bound.shape, count) for bound, count in self._shapes]
        least: Numbers = np.zeros(columns.count, dtype=np.int64)
        most: Numbers = np.zeros(columns.count, dtype=np.int64)
        for bound, count in self._shapes:
            whole = bound.only_whole_cores
            least += count * columns.least(bound.shape, only_whole_cores=whole)
            most += count * columns.most(bound.shape)
        # A pool needs one CPU, however many pods run in it.
        in_pool = sum(count for shape, count in pods if shape.shared)
        best_effort = sum(count for shape, count in pods if shape.best_effort)
        least[NodeColumnName.POOL_CPUS] -= max(0, in_pool - 1)
        least[NodeColumnName.BEST_EFFORT_CPUS] -= max(0, best_effort - 1)
        on_one = [pair for shape, _ in pods for pair in columns.least_on_one(shape)]
        asked = np.flatnonzero(least)
        columns_on_one = [column for column, _ in on_one]
        self._asked = np.array([*asked.tolist(), *columns_on_one], dtype=np.intp)
        self._least = _upright([*least[asked].tolist(), *(amount for _, amount in on_one)])
        foreseen = _foreseen(columns, [shape for shape, _ in pods])
        self._foreseen = np.array(foreseen, dtype=np.intp)
        self._taken = _upright(most[self._foreseen].tolist())
        self._largest: Numbers | None = None
        self._most = self._taken
        self._gpus = sum(shape.count_of(GPU) * count for shape, count in pods)
        self._gpu_column = columns.column_of(GPU) if self._gpus else -1
        self._sets = columns.sets
        self._strategy = columns.strategy
        self._by_what_is_left = columns.strategy in LOOK_AT_WHAT_IS_LEFT
        self._pods = sum(count for _, count in pods)
        self._milli = sum(shape.amounts[SHARED_POOL] * count for shape, count in pods)
        self._memory = sum(shape.memory * count for shape, count in pods)

    def terms(self, rows: NodeRows, layouts: Sequence[NodeState]) -> list[TermColumns]:
        """Return what each of the shapes means on the nodes of the rows.

        Args:
            rows: What the nodes have left.
            layouts: A state of each layout, by number.

        """
        return [bound.terms(rows, layouts) for bound, _ in self._shapes]

    def hosts(self, rows: NodeRows, terms: Sequence[TermColumns]) -> Mask:
        """Return which of the nodes could, by their sums, host the pods.

        Args:
            rows: What the nodes have left.
            terms: As `terms` returns them for the rows.

        """
        enough = rows.numbers[self._asked] >= self._least
        found: Mask = np.logical_and.reduce(enough, axis=0)
        for (bound, _), means in zip(self._shapes, terms, strict=True):
            found &= means["possible"] > 0
            bound.keep_limits(rows, means, found)
        return found

    def costs(
        self,
        rows: NodeRows,
        terms: Sequence[TermColumns],
        largest: Numbers,
        layouts: Sequence[NodeState],
    ) -> Numbers:
        """Return costs[position, node]: the parts of a price, then what is spare.

        Places for the pods on a node, if there are any, together cost as much or more, compared
        as tuples.

        Args:
            rows: What the nodes have left.
            terms: As `terms` returns them for the rows.
            largest: The most that any node has of each column.
            layouts: As for `terms`.

        """
        costs: Numbers = np.zeros((WIDTH + 1, len(rows)), dtype=np.int64)
        costs[AT[OPENED]] = rows.numbers[NodeColumnName.OFFERED]
        owners = []
        for (bound, count), means in zip(self._shapes, terms, strict=True):
            if bound.minds_nodes:
                costs[AT[NODE_PREFERENCE]] += count * means["weight_missed"]
            if bound.linked:
                costs[AT[POD_PAIR_MINIMUM]] += count * means["pair_minimum"]
            for tier, term in bound.wishes_for_few_cells:
                costs[AT[tier]] += count * bound.cells_beyond(rows, means[term])
            if bound.shape.owned_cpus:
                owners.append((bound.shape.owned_cpus, means, count))
        lost = self._by_strategy(rows, layouts)
        if owners:
            costs[AT[BIND]], cores = _by_cores(rows, owners)
            lost += WHOLE_CORE_POINTS * cores if self._by_what_is_left else 0
        if self._gpus and self._by_what_is_left:
            lost += GPU_POINTS * self._sets_lost(rows)
        costs[BY_STRATEGY] = lost
        left = np.maximum(rows.numbers[self._foreseen] - self._taken, 0)
        if self._largest is not largest:
            # If no node has any of it, none has any left.
            self._largest, self._most = largest, np.maximum(largest[self._foreseen, np.newaxis], 1)
        costs[-1] = np.add.reduce(1000 * left // self._most, axis=0)
        return costs

    def _by_strategy(self, rows: NodeRows, layouts: Sequence[NodeState]) -> Numbers:
        """Return what the strategy counts of the pods there, or the points of rooms lost."""
        there, coming = rows.numbers[NodeColumnName.PODS], self._pods
        lost: Numbers = np.zeros(len(rows), dtype=np.int64)
        if self._strategy is NodeStrategy.PACK:
            lost[there == 0] = FIRST_WEIGHT
        elif self._strategy is NodeStrategy.SPREAD:
            lost += FIRST_WEIGHT * (coming * there + coming * (coming - 1) // 2)
        if not self._by_what_is_left:
            for load in self._loads:
                lost += load.costs(rows, layouts)
        elif self._milli or self._memory:
            free = rows.numbers[ROOM_MILLI] >= self._milli
            free &= rows.numbers[ROOM_MEMORY] >= self._memory
            lost = rows.numbers[NodeColumnName.ROOM_POINTS] - _POINTS[np.add.reduce(free, axis=0)]
        return lost

    def _sets_lost(self, rows: NodeRows) -> Numbers:
        """Return the GPUs in fast sets that are lost, added up over the usual sizes."""
        left = rows.numbers[self._gpu_column] - self._gpus + self._shared(rows)
        sets = np.maximum(rows.numbers[self._sets] - left // _SET_SIZES, 0)
        lost: Numbers = np.add.reduce(_SET_SIZES * sets, axis=0)
        return lost

    def _shared(self, rows: NodeRows) -> Numbers:
        """Return how many of the GPUs, at most, need not be opened: they are shared already.

        Each pod has shares of different GPUs, but may have the same as another pod.
        """
        shares = [
            (need, count)
            for bound, count in self._shapes
            for need in bound.shape.shares
            if need.type == GPU
        ]
        if not shares:
            return np.zeros(len(rows), dtype=np.int64)
        wanted = sum(need.count * count for need, count in shares)
        least = min((need.share.percent or 0 for need, _ in shares), default=0)
        fit = rows.numbers[NodeColumnName.MOST_PERCENT_OF_A_SHARED_GPU] >= least
        if sum(count for _, count in shares) > 1:
            return np.full(len(rows), wanted)
        there: Numbers = np.where(
            fit, np.minimum(rows.numbers[NodeColumnName.SHARED_GPUS], wanted), 0
        )
        return there


def _upright(amounts: Sequence[int]) -> Numbers:
    """Return the amounts as an upright column, so that they broadcast over nodes."""
    return np.array(amounts, dtype=np.int64)[:, np.newaxis]


def _by_cores(
    rows: NodeRows, owners: Sequence[tuple[int, TermColumns, int]]
) -> tuple[Numbers, Numbers]:
    """Return the fewest CPUs against bind policies, and the fewest whole cores lost with these.

    A pod that would like whole cores has single threads only if it cannot do otherwise.

    Args:
        rows: What the nodes have left.
        owners: (CPUs of a pod, what its shape means, how many pods).

    """
    whole = rows.numbers[NodeColumnName.CPUS_OF_WHOLE_CORES]
    on_broken = rows.numbers[NodeColumnName.OWNABLE_CPUS] - whole
    bind: Numbers = np.zeros(len(rows), dtype=np.int64)
    lost, threads, apart = bind.copy(), bind.copy(), bind.copy()
    for owned, terms, count in owners:
        priced, free, widest = terms["priced"] > 0, terms["free_singles"], terms["widest"]
        rest = np.where(terms["even"] > 0, owned % widest, 0)
        singles = np.maximum(np.maximum(owned - whole, rest), free)
        singles = np.where(priced, singles, owned)
        waived = free + terms["waived_singles"]
        beyond = np.maximum(singles - waived, 0)
        bind += count * (np.where(priced, beyond, 0) + terms["spread_lost"])
        # A place with more single threads may cost as little, and take fewer whole cores.
        lost += count * -(-np.maximum(owned - np.maximum(singles, waived), 0) // widest)
        threads += count * singles
        apart = np.maximum(apart, np.where(terms["spread"] > 0, owned - free, 0))
    lost += np.maximum(-(-(threads - on_broken) // owners[0][1]["widest"]), 0)
    # Threads on cores of their own break as many cores, however they are counted.
    return bind, np.maximum(lost, apart - rows.numbers[NodeColumnName.BROKEN_CORES])


def _foreseen(columns: NodeColumnLayout, shapes: Iterable[Shape]) -> list[int]:
    """Return the columns of what is spare for which the most that pods take is known.

    With a device strategy, or variants, pods may have more devices than they count, MIG
    instances may overlap, and shares in percent do not say what they take of other quantities.
    """
    unforeseen = set()
    for shape in shapes:
        strategies = {need.type for need in shape.shares if need.strategy} | {*shape.at_least}
        unforeseen |= {columns.column_of(kind) for kind in strategies}
        if strategies:
            unforeseen.add(columns.percent)
        unforeseen |= {
            column
            for column, part in zip(columns.left, columns.parts, strict=True)
            if part.type in strategies or _takes_parts_unsaid(shape, part)
        }
        if any(kind in columns.cut_types for kind, _ in shape.devices):
            unforeseen |= {columns.column_of(kind) for kind in columns.cut_types}
    return [column for column in columns.spare if column not in unforeseen]


def _takes_parts_unsaid(shape: Shape, part: DeviceShareDimension) -> bool:
    """Return whether a pod takes an unsaid amount of a quantity: by percent, or all of it."""
    return shape.whole_of(part.type) > 0 or any(
        need.type == part.type
        and (need.share.percent is not None or need.share.memory_percent is not None)
        for need in shape.shares
    )
