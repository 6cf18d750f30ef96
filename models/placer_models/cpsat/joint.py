"""Rules about devices of several types side by side (D9)."""

from ortools.sat.python.cp_model import CpModel, LinearExpr

from placer_models.cpsat.assignment import Variables
from placer_models.cpsat.expression import Expression
from placer_models.problem import Problem


def a_pod_uses_the_groups_it_takes_from(model: CpModel, problem: Problem, x: Variables) -> None:
    """A PCIe switch or NUMA node counts as used by the types it gives devices of, and no other."""
    for assignment in x.assignments:
        for group in assignment.joint.groups if assignment.joint else ():
            for amount, most, used in zip(group.amounts, group.most, group.used, strict=True):
                if most:
                    model.add(amount <= most * used)
                    model.add(amount >= used)


def devices_stand_side_by_side(model: CpModel, problem: Problem, x: Variables) -> None:
    """Where that is required, a group that gives one type gives the other too."""
    for assignment in x.assignments:
        if assignment.joint is None or not assignment.joint.beside:
            continue
        model.add(assignment.joint.nowhere == 0)
        for group in assignment.joint.groups:
            for one, other in assignment.joint.beside:
                model.add(group.used[one] <= group.used[other])


def groups_apart(model: CpModel, problem: Problem, x: Variables) -> Expression:
    """Count groups that give a pod some of the types it wants together, and not all."""
    terms: list[Expression] = []
    for assignment in x.assignments:
        if assignment.joint is None or assignment.joint.beside:
            continue
        terms.append(assignment.joint.nowhere)
        for group in assignment.joint.groups:
            assert group.apart is not None
            # Some and not all: going round the types, one that is given meets one that is not.
            for one, other in zip(group.used, (*group.used[1:], group.used[0]), strict=True):
                model.add(group.apart >= one - other)
            terms.append(group.apart)
    return LinearExpr.sum(terms)
