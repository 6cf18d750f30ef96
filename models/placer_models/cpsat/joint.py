"""Joint allocation: devices of several types side by side (D9)."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from ortools.sat.python.cp_model import CpModel, IntVar, LinearExpr

from placer_models.cpsat.assignment import Assignment, Expression, PlacementVariables
from placer_models.cpsat.devices import touched_device_count_expr
from placer_models.cpsat.family import (
    Hint,
    KnownPlacement,
    ModelFamily,
    always,
    fits_of_shape,
    never,
    solver_hints_for_plain_variables,
)
from placer_models.cpsat.shares import number_of_fitting_devices_by_class
from placer_models.goals import JOINT
from placer_models.problem.banks import DeviceBank
from placer_models.problem.problem import Fit, Problem, Shape
from placer_models.rule_family import RuleFamilyName


@dataclass(frozen=True, slots=True)
class JointDeviceGroupVariables:
    """One PCIe switch or NUMA node, as an assignment's pod uses it.

    Attributes:
        index: As in ``JointDevicesFit``.
        amounts: How many devices of each type the pod has there.
        most: The most that it can have of each type.
        used: For each type, a literal for whether the group gives a device; 0 if it has none.
        apart: Whether the group gives some types but not all; None where that is not counted.

    """

    index: int
    amounts: tuple[Expression, ...]
    most: tuple[int, ...]
    used: tuple[IntVar | int, ...]
    apart: IntVar | None


@dataclass(frozen=True, slots=True)
class JointDeviceVariables:
    """Devices that an assignment's pod wants side by side.

    Attributes:
        nowhere: How many of its devices are in no known group.
        beside: As in ``JointDevicesFit``; empty where side by side is only a wish.

    """

    groups: tuple[JointDeviceGroupVariables, ...]
    nowhere: Expression
    beside: tuple[tuple[int, int], ...]


def joint_group_literals(
    model: CpModel, problem: Problem, assignment: Assignment
) -> JointDeviceVariables | None:
    """Create the literals of an assignment; None if its pod wants nothing side by side."""
    node, fit, name = problem.nodes[assignment.node], assignment.fit, assignment.name
    if fit.joint is None:
        return None
    nowhere: list[Expression] = []
    taken: defaultdict[tuple[int, int], list[Expression]] = defaultdict(list)
    free: defaultdict[tuple[int, int], int] = defaultdict(int)
    for i, ((kind, _), groups) in enumerate(zip(fit.joint.types, fit.joint.groups, strict=True)):
        at = node.bank_index(kind)
        reach = number_of_fitting_devices_by_class(node.banks[at], assignment.shape)
        for class_index, (group, left) in enumerate(zip(groups, reach, strict=True)):
            amount = touched_device_count_expr(assignment, at, class_index)
            if group is None:
                nowhere.append(amount)
            elif left:
                taken[group, i].append(amount)
                free[group, i] += left
    kinds = range(len(fit.joint.types))
    found = []
    for group in sorted({group for group, _ in taken}):
        label = f"[{name},{group}]"
        found.append(
            JointDeviceGroupVariables(
                index=group,
                amounts=tuple(LinearExpr.sum(taken[group, i]) for i in kinds),
                most=tuple(min(free[group, i], fit.joint.types[i][1]) for i in kinds),
                used=tuple(
                    model.new_bool_var(f"beside{i}{label}") if free[group, i] else 0 for i in kinds
                ),
                apart=None if fit.joint.beside else model.new_bool_var(f"apart{label}"),
            )
        )
    return JointDeviceVariables(tuple(found), LinearExpr.sum(nowhere), fit.joint.beside)


def a_pod_uses_the_groups_it_takes_from(
    model: CpModel, problem: Problem, x: PlacementVariables
) -> None:
    """A PCIe switch or NUMA node counts as used by the types it gives devices of, and no other."""
    for _, joint in x.assignments_with(JointDeviceVariables):
        for group in joint.groups:
            for amount, most, used in zip(group.amounts, group.most, group.used, strict=True):
                if most:
                    model.add(amount <= most * used)
                    model.add(amount >= used)


def a_group_gives_both_joint_types(model: CpModel, problem: Problem, x: PlacementVariables) -> None:
    """Where side by side is required, a group that gives one type of a pair gives the other too."""
    for _, joint in x.assignments_with(JointDeviceVariables):
        if not joint.beside:
            continue
        model.add(joint.nowhere == 0)
        for group in joint.groups:
            for one, other in joint.beside:
                model.add(group.used[one] <= group.used[other])


def joint_device_split_excess_expr(
    model: CpModel, problem: Problem, x: PlacementVariables
) -> Expression:
    """Count groups that give a pod some but not all types, and devices in no known group."""
    terms: list[Expression] = []
    for _, joint in x.assignments_with(JointDeviceVariables):
        if joint.beside:
            continue
        terms.append(joint.nowhere)
        for group in joint.groups:
            assert group.apart is not None
            # Some but not all: going round the types, one that is given meets one that is not.
            for one, other in zip(group.used, (*group.used[1:], group.used[0]), strict=True):
                model.add(group.apart >= one - other)
            terms.append(group.apart)
    return LinearExpr.sum(terms)


def joint_device_solver_hints(
    problem: Problem, x: PlacementVariables, known: KnownPlacement
) -> Iterator[Hint]:
    """Yield hints for which groups give devices of which types."""
    for assignment, choices in known.at:
        joint, fit = assignment.part(JointDeviceVariables), assignment.fit.joint
        if joint is None or fit is None:
            continue
        node = problem.nodes[assignment.node]
        given = {
            (group, i)
            for choice in choices
            for i, ((kind, _), groups) in enumerate(zip(fit.types, fit.groups, strict=True))
            for group, count in zip(groups, choice.touched(node.bank_index(kind)), strict=True)
            if count
        }
        for group in joint.groups:
            used = [int((group.index, i) in given) for i in range(len(group.used))]
            yield from solver_hints_for_plain_variables(group.used, used)
            if group.apart is not None:
                yield group.apart.index, int(any(used) and not all(used))


def wants_no_joint_devices(problem: Problem, shape: int) -> bool:
    """Return whether a shape wants no devices side by side."""
    return all(fit.joint is None for fit in fits_of_shape(problem, shape))


def wants_nothing_joint(shape: Shape, fit: Fit, bank: DeviceBank) -> bool:
    """Return whether the pod wants no devices side by side."""
    return fit.joint is None


FAMILY = ModelFamily(
    name=RuleFamilyName.JOINT,
    decide=joint_group_literals,
    rules=(a_pod_uses_the_groups_it_takes_from, a_group_gives_both_joint_types),
    tiers={JOINT: joint_device_split_excess_expr},
    hint=joint_device_solver_hints,
    countable=wants_no_joint_devices,
    plain=always,
    sees_links=never,
    exchangeable=wants_nothing_joint,
)
