"""Bounds of the first tiers, for batches too large for the whole model."""

from collections.abc import Collection, Iterator, Sequence

from ortools.sat.python.cp_model import CpModel, IntVar

from placer.search.binding import OfClass, bottlenecks
from placer.search.bound_notes import Bounds, TierBoundOrigins
from placer.search.budget import SolveBudget
from placer.search.cp import (
    is_expression_proven_at_most,
    optimise_expression,
    replace_solver_hints,
    solution_values,
)
from placer_models.cpsat.assignment import Expression
from placer_models.cpsat.relaxed import (
    RelaxedModel,
    build_relaxed_model,
    relaxed_model_of_resources,
)
from placer_models.goals import MOVES, OPENED, ObjectiveSense, Tier
from placer_models.placement import TierBottleneck, TierBoundSource
from placer_models.problem.problem import Problem

SHARE_OF_BINDING = 0.3
"""The share of the time that is left for what binds the relaxed model's bound of a level."""


def bound_first_tiers(
    problem: Problem,
    values: Sequence[int],
    limits: Sequence[int | None],
    budget: SolveBudget,
) -> list[int | None]:
    """Return a bound for each sub-tier of tier 1, and for ``opened`` and ``moves`` if asked for.

    Args:
        problem: The whole batch.
        values: What a known placement reaches, tier by tier (later tiers ignored).
        limits: What nothing can beat, tier by tier.
        budget: Bounds the solves.

    """
    count = relaxed_tier_count(problem)
    if list(values[:count]) == list(limits[:count]):
        return list(limits[:count])
    relaxed = build_relaxed_model(problem, lambda: budget.over)
    if relaxed is None:
        return list(limits[:count])
    # A solution is hinted from the start: without one CP-SAT's bound says nothing.
    replace_solver_hints(relaxed.model, relaxed_no_change_solver_hints(relaxed))
    bounds: list[int | None] = []
    tiers = zip(problem.tiers[:count], values, limits, strict=False)
    for (tier, value, limit), expression in zip(
        tiers, relaxed_tier_expressions(problem, relaxed), strict=True
    ):
        bound = limit
        if value != limit and not budget.over:
            share = budget.slice(count - len(bounds))
            solved = optimise_expression(relaxed.model, expression, tier.sense, budget, share)
            found = solved.bounds[0]
            if found is not None and (limit is None or tier.better(limit, found)):
                bound = found
            if solved.solution is not None:
                replace_solver_hints(relaxed.model, solution_values(solved.solution))
        bounds.append(bound)
        # Later tiers are bounded among placements that keep what this one reached.
        keep_tier_value(relaxed.model, tier, expression, value)
    return bounds


def note_tier_bottlenecks(
    known: TierBoundOrigins,
    problem: Problem,
    values: Sequence[int],
    bounds: Bounds,
    budget: SolveBudget,
) -> None:
    """Note what binds the levels of tier 1 whose bounds come from the relaxed model.

    Args:
        known: Has where bounds come from, and gets what binds.
        problem: The whole batch.
        values: What a known placement reaches, tier by tier.
        bounds: One per tier.
        budget: A share of it may be spent.

    """
    for level, _ in enumerate(problem.priorities):
        bound, source = bounds[level], known.sources[level]
        if bound is not None and source is TierBoundSource.RELAXED_MODEL and not known.binds[level]:
            part = budget.part(SHARE_OF_BINDING * budget.left)
            known.binds[level] = resources_limiting_placed_pods(problem, values, level, bound, part)
            budget.spend(part)


def resources_limiting_placed_pods(
    problem: Problem, values: Sequence[int], level: int, bound: int, budget: SolveBudget
) -> tuple[TierBottleneck, ...]:
    """Return the resources that give the relaxed model's bound of a level alone.

    Args:
        problem: The whole batch.
        values: What earlier levels reach.
        level: The index of the priority.
        bound: Its bound.
        budget: Bounds the solves.

    Returns:
        Empty if that is not known: the time was over.

    """
    relaxed = build_relaxed_model(problem, lambda: budget.over)
    if relaxed is None:
        return ()
    having: list[dict[str, list[str]]] = [{} for _ in relaxed.classes]
    lacking: set[OfClass] = set()
    for c, alike in enumerate(relaxed.classes):
        for asked in alike.demands.values():
            for (resource, _), (has, _) in (asked or {}).items():
                if has:
                    having[c][resource] = [problem.nodes[i].name for i in alike.nodes]
                else:
                    lacking.add((resource, c))

    def give_bound(counted: Collection[OfClass]) -> bool | None:
        only = lacking.union(counted)
        fewer = relaxed_model_of_resources(problem, relaxed, only, lambda: budget.over)
        if fewer is None:
            return None
        for before in range(level):
            fewer.model.add(fewer.levels[before] >= values[before])
        return is_expression_proven_at_most(
            fewer.model, fewer.levels[level], bound, budget, budget.left / 2
        )

    return bottlenecks([of.items() for of in having], len(problem.nodes), give_bound)


def relaxed_no_change_solver_hints(relaxed: RelaxedModel) -> Iterator[tuple[int, int]]:
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
    model.add(expression >= value if tier.sense is ObjectiveSense.MAXIMISE else expression <= value)


def relaxed_tier_expressions(problem: Problem, relaxed: RelaxedModel) -> list[Expression]:
    """Return an expression for each of the tiers that the relaxed model bounds."""
    later = ((OPENED, relaxed.opened), (MOVES, relaxed.moves))
    asked = [expression for tier, expression in later if tier in problem.tiers]
    return [*relaxed.levels, *asked]


def relaxed_tier_count(problem: Problem) -> int:
    """Return how many tiers, from the first on, the relaxed model bounds."""
    return len(problem.priorities) + sum(tier in problem.tiers for tier in (OPENED, MOVES))
