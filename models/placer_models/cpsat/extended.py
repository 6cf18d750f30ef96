"""Extended resources: plain amounts of a node."""

from ortools.sat.python.cp_model import CpModel, LinearExpr

from placer_models.cpsat.assignment import Variables
from placer_models.cpsat.family import Family, always, never
from placer_models.node_state import NodeState
from placer_models.problem import Problem
from placer_models.rule_family import RuleFamily


def room_in_extended(problem: Problem, thing: int, node: NodeState, most: int) -> int:
    """Return how many of so many pods what is left of a node could serve."""
    for asked, left in zip(problem.shapes[thing].extended, node.extended, strict=True):
        most = min(most, left // asked) if asked else most
    return most


def extended_resources_fit(model: CpModel, problem: Problem, x: Variables) -> None:
    """Pods take at most what is left of each extended resource of the node."""
    for node, assignments in zip(problem.nodes, x.on_node, strict=True):
        for index, left in enumerate(node.extended):
            takers = [assignment for assignment in assignments if assignment.shape.extended[index]]
            if takers:
                taken = [
                    assignment.shape.extended[index] * assignment.count for assignment in takers
                ]
                model.add(LinearExpr.sum(taken) <= left)


FAMILY = Family(
    name=RuleFamily.EXTENDED,
    room=room_in_extended,
    rules=(extended_resources_fit,),
    countable=always,
    plain=always,
    sees_links=never,
    exchangeable=always,
)
