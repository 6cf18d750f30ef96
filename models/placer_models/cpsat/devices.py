"""Rules about whole devices (D1, D5 to D7)."""

from ortools.sat.python.cp_model import CpModel, LinearExpr

from placer_models.cpsat.assignment import Variables
from placer_models.cpsat.share_seats import opened_in
from placer_models.device import GPU
from placer_models.problem import Problem


def a_pod_has_the_devices_it_asks_for(model: CpModel, problem: Problem, x: Variables) -> None:
    """Whole devices of all twin classes together are the request of the assignment's pods.

    GPUs that are picked as a set are right by the set.
    """
    for assignment in x.assignments:
        for bank, taken in zip(
            problem.nodes[assignment.node].banks, assignment.devices, strict=True
        ):
            size = assignment.shape.whole_of(bank.type)
            picked = (
                bank.type == GPU and assignment.picks and size == assignment.shape.count_of(GPU)
            )
            if size and len(bank.free) > 1 and not picked:
                model.add(LinearExpr.sum(list(taken)) == size * assignment.count)


def a_pod_has_one_gpu_set(model: CpModel, problem: Problem, x: Variables) -> None:
    """Where GPU sets differ, a placed pod picks exactly one."""
    for assignment in x.assignments:
        if assignment.picks:
            model.add(
                LinearExpr.sum([literal for _, literal in assignment.picks]) == assignment.count
            )


def devices_fit(model: CpModel, problem: Problem, x: Variables) -> None:
    """A whole device has one holder, and nobody has shares of it."""
    for node, assignments, opened in zip(problem.nodes, x.on_node, x.opened, strict=True):
        for index, bank in enumerate(node.banks):
            takers = [
                assignment for assignment in assignments if assignment.shape.whole_of(bank.type)
            ]
            for twin, free in enumerate(bank.free):
                if takers:
                    taken = [assignment.devices[index][twin] for assignment in takers]
                    shared = opened_in(opened, index, twin)
                    model.add(LinearExpr.sum([*taken, *shared]) <= free)
