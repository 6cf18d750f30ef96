"""Patterns and proof: columns are added to the master problem, and its values are proven.

Values are drawn between the best proven ones and the master's (Wentges), because the master's own
swing. Cheap greedy fillings come first; when they find nothing, the pricing problems are solved,
and their bounds give a proof.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from placer.plan.aggregate import AggregateProgramDuals, solve_aggregate_lp_for_duals
from placer.plan.arrays import FloatArray
from placer.plan.clock import PlanClock
from placer.plan.filler import BinFiller
from placer.plan.market import BinKind, PurchaseProblem
from placer.plan.master import (
    BinPattern,
    PurchaseMasterProblem,
    PurchaseMasterSolution,
    dominating_item_pairs,
    item_room_dominance,
)
from placer.plan.pricing import DearestFillingsResult, PricingProblem
from placer.plan.proof import (
    IntegerItemValuesForProof,
    PlanPriceLowerBound,
    price_bound_from_item_values,
)

CLOSE = 1e-3
"""Bound and master problem this close, relatively: more patterns would change little."""

_SMOOTH = 0.5
_FILLINGS = 250
"""Greedy fillings at a time, over all kinds of bins."""
_LEAST_FILLINGS = 16
"""Fillings of one kind at least."""
_KEPT = 8
"""Patterns of a kind that are added at a time."""
_FEW = 4
"""With fewer new patterns than this, other values are tried, and then a proof."""
_ALL_ROUNDS = 25
"""After so many rounds of greedy fillings a proof is tried, whatever they found."""
_GREEDY_STEPS = 2_000
"""The greedy plan ends after so many different bins."""
_ENDLESS = 10**9
_FILL_WORK = 0.1
"""What a round of greedy fillings and the linear program after it count for."""
_WORK = 2.0
"""Deterministic work of one pricing problem."""
_EXACT_DIGITS = 10**15
"""The values of all items together come to this at most, so that sums stay exact."""
_SCALE = 1_000
"""Values are whole numbers of this part of the market's unit, or smaller if that is too large."""
_TINY = 1e-6
_SETTLED = 5e-5
"""The master problem without exchanges may cost this much more, relatively."""


@dataclass(slots=True)
class PurchaseColumnGenerationResult:
    """What is known about the cheapest plan.

    Attributes:
        bound: The best bound.
        values: The values behind it.
        solution: The last answer of the master problem.
        by_sums: Whether some devices are counted by their sums in the bound.

    """

    bound: PlanPriceLowerBound
    values: IntegerItemValuesForProof
    solution: PurchaseMasterSolution
    by_sums: bool = False


@dataclass(frozen=True, slots=True)
class _Alike:
    """Kinds of bins that a block can fill in the same ways, in three zones, say."""

    pricer: PricingProblem
    kinds: list[int]


def _alike_kinds(kinds: Sequence[BinKind], most: Sequence[Sequence[int]]) -> list[_Alike]:
    """Return the kinds that are alike in a block.

    Args:
        kinds: The kinds of bins.
        most: For each kind, how many items of each kind it may hold in the block.

    """
    found: dict[object, list[int]] = {}
    for number, (kind, mine) in enumerate(zip(kinds, most, strict=True)):
        sizes = tuple((item, kind.sizes[item]) for item, count in enumerate(mine) if count)
        key = kind.room, sizes, kind.devices, tuple(mine)
        found.setdefault(key, []).append(number)
    return [_Alike(PricingProblem(kinds[some[0]], most[some[0]]), some) for some in found.values()]


