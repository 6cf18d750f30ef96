"""What a shape can hope for on every node, before anyone looks inside: bounds, all at once.

No place costs less than the outlook says. So nodes are looked into in the order of their
outlooks, and no further once a place costs no more than the next node promises.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from placer.greedy.chooser import Price
from placer.greedy.columns import CellColumn, Column, Columns, Indices, Numbers, Table
from placer.greedy.residual import Layout
from placer_models.device import GPU
from placer_models.goals import GPU_POINTS, USABLE_SET_SIZES, WHOLE_CORE_POINTS
from placer_models.links import best_permitted_minimum
from placer_models.policy import AlignmentPolicy, BindPolicy
from placer_models.problem import Fit, Shape

Mask = NDArray[np.bool_]

_AT = {name: position for position, name in enumerate(Price._fields)}


class _Terms(NamedTuple):
    """What a shape means on nodes of a layout; all numbers.

    Attributes:
        possible: Whether it may run there at all.
        cell_limit: As in ``Fit``; 0 for none.
        beyond_one: Cells beyond the fewest that count where one cell is not enough.
        spread: Whether single threads are to be on cores of their own.
        priced: Whether CPUs against the bind policy cost something.
        free_singles: Single threads that cost nothing against the bind policy.
        widest: Threads of the widest core.
        even: Whether all cores are that wide.
        pair_minimum: The price of the best set of GPUs on the empty node.

    """

    possible: bool = False
    cell_limit: int = 0
    beyond_one: int = 0
    spread: bool = False
    priced: bool = False
    free_singles: int = 0
    widest: int = 1
    even: bool = False
    pair_minimum: int = 0


_Means = dict[str, Numbers]
"""Each term, for every node."""


class Outlook:
    """Lower bounds of what places for pods of one shape cost."""

    def __init__(self, columns: Columns, shape: Shape, fits: Sequence[Fit | None]) -> None:
        """Note what the shape asks for; what it means is looked up layout by layout."""
        self._shape = shape
        self._fits = fits
        only_whole = all(
            fit.bind_required and fit.bind is BindPolicy.FULL_PCPUS for fit in fits if fit
        )
        least = columns.least(shape, only_whole_cores=only_whole)
        self._least = [(column, int(least[column])) for column in np.flatnonzero(least)]
        in_cells = columns.least_in_cells(shape, only_whole_cores=only_whole)
        self._least_in_cells = [
            (column, int(in_cells[column])) for column in np.flatnonzero(in_cells)
        ]
        most = columns.most(shape)
        self._taken = [(column, int(most[column])) for column in _foreseen(columns, shape)]
        self._gpus = shape.count_of(GPU)
        self._gpu_column = columns.column_of(GPU) if self._gpus else -1
        self._sets = columns.sets
        self._by_layout: Numbers = np.zeros((len(_Terms._fields), 0), dtype=np.int64)

    def hosts(self, table: Table, layouts: Sequence[Layout]) -> Mask:
        """Return which of the nodes could, by their sums, host a pod."""
        terms = self._terms_of(table, layouts)
        found: Mask = terms["possible"] > 0
        for column, least in self._least:
            found &= table.numbers[column] >= least
        limits = terms["cell_limit"]
        for limit in sorted(set(limits[found].tolist())):
            if 0 < limit < table.cells.shape[2]:
                asked = np.flatnonzero(found & (limits == limit))
                found[asked] = self._fits_in(table, asked, limit)
        return found

    def costs(self, table: Table, layouts: Sequence[Layout], largest: Numbers) -> Numbers:
        """Return costs[position in a bid's price, or after it its spare; node].

        A place on a node, if there is one, costs as much or more, compared as a tuple.

        Args:
            table: What the nodes have left.
            layouts: By number.
            largest: What of each column there is on the fleet's largest node.

        """
        terms = self._terms_of(table, layouts)
        costs: Numbers = np.zeros((len(Price._fields) + 1, len(table)), dtype=np.int64)
        costs[_AT["opened"]] = table.numbers[Column.OFFERED]
        costs[_AT["pair_minimum"]] = terms["pair_minimum"]
        wide = np.flatnonzero(terms["beyond_one"])
        if wide.size:
            in_one = self._fits_in_one(table, wide)
            costs[_AT["alignment"], wide] = np.where(in_one, 0, terms["beyond_one"][wide])
        if self._shape.owned_cpus:
            bind, lost = self._by_cores(table, terms)
            if terms["spread"].any():
                spread = terms["spread"] > 0
                bind = np.where(spread, 0, bind)
                lost = np.where(spread, self._by_threads(table, terms), lost)
            costs[_AT["bind"]] = bind
            costs[_AT["usable"]] = WHOLE_CORE_POINTS * lost
        if self._gpus:
            costs[_AT["usable"]] += GPU_POINTS * self._sets_lost(table)
        for column, taken in self._taken:
            if (most := int(largest[column])) > 0:
                left = np.maximum(table.numbers[column] - taken, 0)
                costs[-1] += 1000 * left // most
        return costs

    def _fits_in(self, table: Table, nodes: Indices, limit: int) -> Mask:
        """Return for which nodes so many of their NUMA nodes could hold the pod."""
        if limit == 1:
            return self._fits_in_one(table, nodes, real=True)
        found: Mask = np.ones(len(nodes), dtype=np.bool_)
        real = table.cells[int(CellColumn.REAL), nodes]
        for column, least in self._least_in_cells:
            fullest = np.sort(real * table.cells[column, nodes], axis=1)[:, -limit:]
            found &= fullest.sum(axis=1) >= least
        return found

    def _fits_in_one(self, table: Table, nodes: Indices, *, real: bool = False) -> Mask:
        """Return for which nodes one cell alone, or one that is a NUMA node, could hold the pod."""
        each: Mask = table.cells[int(CellColumn.REAL), nodes] >= int(real)
        for column, least in self._least_in_cells:
            each &= table.cells[column, nodes] >= least
        found: Mask = np.logical_or.reduce(each, axis=1)
        return found

    def _by_cores(self, table: Table, terms: _Means) -> tuple[Numbers, Numbers]:
        """Return the CPUs against FullPCPUs, and the whole cores lost with so few."""
        owned, widest = self._shape.owned_cpus, terms["widest"]
        whole = table.numbers[Column.CPUS_OF_WHOLE_CORES]
        on_broken = table.numbers[Column.OWNABLE_CPUS] - whole
        priced, free = terms["priced"] > 0, terms["free_singles"]
        rest = np.where(terms["even"] > 0, owned % widest, 0)
        singles = np.maximum(np.maximum(owned - whole, rest), free)
        # Where singles cost nothing, as many as there is room for on broken cores.
        singles = np.where(priced, singles, np.clip(on_broken, 0, owned))
        lost = -(-(owned - singles) // widest) + np.maximum(-(-(singles - on_broken) // widest), 0)
        return np.where(priced, singles - free, 0), np.maximum(lost, 0)

    def _by_threads(self, table: Table, terms: _Means) -> Numbers:
        """Return the whole cores lost with as many CPUs on cores of their own as can be."""
        owned = self._shape.owned_cpus
        on_broken = table.numbers[Column.OWNABLE_CPUS] - table.numbers[Column.CPUS_OF_WHOLE_CORES]
        anyhow = -(-(owned - on_broken) // terms["widest"])
        apart = owned - terms["free_singles"] - table.numbers[Column.BROKEN_CORES]
        lost: Numbers = np.maximum(np.maximum(anyhow, apart), 0)
        return lost

    def _sets_lost(self, table: Table) -> Numbers:
        """Return the GPUs in fast sets that are lost, added up over the usual sizes."""
        left = table.numbers[self._gpu_column] - self._gpus + self._shared(table)
        lost: Numbers = np.zeros(len(table), dtype=np.int64)
        for size, sets in zip(USABLE_SET_SIZES, table.numbers[self._sets], strict=True):
            lost += size * np.maximum(sets - left // size, 0)
        return lost

    def _shared(self, table: Table) -> Numbers:
        """Return how many of the GPUs may be ones that are shared already, at most."""
        shares = [need for need in self._shape.shares if need.type == GPU]
        wanted = sum(need.count for need in shares)
        least = min((need.share.percent or 0 for need in shares), default=0)
        fit = table.numbers[Column.MOST_PERCENT_OF_A_SHARED_GPU] >= least
        there = np.minimum(table.numbers[Column.SHARED_GPUS], wanted)
        shared: Numbers = np.where(fit, there, 0)
        return shared

    def _terms_of(self, table: Table, layouts: Sequence[Layout]) -> _Means:
        """Return each term of the shape, for every node."""
        known = self._by_layout.shape[1]
        if known < len(layouts):
            more = [self._mean(layout) for layout in layouts[known:]]
            self._by_layout = np.hstack([self._by_layout, np.array(more, dtype=np.int64).T])
        return dict(zip(_Terms._fields, self._by_layout[:, table.layouts], strict=True))

    def _mean(self, layout: Layout) -> _Terms:
        """Return what the shape means on nodes of the layout."""
        # A layout of an earlier batch may be of a kind that no node is of any more.
        fit = self._fits[layout.kind] if layout.kind < len(self._fits) else None
        if fit is None:
            return _Terms()
        threads = [facts.threads for facts in layout.classes]
        spread = fit.bind is BindPolicy.SPREAD_BY_PCPUS
        best_effort = fit.alignment is AlignmentPolicy.BEST_EFFORT
        efficient = any(facts.efficient for facts in layout.classes)
        return _Terms(
            possible=True,
            cell_limit=fit.cell_limit or 0,
            beyond_one=max(0, 2 - fit.fewest_cells) if best_effort else 0,
            spread=spread,
            priced=fit.bind_required or fit.bind_asked or not efficient,
            free_singles=0 if fit.bind_required else fit.bind_remainder,
            widest=max(threads, default=1),
            even=len(set(threads)) < 2,
            pair_minimum=self._pair_minimum(layout),
        )

    def _pair_minimum(self, layout: Layout) -> int:
        if self._gpus < 2 or self._shape.shares:
            return 0
        best = (
            best_permitted_minimum(bank.board, self._gpus, self._shape.scope_of(GPU))
            for bank in layout.banks
            if bank.type == GPU
        )
        return self._shape.best_pair_minimum - max((b for b in best if b is not None), default=0)


def _foreseen(columns: Columns, shape: Shape) -> list[int]:
    """Return the columns of what is spare in which it is known what the pod takes at most.

    With a strategy it may have more devices than it counts; MIG instances may overlap.
    """
    unforeseen = {columns.column_of(need.type) for need in shape.shares if need.strategy}
    if unforeseen:
        unforeseen.add(columns.percent)
    if any(kind in columns.cut_types for kind, _ in shape.devices):
        unforeseen |= {columns.column_of(kind) for kind in columns.cut_types}
    return [column for column in columns.spare if column not in unforeseen]


def _asked(least: Numbers) -> list[tuple[int, int]]:
    """Return (column, least) where anything is asked for."""
    return [(int(column), int(least[column])) for column in np.flatnonzero(least)]
