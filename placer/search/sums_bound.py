"""Bounds of tier 1 by sums over all nodes: an aggregate knapsack for each priority.

Nodes are thrown together, so nothing is known of where a pod goes; in return sums are known that
the relaxed model lacks, such as shares rounded so that two of 60 % take two GPUs. The model
has a number for each kind of pods, whatever the number of nodes: 4 to 10 ms for 256 pods on 32
nodes, 16 to 210 ms for 2,048 on 256, on two busy cores (the families of `benchmarks/rival.py`).
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from ortools.sat.python.cp_model import CpModel, IntVar, LinearExpr

from placer.search.budget import Budget
from placer.search.cp import optimise
from placer.search.exchanges.room_columns import NodeColumns, columns_of
from placer_models.goals import MEMBER_ABOVE_POINTS, MEMBER_OF_MINIMUM_POINTS, Sense
from placer_models.problem import Problem

MOST_GANGS = 2_000
"""The most gangs of several pods that are told apart."""

PlacedCount = LinearExpr | IntVar | int


def bound_by_sums(
    problem: Problem,
    values: Sequence[int],
    limits: Sequence[int | None],
    budget: Budget,
) -> list[int | None]:
    """Return a bound for each sub-tier of tier 1, none of them wider than its limit.

    Args:
        problem: The batch.
        values: What a known placement reaches, level by level (later tiers ignored).
        limits: What nothing can beat, level by level.
        budget: Bounds the solves.

    """
    bounds = list(limits[: len(problem.priorities)])
    several = sum(len(gang.pods) > 1 for gang in problem.gangs)
    if problem.homes or several > MOST_GANGS or budget.over:
        return bounds  # Pods that may move take room that is not free now.
    columns = columns_of(problem, problem.nodes, range(len(problem.pods)))
    if columns is None:
        return bounds
    model, levels = _model(problem, columns)
    for level, (value, limit) in enumerate(zip(values, bounds, strict=False)):
        if value != limit and not budget.over:
            share = budget.slice(len(bounds) - level)
            bound = optimise(model, levels[level], Sense.MAXIMISE, budget, share).bound
            if bound is not None and (limit is None or bound < limit):
                bounds[level] = bound
        # Later levels are bounded among placements that keep what this one reached.
        model.add(levels[level] >= value)
    return bounds


def _model(problem: Problem, columns: NodeColumns) -> tuple[CpModel, list[LinearExpr]]:
    """Return how many pods of each kind are placed, and what that is worth level by level."""
    model = CpModel()
    placed: defaultdict[int, list[PlacedCount]] = defaultdict(list)
    points: list[list[PlacedCount]] = [[] for _ in problem.priorities]
    lone = Counter(
        (problem.pods[gang.pods[0]], gang.level, gang.weight)
        for gang in problem.gangs
        if len(gang.pods) == 1
    )
    for (thing, level, weight), count in lone.items():
        number = model.new_int_var(0, count, f"placed[{thing},{level},{weight}]")
        placed[thing].append(number)
        points[level].append(MEMBER_OF_MINIMUM_POINTS * weight * number)
    for index, gang in enumerate(problem.gangs):
        if len(gang.pods) > 1:
            there = model.new_bool_var(f"gang[{index}]")
            members: list[PlacedCount] = []
            for thing, count in Counter(problem.pods[pod] for pod in gang.pods).items():
                number = model.new_int_var(0, count, f"placed[{index},{thing}]")
                model.add(number <= count * there)
                members.append(number)
                placed[thing].append(number)
            model.add(sum(members) >= gang.minimum * there)
            of_minimum = MEMBER_OF_MINIMUM_POINTS - MEMBER_ABOVE_POINTS
            points[gang.level].append(
                gang.weight
                * (MEMBER_ABOVE_POINTS * sum(members) + of_minimum * gang.minimum * there)
            )
    for sizes, room in _sums(columns):
        model.add(
            sum(int(size) * count for thing, size in sizes for count in placed[thing]) <= room
        )
    return model, [LinearExpr.sum(of_level) for of_level in points]


def _sums(columns: NodeColumns) -> Iterator[tuple[list[tuple[int, float]], int]]:
    """Yield, for each column, what pods of the shapes take and what all nodes have."""
    for d in range(columns.room.shape[1]):
        sizes = [(thing, size) for thing, size in enumerate(columns.sizes[:, d].tolist()) if size]
        yield sizes, int(columns.room[:, d].sum())
