"""What a pod takes of each PCIe switch or NUMA node, where it wants devices side by side (D9)."""

from collections import defaultdict
from dataclasses import dataclass

from ortools.sat.python.cp_model import CpModel, IntVar, LinearExpr

from placer_models.cpsat.expression import Expression
from placer_models.cpsat.share_seats import reach_of
from placer_models.problem import Fit, NodeState, Shape


@dataclass(frozen=True, slots=True)
class JointGroup:
    """One PCIe switch or NUMA node, as the pod of an assignment uses it.

    Attributes:
        index: As in ``JointFit``.
        amounts: Devices of each type.
        most: The most of them that there can be.
        used: For each type a literal: the group gives one; 0 where it has none.
        apart: The group gives some types and not all; None where that is not counted.

    """

    index: int
    amounts: tuple[Expression, ...]
    most: tuple[int, ...]
    used: tuple[IntVar | int, ...]
    apart: IntVar | None


@dataclass(frozen=True, slots=True)
class JointSeat:
    """Devices that the pod of an assignment wants side by side.

    Attributes:
        nowhere: Devices in no group that is known.
        beside: As in ``JointFit``; empty where it is but a wish.

    """

    groups: tuple[JointGroup, ...]
    nowhere: Expression
    beside: tuple[tuple[int, int], ...]


def joint_seat(
    model: CpModel,
    node: NodeState,
    shape: Shape,
    fit: Fit,
    devices: tuple[tuple[Expression, ...], ...],
    name: str,
) -> JointSeat | None:
    """Return the literals of an assignment; None where its pod wants nothing side by side.

    Args:
        model: Gets the variables.
        node: The node of the assignment.
        shape: What its pod asks for.
        fit: What the pod's shape means there.
        devices: For each bank of the node, what the pod takes of each twin class, whole or in part.
        name: Ends the names of the variables.

    """
    if fit.joint is None:
        return None
    position = {bank.type: i for i, bank in enumerate(node.banks)}
    nowhere: list[Expression] = []
    taken: defaultdict[tuple[int, int], list[Expression]] = defaultdict(list)
    free: defaultdict[tuple[int, int], int] = defaultdict(int)
    for i, ((kind, _), groups) in enumerate(zip(fit.joint.types, fit.joint.groups, strict=True)):
        bank = node.banks[position[kind]]
        reach = reach_of(bank, shape)
        for group, amount, left in zip(groups, devices[position[kind]], reach, strict=True):
            if group is None:
                nowhere.append(amount)
            elif left:
                taken[group, i].append(amount)
                free[group, i] += left
    kinds = range(len(fit.joint.types))
    found = []
    for group in sorted({group for group, _ in taken}):
        label = f"{name[:-1]},{group}]"
        found.append(
            JointGroup(
                index=group,
                amounts=tuple(LinearExpr.sum(taken[group, i]) for i in kinds),
                most=tuple(min(free[group, i], fit.joint.types[i][1]) for i in kinds),
                used=tuple(
                    model.new_bool_var(f"beside{i}{label}") if free[group, i] else 0 for i in kinds
                ),
                apart=None if fit.joint.beside else model.new_bool_var(f"apart{label}"),
            )
        )
    return JointSeat(tuple(found), LinearExpr.sum(nowhere), fit.joint.beside)
