"""The rule about extended resources: plain amounts of a node."""

from ortools.sat.python.cp_model import CpModel, LinearExpr

from placer_models.cpsat.variables import Decisions
from placer_models.problem import Problem


def extended_resources_fit(model: CpModel, problem: Problem, x: Decisions) -> None:
    """Pods take at most what is left of each extended resource of the node."""
    for node, seats in zip(problem.nodes, x.on_node, strict=True):
        for index, left in enumerate(node.extended):
            takers = [seat for seat in seats if seat.shape.extended[index]]
            if takers:
                taken = [seat.shape.extended[index] * seat.count for seat in takers]
                model.add(LinearExpr.sum(taken) <= left)
