"""Prices of items under which no new bin holds more than 1: a bound on new bins.

They are the dual of the linear program that fills bins by patterns; patterns are found
when they are needed. The prices are computed in floating point and then turned into whole
numbers, for which the bound holds exactly: by the simplex method for small dense programs that are
feasible at zero.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from placer.packing.bins import Counts, PackingBin, PackingProblem
from placer.packing.knapsack import most_valuable_item_counts
from placer.packing.step_limit import PackingStepBudget

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


_SCALE = 10**9


@dataclass(frozen=True, slots=True)
class PackingItemPrices:
    """Whole-number prices.

    Attributes:
        of_item: The price of an item of each type.
        fresh: The most that the items in a fresh bin can be worth.
        bins: The same for each bin that is there.

    """

    of_item: tuple[int, ...]
    fresh: int
    bins: tuple[int, ...]

    def worth(self, counts: Sequence[int]) -> int:
        """Return what the items are worth, given how many there are of each type."""
        return sum(price * count for price, count in zip(self.of_item, counts, strict=True))

    def bound(self, counts: Sequence[int]) -> int:
        """Return how many fresh bins the items need at least."""
        over = self.worth(counts) - sum(self.bins)
        return max(0, -(-over // self.fresh)) if self.fresh else 0


@dataclass(frozen=True, slots=True)
class BinPatternUse:
    """How often a pattern is used, in fractions: a part of the linear program's answer.

    Attributes:
        bin: Number of a bin that is there, or None for a fresh one.

    """

    bin: int | None
    pattern: Counts
    times: float


class PackingLinearProgram:
    """The linear program of a packing; it remembers the patterns that it has seen."""

    def __init__(self, packing: PackingProblem, limit: PackingStepBudget) -> None:
        self._packing = packing
        self._limit = limit
        self._known: dict[tuple[int | None, Counts], None] = {}

    def best(
        self, counts: Counts, bins: Sequence[int]
    ) -> tuple[PackingItemPrices, list[BinPatternUse]]:
        """Return the prices with the best bound for the items, and the patterns behind it.

        Args:
            counts: How many items there are of each type.
            bins: The bins that are there and still empty, by number.

        Raises:
            PackingStepLimitError: The steps are spent before the end.

        """
        while True:
            rows = [key for key in self._known if key[0] is None or key[0] in bins]
            optimum = self._solve(counts, bins, rows)
            of_item = tuple(
                int(max(0.0, value) * _SCALE) for value in optimum.values[: len(counts)]
            )
            fullest: dict[int | None, Counts] = {
                bin: most_valuable_item_counts(self._bin(bin), counts, of_item, self._limit)
                for bin in (None, *bins)
            }
            new = dict.fromkeys(fullest.items())
            if new.keys() <= self._known.keys():
                break
            self._known |= new
        bare = PackingItemPrices(of_item, 0, ())
        prices = PackingItemPrices(
            of_item, bare.worth(fullest[None]), tuple(bare.worth(fullest[i]) for i in bins)
        )
        patterns = [*((None, _alone(i, len(counts))) for i in range(len(counts))), *rows]
        uses = zip(patterns, optimum.duals, strict=True)
        return prices, [
            BinPatternUse(bin, pattern, times) for (bin, pattern), times in uses if times > 0
        ]

    def _bin(self, number: int | None) -> PackingBin:
        return self._packing.fresh if number is None else self._packing.bins[number]

    def _solve(
        self, counts: Counts, bins: Sequence[int], rows: Sequence[tuple[int | None, Counts]]
    ) -> LinearOptimum:
        """Return the linear program's prices, before they are turned into whole numbers."""
        fresh, types = self._packing.fresh, len(counts)
        # An item that fits a fresh bin alone is worth 1 at most; one that does not, nothing.
        alone = [[*map(float, _alone(i, types)), *[0.0] * len(bins)] for i in range(types)]
        limits = [float(fresh.fits(fresh.room, item)) for item in range(types)]
        filled = [
            [*map(float, pattern), *(-float(bin == i) for i in bins)] for bin, pattern in rows
        ]
        return simplex_maximum(
            [*map(float, counts), *[-1.0] * len(bins)],
            [*alone, *filled],
            [*limits, *(float(bin is None) for bin, _ in rows)],
        )


def _alone(item: int, types: int) -> Counts:
    """Return the pattern of one item."""
    return tuple(int(item == other) for other in range(types))
