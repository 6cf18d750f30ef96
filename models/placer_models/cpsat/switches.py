"""Switches: PCIe switches that are left whole for later pods (tier ``usable``)."""

from collections.abc import Sequence

from ortools.sat.python.cp_model import CpModel, LinearExpr

from placer_models.cpsat.assignment import Assignment, Expression, PlacementVariables
from placer_models.cpsat.devices import taken_free_device_counts, touched_device_count_expr
from placer_models.cpsat.family import ModelFamily, always, never
from placer_models.cpsat.shares import DeviceOpenedForSharesVariables, Opened
from placer_models.goals import SWITCH_POINTS, USABLE
from placer_models.problem.banks import ClassesBelow
from placer_models.problem.node_state import NodeState
from placer_models.problem.problem import Problem
from placer_models.problem.switches import fully_free_switches, has_several_devices_of_a_type
from placer_models.rule_family import RuleFamilyName


def whole_switches_left_expr(model: CpModel, problem: Problem, x: PlacementVariables) -> Expression:
    """Count the whole switches that pods do not break (tier ``usable``)."""
    opened_on = x.part(DeviceOpenedForSharesVariables).of_node
    return LinearExpr.sum(
        [
            SWITCH_POINTS * _unbroken(model, node, switch, here, opened, number)
            for node, here, opened in zip(problem.nodes, x.on_node, opened_on, strict=True)
            for number, switch in enumerate(fully_free_switches(node))
        ]
    )


def _unbroken(
    model: CpModel,
    node: NodeState,
    switch: ClassesBelow,
    assignments: Sequence[Assignment],
    opened: Opened,
    number: int,
) -> Expression:
    """Return 1 only if nothing is taken below the switch, or a pod with several devices has some.

    The switch is whole so far.
    """
    if all(has_several_devices_of_a_type(one.shape.devices) for one in assignments):
        return 1
    unbroken = model.new_bool_var(f"switch[{node.name},{number}]")
    excused = _excused(model, node, switch, assignments, number)
    breaks = False
    for bank, class_index in switch:
        size = node.banks[bank].free[class_index]
        takers = [one for one in assignments if one.shape.whole_of(node.banks[bank].type)]
        taken = taken_free_device_counts(takers, opened, bank, class_index)
        if taken:
            breaks = True
            model.add(LinearExpr.sum(taken) <= size * (1 - unbroken + excused))
    return unbroken if breaks else 1


def _excused(
    model: CpModel,
    node: NodeState,
    switch: ClassesBelow,
    assignments: Sequence[Assignment],
    number: int,
) -> Expression:
    """Return 1 only if a pod with several whole devices of a type has a device below the switch."""
    several = [one for one in assignments if has_several_devices_of_a_type(one.shape.devices)]
    if not several:
        return 0
    excused = model.new_bool_var(f"side by side[{node.name},{number}]")
    had = [
        touched_device_count_expr(one, bank, class_index)
        for one in several
        for bank, class_index in switch
    ]
    model.add(LinearExpr.sum(had) >= excused)
    return excused


FAMILY = ModelFamily(
    name=RuleFamilyName.SWITCHES,
    tiers={USABLE: whole_switches_left_expr},
    countable=always,
    plain=always,
    sees_links=never,
    exchangeable=always,
)
