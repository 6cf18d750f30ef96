"""Bounds of tier 1 by sums over many nodes: an aggregate knapsack for each priority.

Nodes are thrown together, so nothing is known of where a pod goes; in return sums are known that
the relaxed model lacks, such as shares rounded so that two of 60 % take two GPUs. There is a sum
for each resource over all nodes, and over any nodes that some pods are confined to. The model
has a number for each kind of pods, whatever the number of nodes: 4 to 10 ms for 256 pods on 32
nodes, 16 to 210 ms for 2,048 on 256, on two busy cores (the families of `benchmarks/rival.py`).

What binds is a smallest set of resources, each of some nodes, whose sums alone give the bound.
That is looked into only where sums say that not all pods have places, and takes 10 to 100 ms.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from ortools.sat.python.cp_model import CpModel, IntVar, LinearExpr

from placer.search.binding import minimal_set_giving_bound
from placer.search.budget import SolveBudget
from placer.search.cp import is_expression_proven_at_most, optimise_expression
from placer.search.exchanges.node_sums import ExchangeNodeSetCapacityLimit, node_set_capacity_limits
from placer.search.exchanges.room_columns import capacity_left_columns
from placer_models.goals import MEMBER_ABOVE_POINTS, MEMBER_OF_MINIMUM_POINTS, ObjectiveSense
from placer_models.placement import TierBottleneck
from placer_models.problem.problem import Problem

MOST_GANGS = 2_000
"""The most gangs of several pods that are told apart."""

PlacedCount = LinearExpr | IntVar | int


@dataclass(frozen=True, slots=True)
class PlacedTierBoundsBySums:
    """Bounds, one for each sub-tier of tier 1.

    Attributes:
        bounds: None where nothing is known.
        binds: Where sums give the bound: what binds. Empty where a limit does, or the time
            was over before it was known.

    """

    bounds: list[int | None]
    binds: list[tuple[TierBottleneck, ...]]


def bound_by_sums(
    problem: Problem,
    values: Sequence[int],
    limits: Sequence[int | None],
    budget: SolveBudget,
) -> PlacedTierBoundsBySums:
    """Return a bound for each sub-tier of tier 1, none of them wider than its limit.

    Args:
        problem: The batch.
        values: What a known placement reaches, level by level (later tiers ignored).
        limits: What nothing can beat, level by level.
        budget: Bounds the solves.

    """
    levels = len(problem.priorities)
    found = PlacedTierBoundsBySums(list(limits[:levels]), [()] * levels)
    several = sum(len(gang.pods) > 1 for gang in problem.gangs)
    if problem.homes or several > MOST_GANGS or budget.over:
        return found  # Pods that may move take room that is not free now.
    columns = capacity_left_columns(problem, problem.nodes, range(len(problem.pods)))
    if columns is None:
        return found
    sums = list(node_set_capacity_limits(problem, columns, Counter(problem.pods)))
    for level in range(levels):
        if values[level] != found.bounds[level] and not budget.over:
            share = budget.slice(levels - level)
            model, points = _model(problem, sums, values, level)
            solved = optimise_expression(
                model, points[level], ObjectiveSense.MAXIMISE, budget, share
            )
            bound, limit = solved.bounds[0], found.bounds[level]
            if bound is not None and (limit is None or bound < limit):
                found.bounds[level] = bound
    for level, (bound, limit) in enumerate(zip(found.bounds, limits, strict=False)):
        if bound is not None and bound != limit:
            found.binds[level] = _binding(problem, sums, values, level, bound, budget)
    return found


def _binding(
    problem: Problem,
    sums: Sequence[ExchangeNodeSetCapacityLimit],
    values: Sequence[int],
    level: int,
    bound: int,
    budget: SolveBudget,
) -> tuple[TierBottleneck, ...]:
    """Return resources that give the bound alone, and none of which can be left out.

    Sums over some nodes are left out first: what holds for all nodes is said more plainly.
    """
    everything = list(dict.fromkeys(each.what for each in sums))
    questions_left = iter(range(len(everything), 0, -1))

    def give_bound(counted: Collection[TierBottleneck]) -> bool | None:
        if budget.over:
            return None
        rest = [each for each in sums if each.what in counted]
        model, points = _model(problem, rest, values, level)
        return is_expression_proven_at_most(
            model, points[level], bound, budget, budget.slice(next(questions_left))
        )

    groups = [(what,) for what in sorted(everything, key=lambda one: one.nodes is None)]
    return tuple(minimal_set_giving_bound(everything, groups, give_bound))


def _model(
    problem: Problem,
    sums: Sequence[ExchangeNodeSetCapacityLimit],
    values: Sequence[int],
    level: int,
) -> tuple[CpModel, list[LinearExpr]]:
    """Return how many pods of each kind are placed, and what that is worth level by level.

    In the model levels before this one keep what they have reached.
    """
    model = CpModel()
    placed: defaultdict[int, list[PlacedCount]] = defaultdict(list)
    points: list[list[PlacedCount]] = [[] for _ in problem.priorities]
    lone = Counter(
        (problem.pods[gang.pods[0]], gang.level, gang.weight)
        for gang in problem.gangs
        if len(gang.pods) == 1
    )
    for (shape, of_level, weight), count in lone.items():
        number = model.new_int_var(0, count, f"placed[{shape},{of_level},{weight}]")
        placed[shape].append(number)
        points[of_level].append(MEMBER_OF_MINIMUM_POINTS * weight * number)
    for index, gang in enumerate(problem.gangs):
        if len(gang.pods) > 1:
            there = model.new_bool_var(f"gang[{index}]")
            members: list[PlacedCount] = []
            for shape, count in Counter(problem.pods[pod] for pod in gang.pods).items():
                number = model.new_int_var(0, count, f"placed[{index},{shape}]")
                model.add(number <= count * there)
                members.append(number)
                placed[shape].append(number)
            model.add(sum(members) >= gang.minimum * there)
            of_minimum = MEMBER_OF_MINIMUM_POINTS - MEMBER_ABOVE_POINTS
            points[gang.level].append(
                gang.weight
                * (MEMBER_ABOVE_POINTS * sum(members) + of_minimum * gang.minimum * there)
            )
    for each in sums:
        model.add(
            sum(size * count for shape, size in each.sizes for count in placed[shape]) <= each.room
        )
    worth = [LinearExpr.sum(parts) for parts in points]
    for before in range(level):
        model.add(worth[before] >= values[before])
    return model, worth
