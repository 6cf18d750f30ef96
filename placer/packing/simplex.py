"""The simplex method in floating point, for small dense programs that are feasible at zero."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

NEARLY = 1e-7
_MAX_PIVOTS = 5_000
_PATIENCE = 500
"""Pivots by the steepest cost before Bland's rule takes over, which never goes in circles."""


@dataclass(frozen=True, slots=True)
class LinearOptimum:
    """The point where the goal is largest.

    Attributes:
        values: The values of the variables.
        duals: For each row, what it would be worth to raise its limit by 1.

    """

    values: tuple[float, ...]
    duals: tuple[float, ...]


def simplex_maximum(
    goal: Sequence[float], rows: Sequence[Sequence[float]], limits: Sequence[float]
) -> LinearOptimum:
    """Maximise ``goal`` * x over x >= 0 and ``rows`` * x <= ``limits``, which are >= 0.

    After `_MAX_PIVOTS` pivots it stops, at a point that is still feasible.
    """
    width, height = len(goal), len(rows)
    table = np.zeros((height + 1, width + height + 1))
    table[:height, :width] = rows
    table[:height, width:-1] = np.eye(height)
    table[:height, -1] = limits
    table[height, :width] = [-value for value in goal]
    basis = list(range(width, width + height))
    for pivots in range(_MAX_PIVOTS):
        costs = table[height, :-1]
        negative = np.flatnonzero(costs < -NEARLY)
        if not negative.size:
            break
        column = int(negative[0] if pivots >= _PATIENCE else costs.argmin())
        candidates = np.flatnonzero(table[:height, column] > NEARLY)
        if not candidates.size:
            break
        ratios = table[candidates, -1] / table[candidates, column]
        tied = candidates[ratios <= ratios.min() + NEARLY**2]
        pivot = int(min(tied, key=lambda row: basis[row]))
        basis[pivot] = column
        table[pivot] /= table[pivot, column]
        factors = table[:, column].copy()
        factors[pivot] = 0
        table -= np.outer(factors, table[pivot])
    values = np.zeros(width + height)
    values[basis] = table[:height, -1]
    return LinearOptimum(tuple(values[:width].tolist()), tuple(table[height, width:-1].tolist()))
