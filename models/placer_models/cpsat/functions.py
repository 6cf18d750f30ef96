"""Virtual functions of devices (D9)."""

from collections import defaultdict

from ortools.sat.python.cp_model import CpModel, LinearExpr

from placer_models.cpsat.assignment import Expression, PlacementVariables
from placer_models.cpsat.family import ModelFamily, always, never
from placer_models.cpsat.shares import DeviceShareVariables, share_vars_by_device
from placer_models.device import admits_virtual_function
from placer_models.problem.banks import ShareableDevice
from placer_models.problem.problem import Problem
from placer_models.rule_family import RuleFamilyName
from placer_models.selectors import Labels


def virtual_functions_fit_their_device(
    model: CpModel, problem: Problem, x: PlacementVariables
) -> None:
    """Every share that comes with a virtual function has its own, with the labels it wants.

    Functions with equal labels are counted together, and so are equal wishes. A flow from
    wishes to labels, within these counts, is a matching of shares to virtual functions.
    """
    for node, assignments in zip(problem.nodes, x.on_node, strict=True):
        for (bank, class_index, at), takes in share_vars_by_device(assignments).items():
            name = f"{node.name},{bank},{class_index},{at}"
            _flow(model, node.banks[bank].shareable[class_index][at], takes, name)


def _flow(
    model: CpModel, device: ShareableDevice, takes: list[DeviceShareVariables], name: str
) -> None:
    """Share the free virtual functions of a device out to the wishes."""
    given: defaultdict[Labels, list[Expression]] = defaultdict(list)
    for wish in dict.fromkeys(take.need.function for take in takes):
        if wish is None:
            continue
        asked = LinearExpr.sum([take.count for take in takes if take.need.function == wish])
        fitting = [
            (i, *kind)
            for i, kind in enumerate(device.functions)
            if admits_virtual_function(wish, kind[0])
        ]
        if len(fitting) == 1:
            given[fitting[0][1]].append(asked)
            continue
        parts = []
        for i, labels, count in fitting:
            part = model.new_int_var(0, count, f"function[{name},{wish},{i}]")
            parts.append(part)
            given[labels].append(part)
        model.add(LinearExpr.sum(parts) == asked)
    for labels, count in device.functions:
        if given[labels]:
            model.add(LinearExpr.sum(given[labels]) <= count)


FAMILY = ModelFamily(
    name=RuleFamilyName.FUNCTIONS,
    rules=(virtual_functions_fit_their_device,),
    countable=always,
    plain=always,
    sees_links=never,
    exchangeable=always,
)
