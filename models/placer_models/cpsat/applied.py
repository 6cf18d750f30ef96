"""The rule about devices of which a strategy says how many a pod has (D9)."""

from ortools.sat.python.cp_model import CpModel, LinearExpr

from placer_models.cpsat.expression import Expression
from placer_models.cpsat.variables import Decisions, Seat
from placer_models.device_strategy import DeviceStrategy
from placer_models.problem import Problem
from placer_models.shares import ShareNeed


def a_pod_has_the_devices_of_its_strategies(model: CpModel, problem: Problem, x: Decisions) -> None:
    """All healthy devices of the node, or one for each group that gives the first type."""
    for seat in x.seats:
        for index, need in enumerate(seat.shape.shares):
            if need.strategy is None:
                continue
            met = LinearExpr.sum([t.count for t in seat.takes if t.take.need == index])
            if need.strategy is DeviceStrategy.APPLY_FOR_ALL:
                bank = problem.nodes[seat.node].bank(need.type)
                assert bank is not None, "a seat where there is no such device"
                model.add(met == need.least_on(bank.board) * seat.count)
            else:
                model.add(met >= seat.count)
                model.add(met <= _groups(problem, seat, need))


def _groups(problem: Problem, seat: Seat, need: ShareNeed) -> Expression:
    """Count the groups that give the first type; a device of it in no group counts as one."""
    fit = seat.fit.joint
    assert fit is not None, "a strategy of groups without any"
    assert seat.joint is not None, "as above"
    kind, _ = fit.types[0]
    banks = problem.nodes[seat.node].banks
    at = next(i for i, bank in enumerate(banks) if bank.type == kind)
    alone = [seat.touched(at, twin) for twin, group in enumerate(fit.groups[0]) if group is None]
    return LinearExpr.sum([*(group.used[0] for group in seat.joint.groups), *alone])
