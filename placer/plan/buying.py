"""Buying on a market: the cheapest plan that the time allows, and a proven bound of its price."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from placer.plan.aggregate import AggregateProgramDuals
from placer.plan.all_patterns import all_full_bin_patterns
from placer.plan.clock import PlanClock
from placer.plan.column_generation import PurchaseColumnGeneration
from placer.plan.market import PurchaseProblem
from placer.plan.master import BinPattern, PurchaseMasterSolution
from placer.plan.proof import IntegerItemValuesForProof, rounded_up_to_price
from placer.plan.rounding import BinPurchasePlan, PurchaseSolutionRounding
from placer.plan.whole import solve_integer_purchase_master
from placer.plan.whole_bins import price_bound_by_whole_bins

_PROVING = 0.72
"""This part of the time is for patterns and proof, less what follows."""
_SETTLING = 0.85
"""Until then patterns are looked for without exchanges."""
_TRIES = 4
_FEW_BINS = 600
"""Plans of no more bins a block are improved by CP-SAT over the patterns."""
_WHOLE = 0.3
"""This part of what is left then at most is for the bound by whole bins."""
_MOST_RIVALS = 4
_MORE = 300
"""So many fillings at a time are added for such plans."""
_SOME = 0.05
"""Items without a value count this part of the mean, so that bins are filled to the end."""


@dataclass(frozen=True, slots=True)
class BinPlanExcludingOffer:
    """A plan without one of the offers of the best one.

    Attributes:
        without: The kind that is not bought.

    """

    without: int
    plan: BinPurchasePlan | None


@dataclass(frozen=True, slots=True)
class PurchaseSolution:
    """The best plan of a market that was found, and what was proven.

    Attributes:
        plan: The best plan, or None if none was found.
        bound: No plan is cheaper, in units; None: there is no plan at any price.
        exact: The bound as a fraction before it is rounded up, from the values alone.
        values: The values behind it.
        by_enumeration: Whether the bound is better than that of the values, because all patterns
            were tried.
        solution: The last answer of the master problem.
        start: The answer of the aggregate program.
        by_sums: Whether the bound counts some devices by their sums.
        runners_up: What is paid without one of the offers, cheapest first.
        by_whole_bins: Values which together, with bins in whole packs, prove the bound, where it is
            better than that of `values`.

    """

    plan: BinPurchasePlan | None
    bound: int | None
    exact: Fraction | None
    values: IntegerItemValuesForProof
    by_enumeration: bool
    solution: PurchaseMasterSolution
    start: AggregateProgramDuals
    by_sums: bool
    runners_up: tuple[BinPlanExcludingOffer, ...] = ()
    by_whole_bins: tuple[IntegerItemValuesForProof, ...] = ()


@dataclass(slots=True)
class PurchaseSolver:
    """Solves a market: finds what to buy, and how much less it could cost.

    Attributes:
        clock: What time is measured by.
        time: How much of it there is.
        threads: How many searches run at a time.
        stop: Asked now and then whether to end at once.
        tell: Told in a few words what is done.

    """

    market: PurchaseProblem
    clock: PlanClock
    time: float
    threads: int = 2
    stop: Callable[[], bool] = lambda: False
    tell: Callable[[str], None] = lambda words: None
    seed: int = 0

    def buy(self) -> PurchaseSolution:
        """Return the best plan and the bound."""
        started = self.clock.now()
        market = self.market
        generation = PurchaseColumnGeneration(
            market,
            self.clock,
            started + _PROVING * self.time,
            started + _SETTLING * self.time,
            threads=self.threads,
            stop=self.stop,
            on_bound=lambda bound: self.tell("looking for patterns and proof"),
            seed=self.seed,
        )
        certificate = generation.run()
        exact = certificate.bound.price
        steps = [kind.price * kind.pack for kind in market.kinds if kind.price]
        bound = None if exact is None else rounded_up_to_price(exact, steps)
        self.tell("rounding to whole nodes")

        def over() -> bool:
            return self.stop() or self.clock.now() >= started + self.time

        rounding = PurchaseSolutionRounding(market, generation.master, generation.filler, over=over)
        plan = rounding.best(certificate.solution, _TRIES, self.seed) if exact is not None else None
        complete, by_enumeration, by_whole_bins = None, False, False
        if bound is not None and plan is not None and plan.price > bound and not over():
            left = self.time - (self.clock.now() - started)
            whole = price_bound_by_whole_bins(generation, _WHOLE * left, plan.price)
            if whole > bound:
                bound, by_whole_bins = rounded_up_to_price(Fraction(whole), steps), True
        if bound is not None and (plan is None or plan.price > bound):
            complete = all_full_bin_patterns(market)
            few = plan is not None and max(map(len, plan.fillings), default=0) <= _FEW_BINS
            if (few or complete is not None) and not self.stop():
                left = self.time - (self.clock.now() - started)
                patterns = complete or self._more_patterns(generation, certificate.solution)
                answer = solve_integer_purchase_master(
                    market, patterns, self.clock, 0.6 * left, self.threads, plan
                )
                if answer.plan is not None and (plan is None or answer.plan.price < plan.price):
                    plan = answer.plan
                if complete is not None and answer.impossible:
                    bound, by_enumeration = None, True
                elif complete is not None and answer.bound is not None and answer.bound > bound:
                    bound, by_enumeration = answer.bound, True
        runners_up = self._runners_up(plan, generation, complete, over) if plan else ()
        return PurchaseSolution(
            plan,
            bound,
            exact,
            certificate.values,
            by_enumeration,
            certificate.solution,
            generation.start,
            certificate.by_sums,
            runners_up,
            tuple(generation.proofs) if by_whole_bins else (),
        )

    def _more_patterns(
        self, generation: PurchaseColumnGeneration, solution: PurchaseMasterSolution
    ) -> list[BinPattern]:
        """Return the known patterns and more: whole bins need others than parts of bins do."""
        rng = np.random.default_rng(self.seed)
        kinds = range(len(self.market.kinds))
        rows = max(1, _MORE // len(kinds) // len(self.market.blocks))
        for block, counts in enumerate(self.market.blocks):
            most = np.array(counts, np.int64)
            for values in (solution.values[block], generation.start.values[block]):
                values = np.maximum(values, values.mean() * _SOME)
                number, found = generation.filler.fill(kinds, values, most, rng, rows)
                for kind, one in zip(number.tolist(), found, strict=True):
                    if one.any():
                        generation.master.add(BinPattern(block, kind, one))
        return generation.master.patterns

    def _runners_up(
        self,
        plan: BinPurchasePlan,
        generation: PurchaseColumnGeneration,
        complete: Sequence[BinPattern] | None,
        over: Callable[[], bool],
    ) -> tuple[BinPlanExcludingOffer, ...]:
        """Return what is paid without each of the offers that cost most, cheapest first.

        There are as many as the time allows.
        """
        spent = [n * k.price for n, k in zip(plan.bought, self.market.kinds, strict=True)]
        dear = [kind for kind in sorted(range(len(spent)), key=lambda k: -spent[k]) if spent[kind]]
        found = []
        for kind in dear[:_MOST_RIVALS]:
            if over():
                break
            barred = frozenset({kind})
            rounding = PurchaseSolutionRounding(
                self.market, generation.master, generation.filler, barred, over
            )
            other = rounding.best(generation.master.without(kind), 2, self.seed)
            if complete is not None and not self.stop():
                whole = solve_integer_purchase_master(
                    self.market, complete, self.clock, 1.0, self.threads, other, barred
                )
                other = whole.plan or other
            found.append(BinPlanExcludingOffer(kind, other))
        return tuple(
            sorted(found, key=lambda r: (r.plan is None, r.plan.price if r.plan else 0, r.without))
        )
