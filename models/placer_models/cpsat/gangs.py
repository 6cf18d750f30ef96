"""Gangs and their pods as wholes: minimums, groups of gangs, gathering on a node (G1, D8)."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from ortools.sat.python.cp_model import CpModel, IntVar, LinearExpr

from placer_models.cpsat.assignment import Assignment, Expression, PlacementVariables
from placer_models.cpsat.family import Hint, KnownPlacement, ModelFamily, always, never
from placer_models.goals import MEMBER_ABOVE_POINTS, MEMBER_OF_MINIMUM_POINTS
from placer_models.problem.problem import Problem
from placer_models.rule_family import RuleFamilyName


@dataclass(frozen=True, slots=True)
class GangVariables:
    """For each gang, whether it runs; None for a lone pod."""

    of_gang: tuple[IntVar | None, ...]


def reached_gang_vars(model: CpModel, problem: Problem, x: PlacementVariables) -> GangVariables:
    """Create a literal for each gang whose pods are not counted as lone ones."""
    in_gang = {unit.gang for unit in x.units}
    return GangVariables(
        tuple(
            model.new_bool_var(f"reached[{index}]") if index in in_gang else None
            for index in range(len(problem.gangs))
        )
    )


def a_pod_has_one_place_at_most(model: CpModel, problem: Problem, x: PlacementVariables) -> None:
    """No more pods of a unit are placed than it has."""
    for index, unit in enumerate(x.units):
        if len(x.of_unit[index]) > 1:
            model.add(x.placed(index) <= len(unit.pods))


def a_gang_reaches_its_minimum_or_stays_out(
    model: CpModel, problem: Problem, x: PlacementVariables
) -> None:
    """The placed members of a gang are none, or at least its minimum."""
    for index, gang in enumerate(problem.gangs):
        reached = x.part(GangVariables).of_gang[index]
        if reached is None:
            continue
        members = LinearExpr.sum([x.placed(unit) for unit in x.units_of_gang(index)])
        model.add(members >= gang.minimum * reached)
        model.add(members <= len(gang.pods) * reached)


def a_group_of_gangs_runs_whole_or_not(
    model: CpModel, problem: Problem, x: PlacementVariables
) -> None:
    """The gangs of a group all reach their minimum, or none does."""
    groups: defaultdict[int, list[Expression]] = defaultdict(list)
    for gang, reached in zip(problem.gangs, x.part(GangVariables).of_gang, strict=True):
        if gang.group is not None and reached is not None:
            groups[gang.group].append(reached)
    for first, *others in groups.values():
        for other in others:
            model.add(first == other)


def a_gathered_gang_is_on_one_node(model: CpModel, problem: Problem, x: PlacementVariables) -> None:
    """All placed members of a gathered gang are on one node."""
    for index, gang in enumerate(problem.gangs):
        if not gang.gathered or len(gang.pods) == 1:
            continue
        by_node: defaultdict[int, list[Assignment]] = defaultdict(list)
        for unit in x.units_of_gang(index):
            for assignment in x.of_unit[unit]:
                by_node[assignment.node].append(assignment)
        here = []
        for node, assignments in by_node.items():
            literal = model.new_bool_var(f"here[{index},{problem.nodes[node].name}]")
            here.append(literal)
            for assignment in assignments:
                model.add(assignment.count <= assignment.most * literal)
        model.add_at_most_one(here)


def equal_units_come_in_order(model: CpModel, problem: Problem, x: PlacementVariables) -> None:
    """Of interchangeable units, earlier ones are on earlier nodes, and unplaced ones come last.

    This cuts off only renamings of other placements.
    """
    families: defaultdict[int, list[int]] = defaultdict(list)
    for index, unit in enumerate(x.units):
        families[unit.family].append(index)
    beyond = len(problem.nodes)
    for members in families.values():
        ranks = [
            LinearExpr.weighted_sum(
                [assignment.count for assignment in x.of_unit[index]],
                [assignment.node - beyond for assignment in x.of_unit[index]],
            )
            for index in members
        ]
        for earlier, later in pairwise(ranks):
            model.add(earlier <= later)


def placed_tier_points_of_priority_expr(
    problem: Problem, x: PlacementVariables, level: int
) -> Expression:
    """Count the points of a priority level's placed pods and running gangs."""
    above = MEMBER_ABOVE_POINTS
    lead = MEMBER_OF_MINIMUM_POINTS - above
    terms: list[Expression] = []
    for index, unit in enumerate(x.units):
        if unit.level == level:
            points = above if unit.gang is not None else MEMBER_OF_MINIMUM_POINTS
            terms.append(unit.weight * points * x.placed(index))
    for gang, reached in zip(problem.gangs, x.part(GangVariables).of_gang, strict=True):
        if gang.level == level and reached is not None:
            terms.append(gang.weight * lead * gang.minimum * reached)
    return LinearExpr.sum(terms)


def assignment_pod_count_solver_hints(
    problem: Problem, x: PlacementVariables, known: KnownPlacement
) -> Iterator[Hint]:
    """Yield hints for how many pods each assignment has."""
    for assignment, choices in known.at:
        yield assignment.count.index, len(choices)


FAMILY = ModelFamily(
    name=RuleFamilyName.GANGS,
    decide_all=reached_gang_vars,
    rules=(
        a_pod_has_one_place_at_most,
        a_gang_reaches_its_minimum_or_stays_out,
        a_group_of_gangs_runs_whole_or_not,
        a_gathered_gang_is_on_one_node,
    ),
    cuts=(equal_units_come_in_order,),
    hint=assignment_pod_count_solver_hints,
    countable=always,
    plain=always,
    sees_links=never,
    exchangeable=always,
)
