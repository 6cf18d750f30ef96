"""How much better tier 1 could be, for batches too large for the whole model."""

from collections.abc import Sequence

from placer.search.budget import Budget
from placer.search.cp import optimise
from placer_models.cpsat.relaxed import build_relaxed_model
from placer_models.goals import Sense
from placer_models.problem import Problem


def bound_first_tiers(
    problem: Problem,
    values: Sequence[int],
    limits: Sequence[int | None],
    budget: Budget,
) -> list[int | None]:
    """Return a bound for each sub-tier of tier 1.

    Args:
        problem: The whole batch.
        values: What a known placement reaches, level by level (later tiers ignored).
        limits: What nothing can beat, level by level.
        budget: Bounds the solves.

    """
    levels = len(problem.priorities)
    if list(values[:levels]) == list(limits[:levels]):
        return list(limits[:levels])
    relaxed = build_relaxed_model(problem, lambda: budget.over)
    if relaxed is None:
        return list(limits[:levels])
    bounds: list[int | None] = []
    for value, limit, expression in zip(values, limits, relaxed.levels, strict=False):
        bound = limit
        if value != limit and not budget.over:
            solved = optimise(relaxed.model, expression, Sense.MAXIMISE, budget, budget.slice(4))
            if solved.bound is not None and (limit is None or solved.bound < limit):
                bound = solved.bound
        bounds.append(bound)
        # Later levels are bounded among placements that keep what this one reached.
        relaxed.model.add(expression >= value)
    return bounds
