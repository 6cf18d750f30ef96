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


class Outlook:
    """Lower bounds of what places for pods of one shape cost."""

    def __init__(self, columns: Columns, shape: Shape, fits: Sequence[Fit | None]) -> None:
        """Note what the shape asks for; what it means is looked up layout by layout."""
        self._shape = shape
        self._fits = fits
        only_whole = all(
            fit.bind_required and fit.bind is BindPolicy.FULL_PCPUS for fit in fits if fit
        )
        self._least = columns.least(shape, only_whole_cores=only_whole)
        self._least_in_cells = columns.least_in_cells(shape, only_whole_cores=only_whole)
        self._spare = _foreseen(columns, shape)
        self._taken = columns.most(shape)[self._spare]
        self._gpus = shape.count_of(GPU)
        self._gpu_column = columns.column_of(GPU) if self._gpus else -1
        self._sets = columns.sets
        self._terms: list[_Terms] = []
        self._columns: dict[str, Numbers] = {}

    def hosts(self, table: Table, layouts: Sequence[Layout], nodes: Indices) -> Mask:
        """Return which of the nodes could, by their sums, host a pod."""
        limits = self._of(table, layouts, nodes, "cell_limit")
        found = self._of(table, layouts, nodes, "possible") > 0
        found &= _all(table.numbers[nodes] >= self._least)
        for limit in sorted(set(limits[found].tolist())):
            if 0 < limit < table.cells.shape[1]:
                asked = np.flatnonzero(found & (limits == limit))
                found[asked] = self._fits_in(table.cells[nodes[asked]], limit)
        return found

    def costs(
        self, table: Table, layouts: Sequence[Layout], nodes: Indices, largest: Numbers
    ) -> Numbers:
        """Return costs[position in a bid's price, or after it its spare; node].

        A place on a node, if there is one, costs as much or more, compared as a tuple.
        """
        rows = table.numbers[nodes]
        costs: Numbers = np.zeros((len(Price._fields) + 1, len(nodes)), dtype=np.int64)
        costs[_AT["opened"]] = rows[:, Column.OFFERED]
        costs[_AT["pair_minimum"]] = self._of(table, layouts, nodes, "pair_minimum")
        beyond = self._of(table, layouts, nodes, "beyond_one")
        wide = np.flatnonzero(beyond)
        if wide.size:
            narrow = self._fits_in_one(table.cells[nodes[wide]])
            costs[_AT["alignment"], wide] = np.where(narrow, 0, beyond[wide])
        if self._shape.owned_cpus:
            spread = self._of(table, layouts, nodes, "spread") > 0
            bind, lost = self._by_cores(table, layouts, nodes)
            costs[_AT["bind"]] = np.where(spread, 0, bind)
            costs[_AT["usable"]] = WHOLE_CORE_POINTS * np.where(
                spread, self._by_threads(table, layouts, nodes), lost
            )
        if self._gpus:
            costs[_AT["usable"]] += GPU_POINTS * self._sets_lost(rows)
        most = largest[self._spare]
        left = np.maximum(rows[:, self._spare] - self._taken, 0)
        costs[-1] = (1000 * left[:, most > 0] // most[most > 0]).sum(axis=1)
        return costs

    def _fits_in(self, cells: Numbers, limit: int) -> Mask:
        """Return for which nodes so many of their NUMA nodes could hold the pod."""
        cells = cells * cells[:, :, CellColumn.REAL, np.newaxis]
        if limit == 1:
            return self._fits_in_one(cells)
        fullest = np.sort(cells, axis=1)[:, -limit:].sum(axis=1)
        return _all(fullest >= self._least_in_cells)

    def _fits_in_one(self, cells: Numbers) -> Mask:
        """Return for which nodes one cell alone could hold the pod."""
        return _any(_all(cells >= self._least_in_cells))

    def _by_cores(
        self, table: Table, layouts: Sequence[Layout], nodes: Indices
    ) -> tuple[Numbers, Numbers]:
        """Return the CPUs against FullPCPUs, and the whole cores lost with so few."""
        owned = self._shape.owned_cpus
        rows = table.numbers[nodes]
        whole = rows[:, Column.CPUS_OF_WHOLE_CORES]
        on_broken = rows[:, Column.OWNABLE_CPUS] - whole
        widest = self._of(table, layouts, nodes, "widest")
        even = self._of(table, layouts, nodes, "even") > 0
        priced = self._of(table, layouts, nodes, "priced") > 0
        free = self._of(table, layouts, nodes, "free_singles")
        singles = np.maximum(np.maximum(owned - whole, np.where(even, owned % widest, 0)), free)
        # Where singles cost nothing, as many as there is room for on broken cores.
        singles = np.where(priced, singles, np.clip(on_broken, 0, owned))
        lost = -(-(owned - singles) // widest) + np.maximum(-(-(singles - on_broken) // widest), 0)
        return np.where(priced, singles - free, 0), np.maximum(lost, 0)

    def _by_threads(self, table: Table, layouts: Sequence[Layout], nodes: Indices) -> Numbers:
        """Return the whole cores lost with as many CPUs on cores of their own as can be."""
        owned = self._shape.owned_cpus
        rows = table.numbers[nodes]
        on_broken = rows[:, Column.OWNABLE_CPUS] - rows[:, Column.CPUS_OF_WHOLE_CORES]
        widest = self._of(table, layouts, nodes, "widest")
        free = self._of(table, layouts, nodes, "free_singles")
        anyhow = -(-(owned - on_broken) // widest)
        apart = owned - free - rows[:, Column.BROKEN_CORES]
        lost: Numbers = np.maximum(np.maximum(anyhow, apart), 0)
        return lost

    def _sets_lost(self, rows: Numbers) -> Numbers:
        """Return the GPUs in fast sets that are lost, added up over the usual sizes."""
        left = rows[:, self._gpu_column] - self._gpus + self._shared(rows)
        lost: Numbers = np.zeros(len(rows), dtype=np.int64)
        for size, sets in zip(USABLE_SET_SIZES, rows[:, self._sets].T, strict=True):
            lost += size * np.maximum(sets - left // size, 0)
        return lost

    def _shared(self, rows: Numbers) -> Numbers:
        """Return how many of the GPUs may be ones that are shared already, at most."""
        shares = [need for need in self._shape.shares if need.type == GPU]
        wanted = sum(need.count for need in shares)
        least = min((need.share.percent or 0 for need in shares), default=0)
        fit = rows[:, Column.MOST_PERCENT_OF_A_SHARED_GPU] >= least
        shared: Numbers = np.where(fit, np.minimum(rows[:, Column.SHARED_GPUS], wanted), 0)
        return shared

    def _of(self, table: Table, layouts: Sequence[Layout], nodes: Indices, term: str) -> Numbers:
        """Return a term of the shape for each of the nodes."""
        if len(self._terms) < len(layouts) or not self._columns:
            self._terms += [self._mean(layout) for layout in layouts[len(self._terms) :]]
            columns = np.array(self._terms, dtype=np.int64).reshape(len(layouts), -1)
            self._columns = dict(zip(_Terms._fields, columns.T, strict=True))
        values: Numbers = self._columns[term][table.layouts[nodes]]
        return values

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


def _all(mask: Mask) -> Mask:
    """Return whether all are true along the last axis."""
    found: Mask = np.logical_and.reduce(mask, axis=-1)
    return found


def _any(mask: Mask) -> Mask:
    """Return whether any is true along the last axis."""
    found: Mask = np.logical_or.reduce(mask, axis=-1)
    return found
