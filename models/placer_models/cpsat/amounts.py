"""Amounts: what pods take of a node in each dimension, wherever in the node it is."""

from ortools.sat.python.cp_model import CpModel, LinearExpr

from placer_models.cpsat.assignment import PlacementVariables
from placer_models.cpsat.family import ModelFamily, always, never
from placer_models.problem.dimensions import times_amounts_fit
from placer_models.problem.node_state import NodeState
from placer_models.problem.problem import Problem
from placer_models.rule_family import RuleFamilyName


def most_pods_by_amounts(problem: Problem, shape: int, node: NodeState, most: int) -> int:
    """Return how many pods of a shape what is left of a node could serve, up to `most`."""
    return times_amounts_fit(problem.shape_on(shape, node).amounts_on(node), node.amounts, most)


def amounts_fit_their_node(model: CpModel, problem: Problem, x: PlacementVariables) -> None:
    """Pods take at most what is left of a node in each dimension, and in its cells together."""
    for node, assignments in zip(problem.nodes, x.on_node, strict=True):
        wants = [assignment.shape.amounts_on(node) for assignment in assignments]
        for index, left in enumerate(node.amounts):
            taken = [
                want[index] * assignment.count
                for want, assignment in zip(wants, assignments, strict=True)
                if want[index]
            ]
            if taken:
                model.add(LinearExpr.sum(taken) <= left)


FAMILY = ModelFamily(
    name=RuleFamilyName.AMOUNTS,
    room=most_pods_by_amounts,
    rules=(amounts_fit_their_node,),
    countable=always,
    plain=always,
    sees_links=never,
    exchangeable=always,
)
