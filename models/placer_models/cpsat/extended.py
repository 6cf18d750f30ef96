"""The rule about extended resources: plain amounts of a node."""

from ortools.sat.python.cp_model import CpModel, LinearExpr

from placer_models.cpsat.assignment import Variables
from placer_models.problem import Problem


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
