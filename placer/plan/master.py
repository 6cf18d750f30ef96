"""The master problem: the linear program that buys bins and fills them by known patterns.

It is in floating point, and only proposes: values of items for the proof, bins for the plan.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from placer.linear import LinearProgram
from placer.plan.aggregate import SHORT
from placer.plan.arrays import FloatArray, IntArray
from placer.plan.market import BinKind, PurchaseProblem


@dataclass(frozen=True, slots=True)
class BinPattern:
    """A way to fill a bin of a kind in a scenario.

    Attributes:
        counts: How many items of each kind are in it.

    """

    block: int
    kind: int
    counts: IntArray

    @property
    def key(self) -> tuple[int, int, bytes]:
        """What tells patterns apart."""
        return self.block, self.kind, self.counts.tobytes()


@dataclass(frozen=True, slots=True)
class PurchaseMasterSolution:
    """The answer of the linear program.

    Attributes:
        price: What is paid, for items without a place as well.
        values: Block by item: what one more item would cost.
        rents: Block by kind: what one more bin would save.
        times: How often each pattern is used.
        bins: How many bins of each kind are used.
        short: Block by item: items that have no place.

    """

    price: float
    values: FloatArray
    rents: FloatArray
    times: FloatArray
    bins: FloatArray
    short: FloatArray


class PurchaseMasterProblem:
    """The linear program; patterns and exchanges are added to it.

    Attributes:
        patterns: All patterns, in the order in which they came.

    """

    def __init__(self, market: PurchaseProblem) -> None:
        """Begin without patterns: no item has a place, at a high price."""
        self.market = market
        self.patterns: list[BinPattern] = []
        self._known: set[tuple[int, int, bytes]] = set()
        self._program = program = LinearProgram()
        dearest = float(max(kind.price for kind in market.kinds) or 1)
        self._bins = [program.variable(float(kind.price), _most(kind)) for kind in market.kinds]
        self._demand: list[list[int]] = []
        self._supply: list[list[int]] = []
        self._short: list[list[int]] = []
        for counts in market.blocks:
            self._demand.append([program.row(least=float(count)) for count in counts])
            self._short.append([program.variable(SHORT * dearest) for _ in counts])
            for row, lack in zip(self._demand[-1], self._short[-1], strict=True):
                program.put(row, lack, 1.0)
            self._supply.append([program.row(most=0.0) for _ in self._bins])
            for row, bins in zip(self._supply[-1], self._bins, strict=True):
                program.put(row, bins, -1.0)
        self._times: list[int] = []
        self._exchanges: list[int] = []

    def add(self, pattern: BinPattern) -> bool:
        """Add a pattern; return whether it is new."""
        if pattern.key in self._known:
            return False
        self._known.add(pattern.key)
        times = self._program.variable()
        self._program.put(self._supply[pattern.block][pattern.kind], times, 1.0)
        rows = self._demand[pattern.block]
        for item in pattern.counts.nonzero()[0].tolist():
            self._program.put(rows[item], times, float(pattern.counts[item]))
        self._times.append(times)
        self.patterns.append(pattern)
        return True

    def exchange(self, larger: int, smaller: int) -> None:
        """Let room for one item be room for another one, as long as exchanges are allowed."""
        for rows in self._demand:
            times = self._program.variable()
            self._program.put(rows[larger], times, -1.0)
            self._program.put(rows[smaller], times, 1.0)
            self._exchanges.append(times)

    def end_exchanges(self) -> None:
        """Allow no more exchanges: bins are filled by patterns alone."""
        for times in self._exchanges:
            self._program.set_most(times, 0.0)

    def without(self, kind: int) -> PurchaseMasterSolution:
        """Return the cheapest way that buys no bins of a kind."""
        self._program.set_most(self._bins[kind], 0.0)
        solution = self.solve()
        self._program.set_most(self._bins[kind], _most(self.market.kinds[kind]))
        return solution

    def with_bins(self, bins: Sequence[int]) -> PurchaseMasterSolution:
        """Return the cheapest way with so many bins of each kind at most."""
        for variable, most in zip(self._bins, bins, strict=True):
            self._program.set_most(variable, float(most))
        solution = self.solve()
        for variable, kind in zip(self._bins, self.market.kinds, strict=True):
            self._program.set_most(variable, _most(kind))
        return solution

    def solve(self) -> PurchaseMasterSolution:
        """Return the cheapest way to buy and fill bins in fractions."""
        price = self._program.solve()
        value, dual = self._program.value, self._program.dual
        return PurchaseMasterSolution(
            price,
            _array([[dual(row) for row in rows] for rows in self._demand]).clip(0.0),
            (-_array([[dual(row) for row in rows] for rows in self._supply])).clip(0.0),
            _array([value(times) for times in self._times]),
            _array([value(bins) for bins in self._bins]),
            _array([[value(lack) for lack in lacks] for lacks in self._short]),
        )


def _most(kind: BinKind) -> float | None:
    return None if kind.buyable is None else float(kind.buyable)


def _array(values: Sequence[float] | Sequence[Sequence[float]]) -> FloatArray:
    return np.array(values, np.float64)


def item_room_dominance(market: PurchaseProblem) -> NDArray[np.bool_]:
    """Return item by item: whether room for the first is room for the second in every bin."""
    items = market.items
    over = np.ones((items, items), np.bool_)
    if not items:
        return over
    for kind in market.kinds:
        here = np.array([size is not None for size in kind.sizes])
        sizes = np.array([size or kind.room for size in kind.sizes], np.int64)
        sizes = sizes.reshape(items, len(kind.room))
        smaller = (sizes[:, None] >= sizes[None]).all(axis=2)
        for devices in kind.devices:
            classes = [
                [sum(n for s, n in ask.shares if s == share) for share in range(len(devices.sizes))]
                for ask in devices.asks
            ]
            taken = np.array(
                [[ask.whole, *row] for ask, row in zip(devices.asks, classes, strict=True)]
            )
            same = (taken[:, None] >= taken[None]).all(axis=2)
            smaller &= same | _within_one(devices.sizes, taken)
        over &= ~here[:, None] | (here[None] & smaller)
    np.fill_diagonal(over, val=False)
    return over


def dominating_item_pairs(over: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Return pairs of items where room for the first is room for the second.

    Pairs that follow from others are left out.

    Args:
        over: All such pairs, as `item_room_dominance` tells them.

    """
    equal = over & over.T
    over = over & ~(equal & np.triu(np.ones_like(over)))
    return [
        (int(a), int(b))
        for a, b in zip(*over.nonzero(), strict=True)
        if not (over[a] & over[:, b]).any()
    ]


def _within_one(sizes: Sequence[Sequence[int]], taken: IntArray) -> NDArray[np.bool_]:
    """Tell where a whole device, or one share, is more than the one share of another item."""
    wholes = taken[:, 0]
    alone = (taken[:, 1:].sum(axis=1) == 1) & (wholes == 0)
    found = np.zeros((len(taken), len(taken)), np.bool_)
    if not len(sizes):
        return found
    share = taken[:, 1:].argmax(axis=1)
    mine = np.array(sizes, np.int64)[share]
    larger = (mine[:, None] >= mine[None]).all(axis=2) & alone[:, None] & alone[None]
    found |= larger | ((wholes >= 1)[:, None] & alone[None])
    return found
