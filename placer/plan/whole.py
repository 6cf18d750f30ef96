"""The plan in whole numbers: CP-SAT buys bins and fills them by known patterns.

If the patterns are all that there are, its bound is one for every plan of the market.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from ortools.sat.python import cp_model

from placer.plan.clock import PlanClock
from placer.plan.market import PurchaseProblem
from placer.plan.master import BinPattern
from placer.plan.rounding import BinPurchasePlan, FilledBin

_NEARLY = 1e-6


@dataclass(frozen=True, slots=True)
class IntegerPurchaseMasterSolution:
    """What CP-SAT says.

    Attributes:
        plan: The best plan that was found, if any.
        bound: No plan by these patterns is cheaper; None: not known.
        impossible: Whether no plan by these patterns exists.

    """

    plan: BinPurchasePlan | None = None
    bound: int | None = None
    impossible: bool = False


def solve_integer_purchase_master(
    market: PurchaseProblem,
    patterns: Sequence[BinPattern],
    clock: PlanClock,
    time: float,
    threads: int,
    hint: BinPurchasePlan | None = None,
    barred: frozenset[int] = frozenset(),
) -> IntegerPurchaseMasterSolution:
    """Return the cheapest plan by the patterns that so much time of the clock allows.

    Args:
        market: The market.
        patterns: The patterns.
        clock: What time is measured by.
        time: How much of it there is.
        threads: How many searches run at a time.
        hint: A plan to begin with; its fillings are patterns, too.
        barred: Kinds that are not to be bought.

    """
    patterns = [*patterns, *_further(patterns, hint)]
    model = cp_model.CpModel()
    packs = [
        model.new_int_var(0, _most_packs(market, number), "") for number in range(len(market.kinds))
    ]
    for number in barred:
        model.add(packs[number] == 0)
    times: list[cp_model.IntVar] = []
    for block, counts in enumerate(market.blocks):
        mine = [pattern for pattern in patterns if pattern.block == block]
        used = [model.new_int_var(0, _most_times(market, pattern), "") for pattern in mine]
        times += used
        held = [pattern.counts.tolist() for pattern in mine]
        for item, count in enumerate(counts):
            terms = [(var, row[item]) for var, row in zip(used, held, strict=True) if row[item]]
            model.add(
                cp_model.LinearExpr.weighted_sum([v for v, _ in terms], [n for _, n in terms])
                >= count
            )
        for number, kind in enumerate(market.kinds):
            of_kind = [v for v, p in zip(used, mine, strict=True) if p.kind == number]
            model.add(sum(of_kind) <= kind.pack * packs[number])
    costs = [kind.price * kind.pack for kind in market.kinds]
    model.minimize(cp_model.LinearExpr.weighted_sum(packs, costs))
    ordered = [p for block in range(len(market.blocks)) for p in patterns if p.block == block]
    if hint is not None:
        _give_hint(model, market, packs, times, ordered, hint)
    solver, status = solved_on_clock(model, clock, time, threads)
    if status == cp_model.INFEASIBLE:
        return IntegerPurchaseMasterSolution(impossible=True)
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return IntegerPurchaseMasterSolution()
    chosen = [(p, solver.value(v)) for p, v in zip(ordered, times, strict=True)]
    plan = _plan(market, [solver.value(v) for v in packs], chosen)
    return IntegerPurchaseMasterSolution(plan, whole_number_bound(solver))


def solved_on_clock(
    model: cp_model.CpModel, clock: PlanClock, time: float, threads: int
) -> tuple[cp_model.CpSolver, cp_model.CpSolverStatus]:
    """Solve a model in so much time of a clock, which is counted; return solver and status."""
    solver = cp_model.CpSolver()
    wall_s = clock.wall_s(clock.now() + time)
    if wall_s is None:
        # Several workers would share what they find at other moments each time.
        solver.parameters.max_deterministic_time = max(0.01, time)
        solver.parameters.num_workers = 1
    else:
        solver.parameters.max_time_in_seconds = wall_s
        solver.parameters.num_workers = threads
    solver.parameters.random_seed = 0
    status = solver.solve(model)
    clock.count(solver.response_proto.deterministic_time)
    return solver, status


def whole_number_bound(solver: cp_model.CpSolver) -> int:
    """Return the bound of a price that a solver has proven, as a whole number of 0 or more."""
    return max(0, int(-(-(solver.best_objective_bound - _NEARLY) // 1)))


def _further(patterns: Sequence[BinPattern], hint: BinPurchasePlan | None) -> Iterator[BinPattern]:
    """Yield the fillings of a plan that are no patterns yet: parts of patterns, most of them."""
    known = {pattern.key for pattern in patterns}
    for block, fillings in enumerate(hint.fillings if hint else ()):
        for filled in fillings:
            pattern = BinPattern(block, filled.kind, np.array(filled.counts, np.int64))
            if pattern.key not in known:
                known.add(pattern.key)
                yield pattern


def _most_packs(market: PurchaseProblem, number: int) -> int:
    kind = market.kinds[number]
    most = max(map(sum, market.blocks))
    packs = -(-most // kind.pack)
    return packs if kind.buyable is None else min(packs, kind.buyable // kind.pack)


def _most_times(market: PurchaseProblem, pattern: BinPattern) -> int:
    """Return how often a pattern is needed at most: until each of its items is there."""
    counts = market.blocks[pattern.block]
    held = pattern.counts.tolist()
    return max((-(-counts[i] // n) for i, n in enumerate(held) if n), default=0)


def _give_hint(
    model: cp_model.CpModel,
    market: PurchaseProblem,
    packs: Sequence[cp_model.IntVar],
    times: Sequence[cp_model.IntVar],
    patterns: Sequence[BinPattern],
    hint: BinPurchasePlan,
) -> None:
    for number, kind in enumerate(market.kinds):
        most = _most_packs(market, number)
        model.add_hint(packs[number], hint.bought[number] // kind.pack if kind.price else most)
    wanted = Counter(
        (block, filled.kind, filled.counts)
        for block, fillings in enumerate(hint.fillings)
        for filled in fillings
    )
    for pattern, var in zip(patterns, times, strict=True):
        model.add_hint(var, wanted[pattern.block, pattern.kind, tuple(pattern.counts.tolist())])


def _plan(
    market: PurchaseProblem, packs: Sequence[int], chosen: Sequence[tuple[BinPattern, int]]
) -> BinPurchasePlan:
    """Return the plan, in which no bin holds more than is asked for."""
    left = [np.array(counts, np.int64) for counts in market.blocks]
    fillings: list[list[FilledBin]] = [[] for _ in market.blocks]
    for pattern, number in chosen:
        for _ in range(number):
            counts = np.minimum(pattern.counts, left[pattern.block])
            left[pattern.block] -= counts
            if counts.any():
                fillings[pattern.block].append(FilledBin(pattern.kind, tuple(counts.tolist())))
    bought = tuple(
        n * kind.pack if kind.price else 0 for n, kind in zip(packs, market.kinds, strict=True)
    )
    price = sum(n * kind.price for n, kind in zip(bought, market.kinds, strict=True))
    return BinPurchasePlan(bought, price, tuple(map(tuple, fillings)))
