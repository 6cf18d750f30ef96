"""From the master problem's fractions to whole bins: a plan of the market.

Patterns that are used whole are bought as often; the rest is filled greedily by what patterns
hold of what is left, and completed. Then each bin becomes the cheapest that holds what is in it.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from placer.plan.arrays import FloatArray, IntArray
from placer.plan.filler import BinFiller
from placer.plan.market import PurchaseProblem
from placer.plan.master import PurchaseMasterProblem, PurchaseMasterSolution

_NEARLY = 1e-6
_OWNED = 1e-3
"""Bins that are bought already count so much of their price in the choice of the next one."""


@dataclass(frozen=True, slots=True)
class FilledBin:
    """A bin and what is in it.

    Attributes:
        counts: How many items of each kind are in it.

    """

    kind: int
    counts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class BinPurchasePlan:
    """A plan of a market.

    Attributes:
        bought: How many bins of each kind are bought; of those that are there, none.
        price: What they cost.
        fillings: For each block, the bins that hold something, bins that are there included.

    """

    bought: tuple[int, ...]
    price: int
    fillings: tuple[tuple[FilledBin, ...], ...]


@dataclass(slots=True)
class PurchaseSolutionRounding:
    """Rounds solutions of a master problem.

    Attributes:
        barred: Kinds of bins that are not to be bought.
        over: Asked whether the time is over; one try is made all the same.

    """

    market: PurchaseProblem
    master: PurchaseMasterProblem
    filler: BinFiller
    barred: frozenset[int] = frozenset()
    over: Callable[[], bool] = lambda: False
    _columns: list[IntArray] = field(init=False)
    _numbers: list[IntArray] = field(init=False)
    _kinds: list[IntArray] = field(init=False)

    def __post_init__(self) -> None:
        self._columns, self._numbers, self._kinds = [], [], []
        for block in range(len(self.market.blocks)):
            mine = [
                (number, pattern)
                for number, pattern in enumerate(self.master.patterns)
                if pattern.block == block and pattern.kind not in self.barred
            ]
            counts = [pattern.counts for _, pattern in mine]
            width = self.market.items
            self._columns.append(np.array(counts, np.int64).reshape(len(counts), width))
            self._numbers.append(np.array([number for number, _ in mine], np.int64))
            self._kinds.append(np.array([pattern.kind for _, pattern in mine], np.int64))

    def best(
        self, solution: PurchaseMasterSolution, tries: int, seed: int
    ) -> BinPurchasePlan | None:
        """Return the cheapest plan of some tries, or None if none has room for all items."""
        rng = np.random.default_rng(seed)
        plans: list[BinPurchasePlan] = []
        for number in range(tries):
            if number and self.over():
                break
            plan = self.once(solution, rng if number else None)
            if plan is not None:
                plans.append(plan)
        return min(plans, key=lambda plan: plan.price, default=None)

    def once(
        self, solution: PurchaseMasterSolution, rng: np.random.Generator | None
    ) -> BinPurchasePlan | None:
        """Return a plan; with a generator, items are worth a little more or less."""
        stock = BinPurchaseLedger(self.market, self.barred, self._planned(solution))
        fillings: list[tuple[FilledBin, ...]] = [()] * len(self.market.blocks)
        hardest = (solution.values * np.array(self.market.blocks)).sum(axis=1).argsort()[::-1]
        for block in hardest.tolist():
            values = np.maximum(solution.values[block], _NEARLY)
            if rng is not None:
                values = values * np.exp(rng.normal(0.0, 0.05, len(values)))
            stock.begin()
            bins = self._block(block, solution, values, stock)
            if bins is None:
                return None
            fillings[block] = bins
        bought = stock.bought
        price = sum(n * kind.price for n, kind in zip(bought, self.market.kinds, strict=True))
        return BinPurchasePlan(bought, price, tuple(fillings))

    def _planned(self, solution: PurchaseMasterSolution) -> list[int]:
        """Return how many bins of each kind are bought anyway, where blocks share them."""
        if len(self.market.blocks) == 1:
            return [0] * len(self.market.kinds)
        planned: list[int] = np.floor(solution.bins + _NEARLY).astype(int).tolist()
        return planned

    def _block(
        self,
        block: int,
        solution: PurchaseMasterSolution,
        values: FloatArray,
        stock: "BinPurchaseLedger",
    ) -> tuple[FilledBin, ...] | None:
        left = np.array(self.market.blocks[block], np.int64)
        bins: list[tuple[int, IntArray]] = []
        times = np.floor(solution.times[self._numbers[block]] + _NEARLY).astype(int)
        for at in times.nonzero()[0]:
            kind = int(self._kinds[block][at])
            for _ in range(stock.take(kind, int(times[at]))):
                counts = np.minimum(self._columns[block][at], left)
                bins.append((kind, counts))
                left = left - counts
        while left.any():
            found = self._next(block, left, values, stock)
            if found is None:
                return None
            kind, counts = found
            some = counts > 0
            number = stock.take(kind, max(1, int((left[some] // counts[some]).min())))
            bins += [(kind, counts)] * number
            left = left - number * counts
        return tuple(self._cheaper(bins, stock))

    def _next(
        self, block: int, left: IntArray, values: FloatArray, stock: "BinPurchaseLedger"
    ) -> tuple[int, IntArray] | None:
        """Return what to fill next: the most worth for its price."""
        columns, kinds = self._columns[block], self._kinds[block]
        can = stock.can[kinds]
        if not can.any():
            return None
        held = np.minimum(columns, left)
        worths = np.where(can, held @ values, 0.0)
        if not worths.any():
            return None
        per_price = worths / np.maximum(stock.weight[kinds], _NEARLY)
        best = int(per_price.argmax())
        counts = self.filler.completed(int(kinds[best]), held[best], values, left)
        return int(kinds[best]), counts

    def _cheaper(
        self, bins: list[tuple[int, IntArray]], stock: "BinPurchaseLedger"
    ) -> Iterator[FilledBin]:
        """Yield the bins, each as the cheapest that can be had and holds the same."""
        prices = [kind.price for kind in self.market.kinds]
        order = sorted(range(len(prices)), key=lambda kind: prices[kind])
        known: dict[tuple[int, bytes], list[int]] = {}
        for kind, counts in bins:
            if not counts.any():
                stock.give_back(kind)
                continue
            saved = stock.saved(kind)
            if not saved:
                yield FilledBin(kind, tuple(counts.tolist()))
                continue
            key = kind, counts.tobytes()
            if key not in known:
                known[key] = [
                    other
                    for other in order
                    if other != kind and prices[other] <= saved and self.filler.holds(other, counts)
                ]
            can = [one for one in known[key] if stock.can[one] and stock.cost(one) < saved]
            other = min(can, key=stock.cost, default=kind)
            if other != kind:
                stock.give_back(kind)
                stock.take(other, 1)
            yield FilledBin(other, tuple(counts.tolist()))


class BinPurchaseLedger:
    """Bins that are there, bought, or to be bought, while blocks are filled one by one.

    Attributes:
        can: For each kind, whether a bin can be had.
        weight: What the next bin counts in the choice of what to fill next: its price, and little
            of it if it is bought already.

    """

    def __init__(
        self, market: PurchaseProblem, barred: frozenset[int], planned: Sequence[int]
    ) -> None:
        """Begin with nothing bought.

        Args:
            market: The market.
            barred: Kinds that are not to be bought.
            planned: How many of each kind count as bought from the beginning on.

        """
        self._kinds = market.kinds
        self._barred = barred
        self._planned = planned
        self._bought = [0] * len(market.kinds)
        self._used = [0] * len(market.kinds)
        self._before = [0] * len(market.kinds)
        self.can: NDArray[np.bool_] = np.zeros(len(market.kinds), np.bool_)
        self.weight: FloatArray = np.zeros(len(market.kinds), np.float64)

    @property
    def bought(self) -> tuple[int, ...]:
        """How many bins of each kind are bought, in whole packs."""
        return tuple(
            -(-n // kind.pack) * kind.pack
            for n, kind in zip(self._bought, self._kinds, strict=True)
        )

    def begin(self) -> None:
        """Begin with another block: no bin is used yet."""
        self._used = [0] * len(self._kinds)
        self._before = list(self._bought)
        for kind in range(len(self._kinds)):
            self._look_at(kind)

    def take(self, kind: int, number: int) -> int:
        """Use bins of a kind, and buy those that are not there; return how many can be had."""
        buyable = self._kinds[kind].buyable
        if kind in self._barred:
            buyable = 0
        if buyable is not None:
            number = min(number, buyable - self._used[kind])
        self._used[kind] += number
        if self._kinds[kind].price:
            self._bought[kind] = max(self._bought[kind], self._used[kind])
        self._look_at(kind)
        return number

    def give_back(self, kind: int) -> None:
        """Use one bin less; it stays bought if another block needs it."""
        self._used[kind] -= 1
        if self._kinds[kind].price:
            self._bought[kind] = max(self._before[kind], self._used[kind])
        self._look_at(kind)

    def cost(self, kind: int) -> int:
        """Return what the next bin costs: nothing if it is there or is bought already."""
        return 0 if self._used[kind] < self._owned(kind) else self._kinds[kind].price

    def saved(self, kind: int) -> int:
        """Return what is saved by using one bin less."""
        kept = max(self._before[kind], self._planned[kind])
        return self._kinds[kind].price if self._used[kind] > kept else 0

    def _owned(self, kind: int) -> int:
        pack = self._kinds[kind].pack
        return -(-max(self._bought[kind], self._planned[kind]) // pack) * pack

    def _look_at(self, kind: int) -> None:
        buyable, used = self._kinds[kind].buyable, self._used[kind]
        self.can[kind] = kind not in self._barred and (buyable is None or used < buyable)
        price = self._kinds[kind].price
        self.weight[kind] = price if self.cost(kind) else price * _OWNED