@dataclass(slots=True)
class PurchaseColumnGeneration:
    """Adds patterns until bound and master problem are close, or the time is over.

    Attributes:
        master: The master problem, whose patterns the plan is made of.
        start: The aggregate program's answer.
        clock: What time is measured by.
        deadline: When no more is proven, on that clock.
        end: When no more patterns are looked for.
        threads: How many pricing problems are solved at a time.
        stop: Asked now and then whether to end at once.
        on_bound: Told of each better bound.
        proofs: All values that were proven.

    """

    market: PurchaseProblem
    clock: PlanClock
    deadline: float
    end: float
    threads: int = 2
    stop: Callable[[], bool] = lambda: False
    on_bound: Callable[[PlanPriceLowerBound], None] = lambda bound: None
    seed: int = 0
    master: PurchaseMasterProblem = field(init=False)
    filler: BinFiller = field(init=False)
    start: AggregateProgramDuals = field(init=False)
    proofs: list[IntegerItemValuesForProof] = field(init=False, default_factory=list)
    _alike: list[list[_Alike]] = field(init=False)
    _rng: np.random.Generator = field(init=False)
    _scale: int = field(init=False)
    _best: tuple[PlanPriceLowerBound, IntegerItemValuesForProof] = field(init=False)
    _centre: FloatArray = field(init=False)
    _over: NDArray[np.bool_] = field(init=False)

    def __post_init__(self) -> None:
        market = self.market
        self._rng = np.random.default_rng(self.seed)
        self.master = PurchaseMasterProblem(market)
        self.filler = BinFiller(market.kinds, self.end - self.clock.now())
        most = [
            [market.most_of(kind, b) for kind in market.kinds] for b in range(len(market.blocks))
        ]
        self._alike = [_alike_kinds(market.kinds, of_block) for of_block in most]
        dearest = max(kind.price for kind in market.kinds) or 1
        items = sum(map(sum, market.blocks)) or 1
        self._scale = max(1, min(_SCALE, _EXACT_DIGITS // (dearest * items)))
        for block, of_block in enumerate(most):
            for kind, mine in enumerate(of_block):
                for item, count in enumerate(mine):
                    if count:
                        self._add_alone(block, kind, item, count)
        self._over = item_room_dominance(market)
        for larger, smaller in dominating_item_pairs(self._over):
            self.master.exchange(larger, smaller)

    @property
    def _late(self) -> bool:
        return self.stop() or self.clock.now() >= self.deadline

    def run(self) -> PurchaseColumnGenerationResult:
        """Return what was proven, and the last solution."""
        with ThreadPoolExecutor(self.threads) as pool:
            self.start = solve_aggregate_lp_for_duals(self.market)
            self._centre = self.start.values
            self._begin_greedily()
            self._best = (
                PlanPriceLowerBound(Fraction(0), Fraction(0)),
                IntegerItemValuesForProof((), ()),
            )
            solution = self.master.solve()
            self._prove(self._centre, solution, pool)
            solution = self._improve(pool)
        self.master.end_exchanges()
        solution = self._settle(solution)
        by_sums = any(alike.pricer.by_sums for of_block in self._alike for alike in of_block)
        return PurchaseColumnGenerationResult(*self._best, solution, by_sums)

    def prove(self, solution: PurchaseMasterSolution, deadline: float) -> IntegerItemValuesForProof:
        """Return the values of a solution with what bins are worth by them; add patterns."""
        self.deadline = deadline
        with ThreadPoolExecutor(self.threads) as pool:
            self._prove(solution.values, solution, pool)
        return self.proofs[-1]

    def _begin_greedily(self) -> None:
        """Add the patterns of a greedy plan: what is worth most for its price, again and again.

        From then on the master problem is never dearer than that plan.
        """
        prices = np.array([max(kind.price, _TINY) for kind in self.market.kinds])
        kinds = range(len(prices))
        used = [0] * len(prices)
        for block, counts in enumerate(self.market.blocks):
            left = np.array(counts, np.int64)
            values = np.maximum(self.start.values[block], _TINY)
            for _ in range(_GREEDY_STEPS):
                open_ = [k for k in kinds if used[k] < (self.market.kinds[k].buyable or _ENDLESS)]
                if self._late or not left.any() or not open_:
                    break
                kind, found = self.filler.fill(open_, values, left, self._rng, 1)
                best = int((found @ values / prices[kind]).argmax())
                pattern = found[best]
                some = pattern > 0
                if not some.any():
                    break
                self.master.add(BinPattern(block, int(kind[best]), pattern))
                times = int((left[some] // pattern[some]).min())
                left = left - times * pattern
                used[int(kind[best])] += times

    def _improve(self, pool: ThreadPoolExecutor) -> PurchaseMasterSolution:
        rounds = 0
        while True:
            solution = self.master.solve()
            if self._late or self._is_close(solution):
                return solution
            rounds += 1
            between = _SMOOTH * self._centre + (1 - _SMOOTH) * solution.values
            new = self._fill(between, solution)
            if new < _FEW:
                new += self._fill(solution.values, solution)
            if new >= _FEW and rounds % _ALL_ROUNDS:
                continue
            for values in (between, solution.values):
                new += self._prove(values, solution, pool)
                if new or self._late:
                    break
            if not new:
                return solution

    def _settle(self, solution: PurchaseMasterSolution) -> PurchaseMasterSolution:
        """Return a solution without exchanges, after a few more patterns."""
        before = solution.price
        while True:
            solution = self.master.solve()
            close = solution.price <= before * (1 + _SETTLED) + _TINY
            if close or self.stop() or self.clock.now() >= self.end:
                break
            if not self._exchanged(solution) + self._fill(solution.values, solution):
                break
        return solution

    def _exchanged(self, solution: PurchaseMasterSolution) -> int:
        """Add what exchanges made of the patterns in use: each item as the best it has room for."""
        new = 0
        best = [np.where(self._over, v, -1.0).argmax(axis=1) for v in solution.values]
        for at in (solution.times > _TINY).nonzero()[0]:
            pattern = self.master.patterns[at]
            values, better = solution.values[pattern.block], best[pattern.block]
            gains = self._over.any(axis=1) & (values[better] > values + _TINY)
            chosen = (gains & (pattern.counts > 0)).nonzero()[0]
            for some in (chosen, *([item] for item in chosen)):
                counts = pattern.counts.copy()
                for item in some:
                    counts[item] -= pattern.counts[item]
                    counts[better[item]] += pattern.counts[item]
                new += self.master.add(BinPattern(pattern.block, pattern.kind, counts))
        return new

    def _is_close(self, solution: PurchaseMasterSolution) -> bool:
        price = self._best[0].price
        # Without any bound there is no plan: nothing can be closer.
        return price is None or solution.price - float(price) <= CLOSE * solution.price

    def _add_alone(self, block: int, kind: int, item: int, most: int) -> None:
        """Add the pattern of one kind of items alone."""
        counts = np.zeros(self.market.items, np.int64)
        counts[item] = most
        self._add_found(block, kind, counts)

    def _whole(self, values: FloatArray) -> tuple[tuple[int, ...], ...]:
        """Return values as whole numbers, rounded down."""
        return tuple(
            tuple(int(value * self._scale) for value in of_block) for of_block in values.tolist()
        )

    def _fill(self, values: FloatArray, solution: PurchaseMasterSolution) -> int:
        """Add patterns of greedy fillings that are worth more than their bins; count them."""
        new = 0
        self.clock.count(_FILL_WORK)
        for block, counts in enumerate(self.market.blocks):
            whole = self._whole(values)[block]
            rents = solution.rents[block]
            hot = {
                alike.kinds[0]: alike.kinds
                for alike in self._alike[block]
                if alike.pricer.quick_bound(whole) > rents[alike.kinds].min() * self._scale
            }
            if not hot:
                continue
            most = np.array(counts, np.int64)
            rows = max(_LEAST_FILLINGS, _FILLINGS // len(hot))
            kinds, found = self.filler.fill([*hot], values[block], most, self._rng, rows)
            worths = found @ solution.values[block]
            for kind, alike in hot.items():
                mine = (kinds == kind).nonzero()[0]
                best = mine[worths[mine].argsort()[::-1][:_KEPT]]
                for other in alike:
                    for row in best[worths[best] > rents[other] * (1 + _TINY) + _TINY]:
                        new += self.master.add(BinPattern(block, other, found[row]))
        return new

    def _prove(
        self,
        values: FloatArray,
        solution: PurchaseMasterSolution,
        pool: ThreadPoolExecutor,
    ) -> int:
        """Price all kinds, keep the bound if it is better, add patterns; count the new ones."""
        whole = self._whole(values)
        blocks, kinds = range(len(self.market.blocks)), self.market.kinds
        fullest = [[0] * len(self.market.blocks) for _ in kinds]
        for block in blocks:
            for alike in self._alike[block]:
                quick = alike.pricer.quick_bound(whole[block])
                for kind in alike.kinds:
                    fullest[kind][block] = quick
        jobs = [
            (block, alike)
            for block in blocks
            for alike in self._alike[block]
            if any(sum(fullest[k]) > kinds[k].price * self._scale for k in alike.kinds)
        ]

        def solve(job: tuple[int, _Alike]) -> DearestFillingsResult | None:
            block, alike = job
            # Whoever comes after the end has no time left, and the quick bounds hold.
            if self._late:
                return None
            wall_s = self.clock.wall_s(self.deadline)
            return alike.pricer.fullest(whole[block], _WORK, wall_s)

        new = 0
        for (block, alike), found in zip(jobs, pool.map(solve, jobs), strict=True):
            if found is None:
                continue
            self.clock.count(found.work)
            for kind in alike.kinds:
                fullest[kind][block] = min(fullest[kind][block], found.bound)
                rent = solution.rents[block, kind]
                for filling in found.fillings:
                    counts = np.array(filling, np.int64)
                    if float(counts @ solution.values[block]) > rent * (1 + _TINY) + _TINY:
                        new += self._add_found(block, kind, counts)
        self._keep(values, IntegerItemValuesForProof(whole, tuple(map(tuple, fullest))))
        return new

    def _add_found(self, block: int, kind: int, counts: NDArray[np.int64]) -> int:
        """Add a filling, or what the bin really holds of it; return how many patterns are new."""
        if not self.filler.holds(kind, counts):
            counts = self.filler.completed(kind, counts, np.zeros(self.market.items), counts)
        return int(counts.any() and self.master.add(BinPattern(block, kind, counts)))

    def _keep(self, values: FloatArray, whole: IntegerItemValuesForProof) -> None:
        """Keep values as the best ones if their bound is."""
        self.proofs.append(whole)
        bound = price_bound_from_item_values(self.market, whole)
        best = self._best[0].price
        is_first = not self._best[1].of_item
        if is_first or bound.price is None or (best is not None and bound.price > best):
            self._best = (bound, whole)
            self._centre = values * float(bound.factor) * self._scale
            self.on_bound(bound)
