"""Preferences of pods about the node itself: its labels and its name."""

from ortools.sat.python.cp_model import CpModel, LinearExpr

from placer_models.cpsat.assignment import Expression, PlacementVariables
from placer_models.cpsat.family import ModelFamily, always, never
from placer_models.goals import NODE_PREFERENCE
from placer_models.problem.problem import Problem
from placer_models.rule_family import RuleFamilyName


def missed_node_preference_weight_expr(
    model: CpModel, problem: Problem, x: PlacementVariables
) -> Expression:
    """Sum the weights of what pods would like of their nodes and do not get there."""
    return LinearExpr.sum(
        [
            assignment.fit.weight_missed * assignment.count
            for assignments in x.on_node
            for assignment in assignments
            if assignment.fit.weight_missed
        ]
    )


FAMILY = ModelFamily(
    name=RuleFamilyName.NODE_PREFERENCE,
    tiers={NODE_PREFERENCE: missed_node_preference_weight_expr},
    countable=always,
    plain=always,
    sees_links=never,
    exchangeable=always,
)
