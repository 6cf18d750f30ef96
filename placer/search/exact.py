"""The whole batch as one model: a start in, the best choices and bounds out."""

from collections.abc import Sequence

from placer.search.budget import Budget
from placer.search.cp import hint
from placer.search.model_answer import ModelAnswer
from placer.search.tiers import Progress, optimise_tiers
from placer_models.cpsat.batch_model import build_batch_model
from placer_models.cpsat.places import choices_of, hint_of
from placer_models.goals import NOT_MODELLED, Sense
from placer_models.problem.problem import Choices, Problem

MOST_ASSIGNMENTS = 4_000
"""(unit, node) pairs up to which the tiers before the links are one model."""


def limits_of(problem: Problem) -> list[int | None]:
    """Return a value per tier that nothing can beat, or None, without solving anything."""
    limits: list[int | None] = []
    for level in range(len(problem.priorities)):
        gangs = [gang for gang in problem.gangs if gang.level == level]
        limits.append(sum(g.weight * (g.minimum + len(g.pods)) for g in gangs))
    later = problem.tiers[len(limits) :]
    # What is left may be worth more than before, because a fill is no optimum.
    least = (0 if t.sense is Sense.MINIMISE and t not in NOT_MODELLED else None for t in later)
    return [*limits, *least]


def search_exactly(
    problem: Problem,
    start: Choices,
    start_values: Sequence[int],
    budget: Budget,
    progress: Progress,
    limits: Sequence[int | None],
    settled: int = 0,
    kept: int = 0,
) -> ModelAnswer[Choices]:
    """Optimise tiers over the whole model.

    Args:
        problem: The batch.
        start: Choices that are known to be right.
        start_values: What the judge says the start is worth, for as many tiers as are
            wanted, from the first on.
        budget: Bounds the whole search.
        progress: Told what is done next.
        limits: Per tier, what nothing can beat that is as good as the start in earlier tiers.
        settled: How many leading tiers are done already; their limits are their bounds.
        kept: How many even shares of the time are left to what comes after.

    Returns:
        The best choices, unless nothing is better than the start, and what the model says of them.

    Raises:
        SolverError: The model is at odds with the start: a defect of ours.

    """
    progress("writing the model")
    wanted = len(start_values)
    levels = len(problem.priorities)
    limits = limits[:wanted]
    batch = build_batch_model(problem, tiers=wanted, stop=lambda: budget.over)
    if batch is None or budget.over:
        return ModelAnswer(None, tuple(start_values), tuple(limits))
    hint(batch.model, hint_of(problem, batch.variables, start))
    tiers = problem.tiers[:wanted]
    best = optimise_tiers(
        batch, tiers, limits, start_values, levels, budget, progress, settled, kept
    )
    if best.solution is None:
        return ModelAnswer(None, best.values, best.bounds)
    choices = choices_of(problem, batch.variables, best.solution.value)
    return ModelAnswer(choices, best.values, best.bounds)
