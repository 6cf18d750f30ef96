"""From an instance to its answer."""

import random
from collections.abc import Sequence

from placer.greedy.place import place_greedily
from placer.search.bound import bound_first_tiers
from placer.search.budget import Budget
from placer.search.exact import limits_of, search_exactly
from placer.search.judged import Judged, check_claim, judged, realised
from placer.search.neighbourhoods import Neighbourhoods
from placer.search.options import Engine, SolveOptions
from placer.search.reasons import why_unplaced
from placer.search.tiers import Progress
from placer.state.account import Account
from placer.state.batch import accounts_of, build_problem
from placer.state.recount import recount
from placer_models.cluster import Instance
from placer_models.cpsat.units import units_of
from placer_models.goals import tiers_for
from placer_models.placement import Answer, GaveUp, Infeasible, PartlyPlaced, Placed, TierValue
from placer_models.problem import Problem

MOST_SEATS = 4_000
"""(unit, node) pairs up to which `auto` solves the whole batch as one model."""

Bounds = list[int | None]
"""One a tier; None where nothing is known."""


def solve(
    instance: Instance,
    options: SolveOptions | None = None,
    progress: Progress | None = None,
) -> Answer:
    """Place what waits as well as the time allows, and say how good that is.

    Args:
        instance: The problem.
        options: Engine, deadline, workers, seed.
        progress: Told in a few words what is done next.

    Returns:
        The placement with its tiers and bounds, the proof that nothing can be placed,
        or the news that time ran out first. Never worse than the greedy answer.

    Raises:
        SolverError: Parts of Placer contradict each other: a defect of ours.

    """
    options = options or SolveOptions()
    budget = Budget(options)
    tell = progress or _silent
    tell("counting what is free")
    accounts = accounts_of(instance)
    problem = build_problem(instance, accounts)
    tell("placing greedily")
    choices = place_greedily(problem, deadline=lambda: budget.over)
    best = realised(instance, accounts, problem, choices)
    bounds: Bounds = limits_of(problem)
    if options.engine is not Engine.GREEDY and bounds != list(best.values):
        whole = options.engine is Engine.EXACT or seats_of(problem) <= MOST_SEATS
        improve = _exactly if whole else _by_parts
        best, bounds = improve(instance, accounts, problem, best, budget, tell)
    return _answer(instance, accounts, best, bounds, budget)


def seats_of(problem: Problem) -> int:
    """Return how many (unit, node) pairs the whole model would have."""
    return sum(
        problem.fits[unit.shape][node.kind] is not None
        for unit in units_of(problem)
        for node in problem.nodes
    )


def _exactly(
    instance: Instance,
    accounts: Sequence[Account],
    problem: Problem,
    best: Judged,
    budget: Budget,
    tell: Progress,
) -> tuple[Judged, Bounds]:
    """Solve the whole batch as one model."""
    start = recount(instance, accounts, problem, best.placement)
    found = search_exactly(problem, start, best.values, budget, tell)
    if found.choices is not None:
        best = realised(instance, accounts, problem, found.choices)
        check_claim(best, found.values)
    return best, list(found.bounds)


def _by_parts(
    instance: Instance,
    accounts: Sequence[Account],
    problem: Problem,
    best: Judged,
    budget: Budget,
    tell: Progress,
) -> tuple[Judged, Bounds]:
    """Bound tier 1 by a relaxed model, then improve a few nodes at a time."""
    bounds: Bounds = limits_of(problem)
    tell("bounding tier 1")
    # Bounds stay true when earlier tiers improve: fewer placements are as good.
    bounds[: len(problem.priorities)] = bound_first_tiers(problem, best.values, bounds, budget)
    search = Neighbourhoods(
        instance=instance,
        placement=best.placement,
        tiers=tiers_for(problem.priorities),
        values=list(best.values),
        limits=bounds,
        budget=budget,
        rng=random.Random(budget.options.seed),
    )
    search.run(tell)
    found = judged(instance, search.placement)
    return (found if found.better_than(best) else best), bounds


def _answer(
    instance: Instance,
    accounts: Sequence[Account],
    best: Judged,
    bounds: Bounds,
    budget: Budget,
) -> Answer:
    tiers = _tier_values(best, bounds)
    left_out = why_unplaced(instance, accounts, best.placement)
    if not left_out:
        return Placed(best.placement, tiers)
    if best.placement.pods:
        return PartlyPlaced(best.placement, tiers, left_out)
    if all(value.proven for value in tiers if value.tier.name.startswith("placed.")):
        return Infeasible(left_out)
    return GaveUp(budget.elapsed_s, left_out)


def _tier_values(best: Judged, bounds: Bounds) -> tuple[TierValue, ...]:
    """Join values and bounds; a tier is proven while every tier before it is."""
    result = []
    proven = True
    for (tier, value), bound in zip(best.worth, bounds, strict=True):
        proven = proven and value == bound
        result.append(TierValue(tier, value, bound, proven))
    return tuple(result)


def _silent(_: str) -> None:
    """Tell nobody."""
