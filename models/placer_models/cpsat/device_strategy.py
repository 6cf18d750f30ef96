"""Device strategies, which say how many devices a pod has (D9)."""

from ortools.sat.python.cp_model import CpModel, LinearExpr

from placer_models.cpsat.assignment import Assignment, Expression, PlacementVariables
from placer_models.cpsat.devices import touched_device_count_expr
from placer_models.cpsat.family import ModelFamily, always, never
from placer_models.cpsat.joint import JointDeviceVariables
from placer_models.cpsat.shares import existing_share_vars
from placer_models.device_strategy import DeviceCountStrategy
from placer_models.problem.problem import Problem
from placer_models.rule_family import RuleFamilyName


def a_pod_has_the_devices_of_its_strategies(
    model: CpModel, problem: Problem, x: PlacementVariables
) -> None:
    """A pod has all healthy devices, or from one to as many as groups give it the first type."""
    for assignment in x.assignments:
        for index, need in enumerate(assignment.shape.shares):
            if need.strategy is None:
                continue
            met = LinearExpr.sum(
                [t.count for t in existing_share_vars(assignment) if t.take.need == index]
            )
            if need.strategy is DeviceCountStrategy.APPLY_FOR_ALL:
                bank = problem.nodes[assignment.node].bank(need.type)
                assert bank is not None, "an assignment where there is no such device"
                model.add(met == need.least_on(bank.board) * assignment.count)
            else:
                model.add(met >= assignment.count)
                model.add(met <= _groups(problem, assignment))


def _groups(problem: Problem, assignment: Assignment) -> Expression:
    """Count the groups that give the first type; each device of it in no group counts as one."""
    fit, joint = assignment.fit.joint, assignment.part(JointDeviceVariables)
    assert fit is not None, "a strategy of groups without any"
    assert joint is not None, "as above"
    kind, _ = fit.types[0]
    at = problem.nodes[assignment.node].bank_index(kind)
    alone = [
        touched_device_count_expr(assignment, at, class_index)
        for class_index, group in enumerate(fit.groups[0])
        if group is None
    ]
    return LinearExpr.sum([*(group.used[0] for group in joint.groups), *alone])


def has_no_device_count_strategy(problem: Problem, shape: int) -> bool:
    """Return whether no strategy sets how many devices pods of a shape have."""
    return not any(need.strategy for need in problem.shapes[shape].shares)


FAMILY = ModelFamily(
    name=RuleFamilyName.DEVICE_STRATEGY,
    rules=(a_pod_has_the_devices_of_its_strategies,),
    countable=has_no_device_count_strategy,
    plain=always,
    sees_links=never,
    exchangeable=always,
)
