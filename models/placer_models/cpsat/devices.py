"""Rules about whole devices (D1, D5 to D7)."""

from ortools.sat.python.cp_model import CpModel, LinearExpr

from placer_models.cpsat.share_seats import opened_in
from placer_models.cpsat.variables import Decisions
from placer_models.device import GPU
from placer_models.problem import Problem


def a_pod_has_the_devices_it_asks_for(model: CpModel, problem: Problem, x: Decisions) -> None:
    """Whole devices of all twin classes together are the request of the seat's pods.

    GPUs that are picked as a set are right by the set.
    """
    for seat in x.seats:
        for bank, taken in zip(problem.nodes[seat.node].banks, seat.devices, strict=True):
            size = seat.shape.whole_of(bank.type)
            picked = bank.type == GPU and seat.picks and size == seat.shape.count_of(GPU)
            if size and len(bank.free) > 1 and not picked:
                model.add(LinearExpr.sum(list(taken)) == size * seat.count)


def a_pod_has_one_gpu_set(model: CpModel, problem: Problem, x: Decisions) -> None:
    """Where GPU sets differ, a placed pod picks exactly one."""
    for seat in x.seats:
        if seat.picks:
            model.add(LinearExpr.sum([literal for _, literal in seat.picks]) == seat.count)


def devices_fit(model: CpModel, problem: Problem, x: Decisions) -> None:
    """A whole device has one holder, and nobody has shares of it."""
    for node, seats, opened in zip(problem.nodes, x.on_node, x.opened, strict=True):
        for index, bank in enumerate(node.banks):
            takers = [seat for seat in seats if seat.shape.whole_of(bank.type)]
            for twin, free in enumerate(bank.free):
                if takers:
                    taken = [seat.devices[index][twin] for seat in takers]
                    shared = opened_in(opened, index, twin)
                    model.add(LinearExpr.sum([*taken, *shared]) <= free)
