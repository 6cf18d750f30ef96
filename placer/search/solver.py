"""From an instance to its answer."""

from collections.abc import Sequence
from dataclasses import dataclass

from placer.explain.unplaced import why_unplaced
from placer.greedy.place import place_greedily
from placer.judge.breaches import breaches
from placer.judge.measure import measure
from placer.realise.realiser import Unrealisable, realise
from placer.search.budget import Budget
from placer.search.cp import SolverError
from placer.search.exact import limits_of, search_exactly
from placer.search.options import Engine, SolveOptions
from placer.search.tiers import Progress
from placer.state.account import Account
from placer.state.batch import accounts_of, build_problem
from placer_models.cluster import Instance
from placer_models.goals import Tier
from placer_models.placement import (
    Answer,
    GaveUp,
    Infeasible,
    PartlyPlaced,
    Placed,
    Placement,
    TierValue,
)
from placer_models.problem import Choices, Problem


@dataclass(frozen=True, slots=True)
class Judged:
    """A placement that the judge has found nothing against, and its worth."""

    choices: Choices
    placement: Placement
    values: tuple[int, ...]


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
    first = place_greedily(problem, deadline=lambda: budget.over)
    best = judged(instance, accounts, problem, first)
    bounds = limits_of(problem)
    if options.engine is not Engine.GREEDY and any(
        bound != value for bound, value in zip(bounds, best.values, strict=True)
    ):
        found = search_exactly(problem, best.choices, best.values, budget, tell)
        bounds = list(found.bounds)
        if found.choices is not None:
            better = judged(instance, accounts, problem, found.choices)
            _check_claim(instance, better, found.values)
            best = better
    return _answer(instance, problem, best, bounds, budget)


def judged(
    instance: Instance, accounts: Sequence[Account], problem: Problem, choices: Choices
) -> Judged:
    """Turn choices into ids, and let the judge look at them before anyone else does.

    Raises:
        SolverError: The choices cannot be realised, or break a rule.

    """
    placement = realise(instance, accounts, problem, choices)
    if isinstance(placement, Unrealisable):
        raise SolverError(f"node {placement.node!r} cannot be realised: {placement.reason}")
    found = breaches(instance, placement)
    if found:
        raise SolverError("; ".join(f"{b.rule}: {b.message}" for b in found[:3]))
    return Judged(choices, placement, tuple(v for _, v in measure(instance, placement)))


def _check_claim(instance: Instance, better: Judged, claimed: Sequence[int]) -> None:
    """The judge's measure may be better than the model's count, never worse."""
    tiers = [tier for tier, _ in measure(instance, better.placement)]
    for tier, value, claim in zip(tiers, better.values, claimed, strict=True):
        if tier.better(claim, value):
            raise SolverError(f"tier {tier.name}: the model says {claim}, the judge {value}")
        if tier.better(value, claim):
            return


def _answer(
    instance: Instance,
    problem: Problem,
    best: Judged,
    bounds: Sequence[int | None],
    budget: Budget,
) -> Answer:
    tiers = [tier for tier, _ in measure(instance, best.placement)]
    values = tier_values(tiers, best.values, bounds)
    left_out = why_unplaced(instance, problem, best.choices)
    if not left_out:
        return Placed(best.placement, values)
    if best.choices:
        return PartlyPlaced(best.placement, values, left_out)
    if all(value.proven for value in values[: len(problem.priorities)]):
        return Infeasible(left_out)
    return GaveUp(budget.elapsed_s, left_out)


def tier_values(
    tiers: Sequence[Tier], values: Sequence[int], bounds: Sequence[int | None]
) -> tuple[TierValue, ...]:
    """Join values and bounds; proven as long as every tier so far is."""
    result = []
    proven = True
    for tier, value, bound in zip(tiers, values, bounds, strict=True):
        proven = proven and value == bound
        result.append(TierValue(tier, value, bound, proven))
    return tuple(result)


def _silent(_: str) -> None:
    """Tell nobody."""
