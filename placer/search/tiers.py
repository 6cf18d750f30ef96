"""Tiers, optimised one after the other, while what earlier ones reached is kept."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from ortools.sat.python.cp_model import CpSolver

from placer.search.budget import Budget
from placer.search.cp import SolverError, hint, optimise, variables_of
from placer.search.model_answer import ModelAnswer
from placer_models.cpsat.batch_model import BatchModel
from placer_models.goals import Sense, Tier

Progress = Callable[[str], None]
"""A function that is told in a few words what the search does next."""


def silent(_: str) -> None:
    """Tell nobody."""


def optimise_tiers(
    batch: BatchModel,
    tiers: Sequence[Tier],
    limits: Sequence[int | None],
    start: Sequence[int],
    first_tiers: int,
    budget: Budget,
    progress: Progress,
    settled: int = 0,
    kept: int = 0,
) -> ModelAnswer[CpSolver]:
    """Optimise tier by tier.

    Args:
        batch: The model, in which a known start may stand as a hint. It gets one
            constraint per tier.
        tiers: The tiers of the model's expressions, in order.
        limits: Per tier, a value that nothing can beat, or None if unknown.
        start: The values of a known placement.
        first_tiers: How many leading tiers are sub-tiers of tier 1.
        budget: Bounds the whole.
        progress: Told which tier is next.
        settled: How many leading tiers are done: the start's values are kept there,
            and nothing is solved.
        kept: How many even shares of the time are left to what comes after.

    Returns:
        Values that are lexicographically no worse than the start, with bounds. There is no solution
        while they are the start's own.

    """
    best: ModelAnswer[CpSolver] = ModelAnswer(None, tuple(start), ())
    for index, (tier, expression, limit) in enumerate(zip(tiers, batch.tiers, limits, strict=True)):
        bound = limit
        if index < settled or (limit is not None and best.values[index] == limit):
            pass
        elif isinstance(expression, int):
            bound = expression
        elif not budget.over:
            progress(f"tier {index + 1} of {len(tiers)}: {tier.name}")
            share = (
                budget.first_tier_slice()
                if index < first_tiers
                else budget.slice(_open(best.values, limits, index) + kept)
            )
            best, bound = _one_tier(batch, tiers, index, limit, best, budget, share)
        best = replace(best, bounds=(*best.bounds, bound))
        value = best.values[index]
        batch.model.add(
            expression >= value if tier.sense is Sense.MAXIMISE else expression <= value
        )
    return best


def _open(values: Sequence[int], limits: Sequence[int | None], first: int) -> int:
    """Return how many tiers, from index ``first`` on, are not as good as can be."""
    pairs = zip(values[first:], limits[first:], strict=True)
    return sum(value != limit for value, limit in pairs)


def _one_tier(
    batch: BatchModel,
    tiers: Sequence[Tier],
    index: int,
    limit: int | None,
    best: ModelAnswer[CpSolver],
    budget: Budget,
    share: float,
) -> tuple[ModelAnswer[CpSolver], int | None]:
    """Optimise one tier; return what is best then, and the tier's bound."""
    tier = tiers[index]
    if limit is not None and tier.sense is Sense.MINIMISE:
        # What is known to be beyond reach need not be looked for (again).
        batch.model.add(batch.tiers[index] >= limit)
    solved = optimise(batch.model, batch.tiers[index], tier.sense, budget, share)
    if solved.infeasible:
        raise SolverError(f"the model has no solution at tier {tier.name}; one is known")
    if solved.solution is not None:
        values = tuple(map(solved.solution.value, batch.tiers))
        if _better(tiers, values, best.values):
            best = replace(best, solution=solved.solution, values=values)
        if best.solution is not None:
            hint(batch.model, variables_of(best.solution))
    bound = solved.bounds[0]
    if limit is not None and (bound is None or tier.better(bound, limit)):
        bound = limit
    value = best.values[index]
    if bound is not None and tier.better(value, bound):
        raise SolverError(f"tier {tier.name}: {value} was reached, but {bound} is its bound")
    return best, bound


def _better(tiers: Sequence[Tier], a: Sequence[int], b: Sequence[int]) -> bool:
    for tier, x, y in zip(tiers, a, b, strict=True):
        if x != y:
            return tier.better(x, y)
    return False
