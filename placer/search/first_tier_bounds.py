"""Bounds of the first tiers, for batches too large for the whole model."""

from collections.abc import Iterator, Sequence

from ortools.sat.python.cp_model import CpModel, IntVar

from placer.search.budget import Budget
from placer.search.cp import hint, optimise, variables_of
from placer_models.cpsat.assignment import Expression
from placer_models.cpsat.relaxed import RelaxedModel, build_relaxed_model
from placer_models.goals import MOVES, OPENED, Sense, Tier
from placer_models.problem.problem import Problem


def bound_first_tiers(
    problem: Problem,
    values: Sequence[int],
    limits: Sequence[int | None],
    budget: Budget,
) -> list[int | None]:
    """Return a bound for each sub-tier of tier 1, and for ``opened`` and ``moves`` if asked for.

    Args:
        problem: The whole batch.
        values: What a known placement reaches, tier by tier (later tiers ignored).
        limits: What nothing can beat, tier by tier.
        budget: Bounds the solves.

    """
    count = bounded_tiers(problem)
    if list(values[:count]) == list(limits[:count]):
        return list(limits[:count])
    relaxed = build_relaxed_model(problem, lambda: budget.over)
    if relaxed is None:
        return list(limits[:count])
    # A solution is hinted from the start: without one CP-SAT's bound says nothing.
    hint(relaxed.model, as_it_is(relaxed))
    bounds: list[int | None] = []
    tiers = zip(problem.tiers[:count], values, limits, strict=False)
    for (tier, value, limit), expression in zip(
        tiers, relaxed_tiers(problem, relaxed), strict=True
    ):
        bound = limit
        if value != limit and not budget.over:
            share = budget.slice(count - len(bounds))
            solved = optimise(relaxed.model, expression, tier.sense, budget, share)
            found = solved.bounds[0]
            if found is not None and (limit is None or tier.better(limit, found)):
                bound = found
            if solved.solution is not None:
                hint(relaxed.model, variables_of(solved.solution))
        bounds.append(bound)
        # Later tiers are bounded among placements that keep what this one reached.
        keep_tier_value(relaxed.model, tier, expression, value)
    return bounds


def as_it_is(relaxed: RelaxedModel) -> Iterator[tuple[int, int]]:
    """Yield (variable index, value) pairs that say that all pods stay and none come."""
    for division in relaxed.divisions:
        residents = dict(division.alike.residents)
        if isinstance(division.there, IntVar):
            as_now = division.held == residents and not division.alike.offered
            yield division.there.index, len(division.alike.nodes) if as_now else 0
        for f, count in division.stay.items():
            if isinstance(count, IntVar):
                yield count.index, residents[f]
        yield from ((count.index, 0) for count in division.come.values())


def keep_tier_value(model: CpModel, tier: Tier, expression: Expression, value: int) -> None:
    """Require that the tier is no worse than the value from now on."""
    model.add(expression >= value if tier.sense is Sense.MAXIMISE else expression <= value)


def relaxed_tiers(problem: Problem, relaxed: RelaxedModel) -> list[Expression]:
    """Return an expression for each of the tiers that the relaxed model bounds."""
    later = ((OPENED, relaxed.opened), (MOVES, relaxed.moves))
    asked = [expression for tier, expression in later if tier in problem.tiers]
    return [*relaxed.levels, *asked]


def bounded_tiers(problem: Problem) -> int:
    """Return how many tiers, from the first on, the relaxed model bounds."""
    return len(problem.priorities) + sum(tier in problem.tiers for tier in (OPENED, MOVES))
