"""How much better the first tiers could be, for batches too large for the whole model."""

from collections.abc import Sequence

from placer.search.budget import Budget
from placer.search.cp import optimise
from placer_models.cpsat.relaxed import build_relaxed_model
from placer_models.goals import OPENED, Sense
from placer_models.problem import Problem


def bound_first_tiers(
    problem: Problem,
    values: Sequence[int],
    limits: Sequence[int | None],
    budget: Budget,
) -> list[int | None]:
    """Return a bound for each sub-tier of tier 1, and for tier ``opened`` where there is one.

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
    bounds: list[int | None] = []
    tiers = zip(problem.tiers[:count], values, limits, strict=False)
    for (tier, value, limit), expression in zip(
        tiers, (*relaxed.levels, relaxed.opened), strict=False
    ):
        bound = limit
        if value != limit and not budget.over:
            solved = optimise(relaxed.model, expression, tier.sense, budget, budget.slice(4))
            if solved.bound is not None and (limit is None or tier.better(limit, solved.bound)):
                bound = solved.bound
        bounds.append(bound)
        # Later tiers are bounded among placements that keep what this one reached.
        if tier.sense is Sense.MAXIMISE:
            relaxed.model.add(expression >= value)
    return bounds


def bounded_tiers(problem: Problem) -> int:
    """Return how many tiers, from the first on, the relaxed model bounds."""
    return len(problem.priorities) + (OPENED in problem.tiers)
