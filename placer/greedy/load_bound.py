"""Load bounds: the least that a pod costs by a strategy that looks at the pods on a node.

The costs are those of `placer_models.node_strategy.pod_cost_by_node_strategy`, for all nodes at
once. There they are whole numbers from exact fractions; here floating-point numbers are rounded to
the safe side, so that a bound is at most one below for a single pod, and the cost itself nearly
always.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from placer.greedy.columns import LOAD_WEIGHT, NodeColumnLayout, NodeColumnName, Numbers
from placer.greedy.node_rows import NodeRows
from placer_models.node_strategy import MILLION, NodeStrategy
from placer_models.problem.node_state import NodeState
from placer_models.problem.problem import Fit

_Reals = NDArray[np.float64]

_SURE = 1e-6
"""By how much a sum of shares in millionths may be off; relative to numbers beyond a million."""


class NodeStrategyCostBound:
    """What a strategy counts for pods of one shape, on every node."""

    def __init__(self, columns: NodeColumnLayout, fits: Sequence[Fit | None], count: int) -> None:
        """Note what the pods ask for.

        Args:
            columns: The columns of the rows, with those of loads.
            fits: What the shape means on each kind of node.
            count: How many pods of the shape come together.

        """
        self._columns = columns
        self._fits = fits
        self._count = count
        # By layout: the weight of each class in the mean, what the pod adds to the shares there,
        # and what it adds to a share of each class.
        self._weights: _Reals = np.zeros((columns.classes, 0))
        self._adds: _Reals = np.zeros((columns.classes, 0))
        self._own: _Reals = np.zeros((columns.classes, 0))

    def costs(self, rows: NodeRows, layouts: Sequence[NodeState]) -> Numbers:
        """Return what the pods cost at least on the nodes of the rows, beside first weights.

        Args:
            rows: What the nodes have left.
            layouts: A state of each layout, by number.

        """
        if self._weights.shape[1] < len(layouts):
            self._learn(layouts)
        weights, own = self._weights[:, rows.layouts], self._own[:, rows.layouts]
        used, new, present = (rows.numbers[part] for part in self._columns.loads)
        alone = _sum(weights * used + own)
        found: Numbers = np.zeros(len(rows), dtype=np.int64)
        match self._columns.strategy:
            case NodeStrategy.PACK:
                found = np.maximum(0, MILLION - _above(alone))
            case NodeStrategy.SPREAD:
                found = _below(alone)
            case NodeStrategy.LEAST_REQUESTED:
                adds = self._adds[:, rows.layouts]
                beside = _below(_sum(weights * new + adds * (present / LOAD_WEIGHT)))
                # Each share of a pod beside another is rounded down by itself.
                beside -= 2 * rows.numbers[NodeColumnName.NEWCOMERS]
                found = _below(alone) + np.maximum(0, beside)
            case NodeStrategy.MOST_BALANCED if self._count == 1:
                found = self._variance(weights * (used + new) + own, weights)
        return self._count * found

    def _variance(self, parts: _Reals, weights: _Reals) -> Numbers:
        """Return the variance of shares, each given divided by how many there are."""
        classes = np.maximum(1, np.count_nonzero(weights, axis=0))
        shares = parts * classes / MILLION
        squares = _sum(shares * shares)
        variance = squares / classes - (_sum(shares) / classes) ** 2
        scale = np.maximum(1.0, squares)
        found: Numbers = np.floor(MILLION * variance - _SURE * scale).astype(np.int64)
        least: Numbers = np.maximum(0, found)
        return least

    def _learn(self, layouts: Sequence[NodeState]) -> None:
        """Work out what the shape adds on nodes of each layout."""
        known = self._weights.shape[1]
        more = [self._mean(layout) for layout in layouts[known:]]
        stacked = np.array(more, dtype=np.float64).transpose(1, 2, 0)
        self._weights = np.hstack([self._weights, stacked[0]])
        self._adds = np.hstack([self._adds, stacked[1]])
        self._own = np.hstack([self._own, stacked[2]])

    def _mean(self, layout: NodeState) -> tuple[list[float], list[float], list[float]]:
        nothing = [0.0] * self._columns.classes
        # A layout of an earlier batch may be of a kind that is another one now, or none.
        fit = self._fits[layout.kind] if layout.kind < len(self._fits) else None
        if fit is None or fit.ask is None or layout.load is None:
            return nothing, nothing, nothing
        ask, total = fit.ask, layout.load.total
        if not all(total[at] for at in ask.classes):
            return nothing, nothing, nothing
        weights, adds = list(nothing), list(nothing)
        for at, has in enumerate(total):
            adds[at] = MILLION * ask.amounts[at] / has if has else 0.0
        for at in ask.classes:
            weights[at] = MILLION / (len(ask.classes) * total[at])
        return weights, adds, [w * a for w, a in zip(weights, ask.amounts, strict=True)]


def _sum(parts: _Reals) -> _Reals:
    found: _Reals = np.add.reduce(parts, axis=0)
    return found


def _below(numbers: _Reals) -> Numbers:
    """Return whole numbers that are no greater than the true ones, rounded down."""
    found: Numbers = np.floor(numbers - _SURE - 1e-12 * np.abs(numbers)).astype(np.int64)
    least: Numbers = np.maximum(0, found)
    return least


def _above(numbers: _Reals) -> Numbers:
    """Return whole numbers that are no less than the true ones, rounded down."""
    found: Numbers = np.floor(numbers + _SURE + 1e-12 * np.abs(numbers)).astype(np.int64)
    return found
