"""NUMA allocate strategies of nodes, and what they count (C11)."""

from collections.abc import Sequence
from typing import assert_never

from ortools.sat.python.cp_model import CpModel, LinearExpr

from placer_models.cpsat.assignment import Assignment, Expression, PlacementVariables
from placer_models.cpsat.cpus import existing_core_take_vars
from placer_models.cpsat.family import ModelFamily, always, never
from placer_models.cpsat.localities import TouchedCoreGroupVariables, existing_locality_vars
from placer_models.goals import NUMA_STRATEGY
from placer_models.policy import NumaStrategy
from placer_models.problem.node_state import NodeState
from placer_models.problem.numa_strategy import (
    NumaStrategyOnCells,
    fewest_pairs_in_same_part,
    unordered_pair_count,
)
from placer_models.problem.problem import Problem
from placer_models.rule_family import RuleFamilyName

Sharer = tuple[Assignment, TouchedCoreGroupVariables]
"""A pod that owns CPUs on a node with a strategy, and the cells it touches."""


def numa_strategy_departures_expr(
    model: CpModel, problem: Problem, x: PlacementVariables
) -> Expression:
    """Count what departs from the strategies of nodes."""
    terms: list[Expression] = []
    for node, assignments in zip(problem.nodes, x.on_node, strict=True):
        touching = [
            (assignment, existing_locality_vars(assignment).cells) for assignment in assignments
        ]
        sharers = [(assignment, cells) for assignment, cells in touching if cells is not None]
        if node.strategy is not None and sharers:
            terms.append(_on_node(model, node, node.strategy, sharers))
    return LinearExpr.sum(terms)


def _on_node(
    model: CpModel, node: NodeState, chosen: NumaStrategyOnCells, sharers: Sequence[Sharer]
) -> Expression:
    beyond = LinearExpr.sum(
        [
            LinearExpr.sum(list(span.touched)) - span.fewest * assignment.count
            for assignment, span in sharers
        ]
    )
    match chosen.strategy:
        case NumaStrategy.MOST_ALLOCATED:
            return chosen.points * beyond + _free_beside(node, chosen, sharers)
        case NumaStrategy.LEAST_ALLOCATED:
            return chosen.points * beyond + _crowded(model, node, chosen, sharers)
        case NumaStrategy.DISTRIBUTE_EVENLY:
            uneven = [_unevenness(model, node, sharer) for sharer in sharers]
            return chosen.points * LinearExpr.sum(uneven) + beyond
        case never:
            assert_never(never)


def _free_beside(
    node: NodeState, chosen: NumaStrategyOnCells, sharers: Sequence[Sharer]
) -> Expression:
    """Count for each owned CPU how many more CPUs were free in its cell than in the fullest one."""
    return LinearExpr.sum(
        [
            (chosen.free[c.cell] - chosen.least_free) * _cpus(node, assignment, [i])
            for assignment, _ in sharers
            for i, c in enumerate(node.cores)
        ]
    )


def _crowded(
    model: CpModel, node: NodeState, chosen: NumaStrategyOnCells, sharers: Sequence[Sharer]
) -> Expression:
    """Count pairs of CPUs in one cell, beyond the fewest that pods must have within themselves.

    The count is convex in the CPUs of a cell, so straight lines from below are exact.
    """
    terms: list[Expression] = []
    for cell, free in enumerate(chosen.free):
        classes = [i for i, c in enumerate(node.cores) if c.cell == cell]
        if not classes:
            continue
        busy = chosen.most_free - free
        taken = model.new_int_var(0, free, f"strategy_cpus[{node.name},{cell}]")
        model.add(
            taken == LinearExpr.sum([_cpus(node, assignment, classes) for assignment, _ in sharers])
        )
        most = unordered_pair_count(busy + free) - unordered_pair_count(busy)
        found = model.new_int_var(0, most, f"strategy_pairs[{node.name},{cell}]")
        for count in range(free):
            below = unordered_pair_count(busy + count) - unordered_pair_count(busy)
            model.add(found >= below + (busy + count) * (taken - count))
        terms.append(found)
    own = [
        fewest_pairs_in_same_part(assignment.shape.owned_cpus, span.fewest) * assignment.count
        for assignment, span in sharers
    ]
    return LinearExpr.sum(terms) - LinearExpr.sum(own)


def _unevenness(model: CpModel, node: NodeState, sharer: Sharer) -> Expression:
    """Return by how many CPUs the pod's cells differ more than they may."""
    assignment, span = sharer
    want = assignment.shape.owned_cpus
    name = f"[{assignment.unit},{node.name}]"
    high = model.new_int_var(0, want, f"strategy_high{name}")
    low = model.new_int_var(0, want, f"strategy_low{name}")
    for classes, touched in zip(span.groups, span.touched, strict=True):
        cpus = _cpus(node, assignment, classes)
        model.add(high >= cpus)
        model.add(low <= cpus + want * (1 - touched))
    uneven = model.new_int_var(0, want, f"strategy_uneven{name}")
    model.add(uneven >= high - low - assignment.fit.cpus_apart)
    return uneven


def _cpus(node: NodeState, assignment: Assignment, classes: Sequence[int]) -> Expression:
    cores = existing_core_take_vars(assignment)
    return LinearExpr.sum([cores[i].cpus(node.cores[i]) for i in classes])


FAMILY = ModelFamily(
    name=RuleFamilyName.NUMA_STRATEGY,
    tiers={NUMA_STRATEGY: numa_strategy_departures_expr},
    countable=always,
    plain=always,
    sees_links=never,
    exchangeable=always,
)
