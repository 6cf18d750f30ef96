"""Shape bounds: what a shape means on nodes, as numbers for all nodes at once."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from placer.greedy.columns import CellColumnName, Indices, Mask, NodeColumnLayout, Numbers
from placer.greedy.node_rows import NodeRows
from placer_models.device import GPU
from placer_models.goals import ALIGNMENT, LOCALITY_NUMA_NODES, Tier
from placer_models.links.permitted import best_permitted_pair_minimum
from placer_models.policy import AlignmentPolicy, BindPolicy
from placer_models.problem.node_state import NodeState
from placer_models.problem.problem import Fit, Shape

Wanted = tuple[Shape, tuple[Fit | None, ...]]
"""A shape, and what it means on each kind of node."""


class _Terms(NamedTuple):
    """What a shape means on nodes of a layout, in numbers only.

    Attributes:
        possible: Whether it may run there at all.
        cell_limit: As in ``Fit``; 0 for none.
        beyond_one: Cells beyond the fewest that BestEffort counts if one cell is not enough.
        close_beyond_one: The same for default locality, where no policy asks.
        spread: Whether each single thread is to be on a core of its own.
        priced: Whether single threads beyond ``free_singles`` cost something.
        free_singles: Single threads that cost nothing, as every place has them.
        waived_singles: More of them that cost nothing.
        spread_lost: The fewest CPUs that whole cores put against a wish to spread.
        widest: Threads of the widest core.
        even: Whether all cores are that wide.
        pair_minimum: The price of the best set of GPUs on the empty node.
        weight_missed: As in ``Fit``.

    """

    possible: bool = False
    cell_limit: int = 0
    beyond_one: int = 0
    close_beyond_one: int = 0
    spread: bool = False
    priced: bool = False
    free_singles: int = 0
    waived_singles: int = 0
    spread_lost: int = 0
    widest: int = 1
    even: bool = False
    pair_minimum: int = 0
    weight_missed: int = 0


TermColumns = dict[str, Numbers]
"""Name of a term -> its value for every node."""


class ShapeFitColumns:
    """What one shape means on every node.

    Attributes:
        shape: What pods ask for.
        only_whole_cores: Whether its pods own nothing but whole cores, wherever they run.
        linked: Whether its GPUs may be closer to each other on some nodes than on others.
        minds_nodes: Whether it misses something that it would like of its node on some nodes.
        wishes_for_few_cells: (tier, its term) for each wish to use few cells.

    """

    def __init__(self, columns: NodeColumnLayout, wanted: Wanted) -> None:
        """Note what the shape asks for; what it means is looked up layout by layout."""
        self.shape, self._fits = wanted
        self.only_whole_cores = all(
            fit.bind_required and fit.bind is BindPolicy.FULL_PCPUS for fit in self._fits if fit
        )
        self.linked = self.shape.count_of(GPU) > 1 and not self.shape.shares
        fits = [fit for fit in self._fits if fit]
        self.minds_nodes = any(fit.weight_missed for fit in fits)
        self.wishes_for_few_cells: list[tuple[Tier, str]] = []
        if any(fit.alignment is AlignmentPolicy.BEST_EFFORT for fit in fits):
            self.wishes_for_few_cells.append((ALIGNMENT, "beyond_one"))
        if any(fit.locality is not None for fit in fits):
            self.wishes_for_few_cells.append((LOCALITY_NUMA_NODES, "close_beyond_one"))
        least = columns.least_in_cells(self.shape, only_whole_cores=self.only_whole_cores)
        self._least = [(int(column), int(least[column])) for column in np.flatnonzero(least)]
        pools = (CellColumnName.SHARED_MILLI, CellColumnName.BEST_EFFORT_MILLI)
        self._floating = [each for each in self._least if each[0] not in pools]
        self._by_layout: Numbers = np.zeros((len(_Terms._fields), 0), dtype=np.int64)

    def terms(self, rows: NodeRows, layouts: Sequence[NodeState]) -> TermColumns:
        """Return what the shape means on each node of the rows."""
        known = self._by_layout.shape[1]
        if known < len(layouts):
            more = [self._mean(layout) for layout in layouts[known:]]
            self._by_layout = np.hstack([self._by_layout, np.array(more, dtype=np.int64).T])
        return dict(zip(_Terms._fields, self._by_layout[:, rows.layouts], strict=True))

    def keep_limits(self, rows: NodeRows, terms: TermColumns, found: Mask) -> None:
        """Strike out nodes where the cells that a pod may use do not hold it."""
        limits = terms["cell_limit"]
        for limit in sorted(set(limits[found].tolist())):
            if 0 < limit < rows.cells.shape[2]:
                (asked,) = (found & (limits == limit)).nonzero()
                found[asked] = self._fits_in(rows, asked, limit)

    def cells_beyond(self, rows: NodeRows, beyond_one: Numbers) -> Numbers:
        """Return how many cells beyond the fewest a pod has to use, at least."""
        beyond = beyond_one.copy()
        (asked,) = beyond.nonzero()
        if asked.size:
            beyond[asked[self._fits_in_one(rows, asked)]] = 0
        return beyond

    def _fits_in(self, rows: NodeRows, nodes: Indices, limit: int) -> Mask:
        """Return for which nodes ``limit`` of their NUMA nodes could hold a pod."""
        if limit == 1:
            return self._fits_in_one(rows, nodes, real=True)
        found: Mask = np.ones(len(nodes), dtype=np.bool_)
        real = rows.cells[int(CellColumnName.REAL), nodes]
        for column, least in self._least:
            fullest = np.sort(real * rows.cells[column, nodes], axis=1)[:, -limit:]
            found &= fullest.sum(axis=1) >= least
        return found

    def _fits_in_one(self, rows: NodeRows, nodes: Indices, *, real: bool = False) -> Mask:
        """Return for which nodes one cell, or one NUMA node if ``real``, could hold a pod."""
        each: Mask = rows.cells[int(CellColumnName.REAL), nodes] >= int(real)
        for column, least in self._least if real else self._floating:
            each &= rows.cells[column, nodes] >= least
        found: Mask = np.logical_or.reduce(each, axis=1)
        return found

    def _mean(self, layout: NodeState) -> _Terms:
        """Return what the shape means on nodes of the layout."""
        # A layout of an earlier batch may be of a kind that no node is of any more.
        fit = self._fits[layout.kind] if layout.kind < len(self._fits) else None
        if fit is None:
            return _Terms()
        threads = [c.threads for c in layout.cores]
        best_effort = fit.alignment is AlignmentPolicy.BEST_EFFORT
        close = fit.locality.cells if fit.locality else None
        spread = fit.bind is BindPolicy.SPREAD_BY_PCPUS
        efficient = any(c.efficient for c in layout.cores)
        return _Terms(
            possible=True,
            cell_limit=fit.cell_limit or 0,
            beyond_one=max(0, 2 - fit.fewest_cells) if best_effort else 0,
            close_beyond_one=0 if close is None else max(0, 2 - close),
            spread=spread,
            priced=not spread and (fit.bind_required or fit.bind_asked or not efficient),
            free_singles=0 if fit.bind_required else fit.bind_remainder,
            waived_singles=fit.bind_waived,
            spread_lost=self._spread_lost(fit, min(threads, default=1)),
            widest=max(threads, default=1),
            even=len(set(threads)) < 2,
            pair_minimum=self._pair_minimum(layout),
            weight_missed=fit.weight_missed,
        )

    def _spread_lost(self, fit: Fit, narrowest: int) -> int:
        owned = self.shape.owned_cpus
        lost = owned - owned // narrowest - fit.bind_remainder
        return max(0, lost) if fit.spread_wished else 0

    def _pair_minimum(self, layout: NodeState) -> int:
        gpus = self.shape.count_of(GPU)
        if gpus < 2 or self.shape.shares:
            return 0
        best = (
            best_permitted_pair_minimum(bank.board, gpus, self.shape.scope_of(GPU))
            for bank in layout.banks
            if bank.type == GPU
        )
        return self.shape.best_pair_minimum - max((b for b in best if b is not None), default=0)
