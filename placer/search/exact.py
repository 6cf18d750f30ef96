"""The exact search: the whole batch as one model, optimised tier by tier from a known start."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from ortools.sat.python.cp_model import CpSolver

from placer.search.budget import SolveBudget
from placer.search.cp import (
    SolverError,
    TieredModelSolveResult,
    optimise_expression,
    replace_solver_hints,
    solution_values,
)
from placer.search.first_tier_bounds import keep_tier_value
from placer_models.cluster import Instance
from placer_models.cpsat.batch_model import BatchModel, build_batch_model, pod_units_of
from placer_models.cpsat.places import read_solved_choices, solver_hints_of_choices
from placer_models.goals import NOT_MODELLED, ObjectiveSense, Tier
from placer_models.pod import Gang
from placer_models.problem.node_state import CoreClassGranularity
from placer_models.problem.problem import Choices, Problem
from placer_models.problem.tasks import ProblemGang

Progress = Callable[[str], None]
"""A function that is told in a few words what the search does next."""


def ignore_progress(_: str) -> None:
    """Tell nobody."""


def optimise_tiers(
    batch: BatchModel,
    tiers: Sequence[Tier],
    limits: Sequence[int | None],
    start: Sequence[int],
    first_tiers: int,
    budget: SolveBudget,
    progress: Progress,
    settled: int = 0,
    kept: int = 0,
) -> TieredModelSolveResult[CpSolver]:
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
    best: TieredModelSolveResult[CpSolver] = TieredModelSolveResult(None, tuple(start), ())
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
        keep_tier_value(batch.model, tier, expression, best.values[index])
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
    best: TieredModelSolveResult[CpSolver],
    budget: SolveBudget,
    share: float,
) -> tuple[TieredModelSolveResult[CpSolver], int | None]:
    """Optimise one tier; return what is best then, and the tier's bound."""
    tier = tiers[index]
    if limit is not None and tier.sense is ObjectiveSense.MINIMISE:
        # What is known to be beyond reach need not be looked for (again).
        batch.model.add(batch.tiers[index] >= limit)
    solved = optimise_expression(batch.model, batch.tiers[index], tier.sense, budget, share)
    if solved.infeasible:
        raise SolverError(f"the model has no solution at tier {tier.name}; one is known")
    if solved.solution is not None:
        values = tuple(map(solved.solution.value, batch.tiers))
        if _better(tiers, values, best.values):
            best = replace(best, solution=solved.solution, values=values)
        if best.solution is not None:
            replace_solver_hints(batch.model, solution_values(best.solution))
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


MOST_ASSIGNMENTS = 4_000
"""(unit, node) pairs up to which the tiers before the links are one model."""


def trivial_tier_bounds(problem: Problem) -> list[int | None]:
    """Return a value per tier that nothing can beat, or None, without solving anything."""
    return _limits(((gang.level, gang) for gang in problem.gangs), problem.tiers)


def trivial_bounds_of_instance(instance: Instance, tiers: Sequence[Tier]) -> list[int | None]:
    """Return the same for the tiers of an instance."""
    return _limits(((-gang.priority, gang) for gang in instance.gangs), tiers)


def _limits(
    gangs: Iterable[tuple[int, ProblemGang | Gang]], tiers: Sequence[Tier]
) -> list[int | None]:
    """Return the limits, given each gang with its level, the most important ones first."""
    most: dict[int, int] = {}
    for level, gang in gangs:
        most[level] = most.get(level, 0) + gang.weight * (gang.minimum + len(gang.pods))
    limits: list[int | None] = [most[level] for level in sorted(most)]
    later = tiers[len(limits) :]
    # What is left may be worth more than before, because a fill is no optimum.
    least = (
        0 if t.sense is ObjectiveSense.MINIMISE and t not in NOT_MODELLED else None for t in later
    )
    return [*limits, *least]


def search_exactly(
    problem: Problem,
    start: Choices,
    start_values: Sequence[int],
    budget: SolveBudget,
    progress: Progress,
    limits: Sequence[int | None],
    settled: int = 0,
    kept: int = 0,
) -> TieredModelSolveResult[Choices]:
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
        return TieredModelSolveResult(None, tuple(start_values), tuple(limits))
    replace_solver_hints(batch.model, solver_hints_of_choices(problem, batch.variables, start))
    tiers = problem.tiers[:wanted]
    best = optimise_tiers(
        batch, tiers, limits, start_values, levels, budget, progress, settled, kept
    )
    if best.solution is None:
        return TieredModelSolveResult(None, best.values, best.bounds)
    choices = read_solved_choices(problem, batch.variables, best.solution.value)
    return TieredModelSolveResult(choices, best.values, best.bounds)


CORES_OF_A_SEAT = 8
"""How many core classes add as much to a pair as one more pair would."""


def assignment_count(problem: Problem) -> int:
    """Return how many (unit, node) pairs a model of the whole batch has.

    Where cores are told apart one by one, each of them makes a pair larger.
    """
    each = problem.granularity >= CoreClassGranularity.PAIRS
    of_kind: Counter[int] = Counter()
    for node in problem.nodes:
        of_kind[node.kind] += 1 + (len(node.cores) // CORES_OF_A_SEAT if each else 0)
    units = Counter(unit.shape for unit in pod_units_of(problem))
    return sum(
        count * sum(size for kind, size in of_kind.items() if problem.fits[shape][kind] is not None)
        for shape, count in units.items()
    )
