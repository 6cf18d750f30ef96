"""Prices of things under which no new bin holds more than 1: a bound on new bins.

They are the dual of the linear program that fills bins by patterns. They are found in
floating point and then made whole numbers, for which the bound holds exactly.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from placer.slots.workers.packing import Counts

_SCALE = 10**9
_NEARLY = 1e-7
_MAX_PIVOTS = 2_000


@dataclass(frozen=True, slots=True)
class Prices:
    """Whole-number prices.

    Attributes:
        of_thing: For each type.
        fresh: The most that a fresh bin holds.
        bins: The most that each bin holds that is there.

    """

    of_thing: tuple[int, ...]
    fresh: int
    bins: tuple[int, ...]

    def worth(self, counts: Sequence[int]) -> int:
        """Return what so many things of each type are worth."""
        return sum(price * count for price, count in zip(self.of_thing, counts, strict=True))

    def bound(self, counts: Sequence[int]) -> int:
        """Return how many fresh bins the things need at least."""
        over = self.worth(counts) - sum(self.bins)
        return max(0, -(-over // self.fresh)) if self.fresh else 0


def best_prices(
    counts: Counts, fresh: Sequence[Counts], bins: Sequence[Sequence[Counts]]
) -> Prices:
    """Return the prices that give the best bound.

    Args:
        counts: Things of each type.
        fresh: The patterns of a fresh bin; a type in none of them has the price 0.
        bins: The patterns of each bin that is there.

    """
    types, there = len(counts), len(bins)
    goal = [*map(float, counts), *[-1.0] * there]
    # A thing that fits a fresh bin alone is worth 1 at most; one that does not, nothing.
    rows = [[float(i == j) for j in range(types + there)] for i in range(types)]
    limits = [float(any(pattern[i] for pattern in fresh)) for i in range(types)]
    while True:
        values = _maximise(goal, rows, limits)
        known = len(rows)
        dearest = _dearest(fresh, values)
        if dearest is not None and _worth(dearest, values) > 1 + _NEARLY:
            rows.append([*map(float, dearest), *[0.0] * there])
            limits.append(1.0)
        for number, patterns in enumerate(bins):
            dearest = _dearest(patterns, values)
            if dearest is not None and _worth(dearest, values) > values[types + number] + _NEARLY:
                rows.append([*map(float, dearest), *(-float(number == j) for j in range(there))])
                limits.append(0.0)
        if len(rows) == known:
            break
    prices = [int(value * _SCALE) for value in values[:types]]
    whole = Prices(tuple(prices), 0, ())
    return Prices(
        whole.of_thing,
        max(map(whole.worth, fresh), default=0),
        tuple(max(map(whole.worth, patterns), default=0) for patterns in bins),
    )


def _dearest(patterns: Sequence[Counts], values: Sequence[float]) -> Counts | None:
    return max(patterns, key=lambda pattern: _worth(pattern, values), default=None)


def _worth(pattern: Counts, values: Sequence[float]) -> float:
    return sum(a * b for a, b in zip(pattern, values, strict=False))


def _maximise(
    goal: Sequence[float], rows: Sequence[Sequence[float]], limits: Sequence[float]
) -> list[float]:
    """Maximise ``goal`` · x over x ≥ 0 and ``rows`` · x ≤ ``limits``, all of which are ≥ 0.

    The simplex method on a full tableau; Bland's rule keeps it from going in circles. It
    stops after a number of pivots at a point that is feasible all the same.
    """
    width, height = len(goal), len(rows)
    tableau = [
        [*row, *(float(i == j) for j in range(height)), limit]
        for i, (row, limit) in enumerate(zip(rows, limits, strict=True))
    ]
    tableau.append([*(-value for value in goal), *[0.0] * (height + 1)])
    basis = list(range(width, width + height))
    for _ in range(_MAX_PIVOTS):
        costs = tableau[-1]
        column = next((j for j in range(width + height) if costs[j] < -_NEARLY), None)
        if column is None:
            break
        ratios = [
            (row[-1] / row[column], basis[i], i)
            for i, row in enumerate(tableau[:-1])
            if row[column] > _NEARLY
        ]
        if not ratios:
            break
        pivot = min(ratios)[2]
        basis[pivot] = column
        divisor = tableau[pivot][column]
        lead = tableau[pivot] = [value / divisor for value in tableau[pivot]]
        for i, row in enumerate(tableau):
            factor = row[column]
            if i != pivot and factor:
                tableau[i] = [a - factor * b for a, b in zip(row, lead, strict=True)]
    values = [0.0] * (width + height)
    for i, column in enumerate(basis):
        values[column] = tableau[i][-1]
    return values[:width]
