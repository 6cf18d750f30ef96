"""Switches: the PCIe switches that are left whole for later pods (tier ``usable``)."""

from collections.abc import Sequence

from ortools.sat.python.cp_model import CpModel, LinearExpr

from placer_models.cpsat.assignment import Assignment, Variables
from placer_models.cpsat.devices import devices_of
from placer_models.cpsat.expression import Expression
from placer_models.cpsat.family import Family, always, never
from placer_models.cpsat.shares import Opened, OpenedDevices, opened_in
from placer_models.goals import SWITCH_POINTS, USABLE
from placer_models.node_state import NodeState
from placer_models.problem import Problem
from placer_models.rule_family import RuleFamily
from placer_models.switches import Switch, whole_switches


def usable_switches(model: CpModel, problem: Problem, x: Variables) -> Expression:
    """Count the switches of whose devices pods have no part (tier ``usable``)."""
    opened_on = x.part(OpenedDevices).of_node
    return LinearExpr.sum(
        [
            SWITCH_POINTS * _left_whole(model, node, switch, here, opened, number)
            for node, here, opened in zip(problem.nodes, x.on_node, opened_on, strict=True)
            for number, switch in enumerate(whole_switches(node.switches, node.banks))
        ]
    )


def _left_whole(
    model: CpModel,
    node: NodeState,
    switch: Switch,
    assignments: Sequence[Assignment],
    opened: Opened,
    number: int,
) -> Expression:
    """Return a literal that is true only if nothing is taken below the switch, which is whole."""
    whole: Expression = 1
    for bank, class_index in switch:
        size = node.banks[bank].free[class_index]
        takers = [one for one in assignments if one.shape.whole_of(node.banks[bank].type)]
        taken = [devices_of(one).whole[bank][class_index] for one in takers]
        taken += opened_in(opened, bank, class_index)
        if taken:
            if isinstance(whole, int):
                whole = model.new_bool_var(f"switch[{node.name},{number}]")
            model.add(LinearExpr.sum(taken) <= size * (1 - whole))
    return whole


FAMILY = Family(
    name=RuleFamily.SWITCHES,
    tiers={USABLE: usable_switches},
    countable=always,
    plain=always,
    sees_links=never,
    exchangeable=always,
)
