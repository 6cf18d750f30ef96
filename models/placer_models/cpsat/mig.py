"""MIG instances: none of them overlap on a GPU, and what a GPU can still be cut into counts."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from ortools.sat.python.cp_model import CpModel, LinearExpr

from placer_models.cpsat.assignment import Assignment, Expression, PlacementVariables
from placer_models.cpsat.devices import existing_device_vars
from placer_models.cpsat.envelope import add_envelope_limit
from placer_models.cpsat.family import ModelFamily, always, never
from placer_models.goals import USABLE
from placer_models.mig import MEDIA, SLICES, PossibleMigPlacement
from placer_models.problem.banks import DeviceBank
from placer_models.problem.node_state import NodeState
from placer_models.problem.problem import Fit, Problem, Shape
from placer_models.rule_family import RuleFamilyName

_Taken = dict[tuple[int, int], list[Expression]]
"""(GPU, slice) -> for each instance that would take it, 0 or 1: whether a pod has it."""


def instances_of_a_gpu_do_not_overlap(
    model: CpModel, problem: Problem, x: PlacementVariables
) -> None:
    """Each slice of a GPU in MIG mode belongs to one instance at most."""
    for node, assignments in zip(problem.nodes, x.on_node, strict=True):
        for instances in _taken(node, assignments).values():
            model.add(LinearExpr.sum(instances) <= 1)


def usable_points_of_mig_instances_expr(
    model: CpModel, problem: Problem, x: PlacementVariables
) -> Expression:
    """Count the instances that nodes could still make (tier ``usable``)."""
    return LinearExpr.sum(
        [
            points
            for node, here in zip(problem.nodes, x.on_node, strict=True)
            for points in _points_left(model, node, here)
        ]
    )


def _points_left(
    model: CpModel, node: NodeState, assignments: Sequence[Assignment]
) -> Iterator[Expression]:
    """Yield the points of every instance that the node could still make."""
    taken = _taken(node, assignments)
    of_gpu: defaultdict[int, list[tuple[PossibleMigPlacement, Expression]]] = defaultdict(list)
    for bank in node.banks:
        for class_index, (cut, free) in enumerate(zip(bank.cuts, bank.free, strict=False)):
            if not free or not cut.points:
                continue
            takers = [taken[cut.gpu, s] for s in cut.covers if (cut.gpu, s) in taken]
            literal: Expression = 1
            if takers:
                literal = model.new_bool_var(f"could[{node.name},{bank.type},{class_index}]")
            for instances in takers:
                model.add(literal + LinearExpr.sum(instances) <= 1)
            of_gpu[cut.gpu].append((cut, literal))
    for gpu, could in of_gpu.items():
        points = LinearExpr.sum([cut.points * literal for cut, literal in could])
        busy = [
            t
            for (of, part), each in taken.items()
            if (of, part) != (gpu, MEDIA)
            for t in each
            if of == gpu
        ]
        if busy:
            add_envelope_limit(
                model, points, -LinearExpr.sum(busy), _most([cut for cut, _ in could])
            )
        yield points


def _most(cuts: Sequence[PossibleMigPlacement]) -> dict[int, int]:
    """Return -(number of slices taken) -> the most points of the instances that these leave.

    This is a bound, so every set of slices counts, even one that no instances would take.
    """
    best: dict[int, int] = {}
    masks = [(sum(1 << part for part in cut.covers), cut.points) for cut in cuts]
    for taken in range(1 << SLICES):
        points = sum(value for mask, value in masks if not mask & taken)
        left = -taken.bit_count()
        best[left] = max(points, best.get(left, 0))
    return best


def _taken(node: NodeState, assignments: Sequence[Assignment]) -> _Taken:
    taken: defaultdict[tuple[int, int], list[Expression]] = defaultdict(list)
    for index, bank in enumerate(node.banks):
        takers = [
            assignment
            for assignment in assignments
            if bank.cuts and assignment.shape.count_of(bank.type)
        ]
        for class_index, cut in enumerate(bank.cuts):
            if bank.free[class_index]:
                for part in cut.covers:
                    taken[cut.gpu, part] += [
                        existing_device_vars(assignment).whole[index][class_index]
                        for assignment in takers
                    ]
    return {key: instances for key, instances in taken.items() if instances}


def are_not_mig_instances(shape: Shape, fit: Fit, bank: DeviceBank) -> bool:
    """Return whether the devices are not MIG instances."""
    return not bank.cuts


FAMILY = ModelFamily(
    name=RuleFamilyName.MIG,
    rules=(instances_of_a_gpu_do_not_overlap,),
    tiers={USABLE: usable_points_of_mig_instances_expr},
    countable=always,
    plain=always,
    sees_links=never,
    exchangeable=are_not_mig_instances,
)
