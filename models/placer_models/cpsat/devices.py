"""Whole devices, and the sets of GPUs that a pod can have (D1, D5 to D7, D10)."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from ortools.sat.python.cp_model import CpModel, IntVar, LinearExpr

from placer_models.cpsat.assignment import Assignment, Expression, PlacementVariables
from placer_models.cpsat.family import (
    Hint,
    KnownPlacement,
    ModelFamily,
    Value,
    solver_hints_for_plain_variables,
)
from placer_models.cpsat.shares import (
    DeviceOpenedForSharesVariables,
    Opened,
    existing_share_vars,
    number_of_fitting_devices_by_class,
    opened_device_vars_of_class,
)
from placer_models.device import GPU
from placer_models.links.allowed import (
    allowed_device_sets,
    count_offered_device_sets,
    partitions_matter_for,
    scope_places_of_classes,
)
from placer_models.links.board import LinkedDeviceClasses, LinkedDeviceSetCounts
from placer_models.problem.banks import DeviceBank
from placer_models.problem.node_state import NodeState
from placer_models.problem.problem import Choice, Fit, Problem, Shape
from placer_models.rule_family import RuleFamilyName


@dataclass(frozen=True, slots=True)
class WholeDeviceVariables:
    """The whole devices that the pods of an assignment have.

    Attributes:
        whole: For each bank of the node, whole devices of each equivalence class.
        picks: The GPU sets that the pod can have, each with its literal; the assignment then
            has at most one pod. Empty if any set will do and all are equally good.
        gpu_set: Without picks, a GPU set that is worth as much as any; None if there is none.

    """

    whole: tuple[tuple[Expression, ...], ...]
    picks: tuple[tuple[LinkedDeviceSetCounts, IntVar], ...]
    gpu_set: LinkedDeviceSetCounts | None


def existing_device_vars(assignment: Assignment) -> WholeDeviceVariables:
    """Return the whole devices that the pods have."""
    devices = assignment.part(WholeDeviceVariables)
    assert devices is not None, "every assignment has them"
    return devices


def touched_device_count_expr(assignment: Assignment, bank: int, class_index: int) -> Expression:
    """Return how many devices of an equivalence class the pods have, whole or in part."""
    whole = existing_device_vars(assignment).whole[bank][class_index]
    parts = [
        share.count
        for share in existing_share_vars(assignment)
        if share.take[:2] == (bank, class_index)
    ]
    return whole + LinearExpr.sum(parts) if parts else whole


def most_pods_by_devices(problem: Problem, shape_index: int, node: NodeState, most: int) -> int:
    """Return how many pods of a shape the free devices of a node could serve, up to `most`."""
    shape = problem.shape_on(shape_index, node)
    for device_type, count in shape.devices:
        bank = node.bank(device_type)
        most = min(most, sum(bank.free) // count if bank else 0)
    return 0 if _lacks_gpu_sets(node, shape) else most


def device_vars(model: CpModel, problem: Problem, assignment: Assignment) -> WholeDeviceVariables:
    """Create the variables of an assignment."""
    node, shape = problem.nodes[assignment.node], assignment.shape
    sets = gpu_sets(node, shape)
    picks = tuple(
        (selection, model.new_bool_var(f"pick[{assignment.name},{selection.counts}]"))
        for selection in sets
        if has_differing_gpu_sets(node, shape, sets)
    )
    return WholeDeviceVariables(
        whole=tuple(_whole(model, bank, assignment, picks) for bank in node.banks),
        picks=picks,
        gpu_set=sets[0] if sets and not picks else None,
    )


def _whole(
    model: CpModel,
    bank: DeviceBank,
    assignment: Assignment,
    picks: tuple[tuple[LinkedDeviceSetCounts, IntVar], ...],
) -> tuple[Expression, ...]:
    """Return the whole devices of each equivalence class of a bank."""
    shape = assignment.shape
    size = shape.whole_of(bank.type)
    if size == 0:
        return (0,) * len(bank.free)
    if len(bank.free) == 1:
        return (size * assignment.count,)
    if picks and bank.type == GPU and size == shape.count_of(GPU):
        return tuple(
            LinearExpr.weighted_sum(
                [literal for _, literal in picks], [s.counts[i] for s, _ in picks]
            )
            for i in range(len(bank.free))
        )
    return tuple(
        model.new_int_var(
            0, min(free, size * assignment.most), f"{bank.type}[{assignment.name},{i}]"
        )
        for i, free in enumerate(bank.free)
    )


def gpu_sets(node: NodeState, shape: Shape) -> tuple[LinkedDeviceSetCounts, ...]:
    """Return the GPU sets that a pod of the shape can have, best first.

    The answer is empty if the pod wants fewer than two GPUs and any one will do.
    """
    bank = node.bank(GPU)
    size = shape.count_of(GPU)
    if bank is None or (size < 2 and not partitions_matter_for(bank.board, size)):
        return ()
    return allowed_device_sets(
        bank.board, size, number_of_fitting_devices_by_class(bank, shape), shape.scope_of(GPU)
    )


def has_differing_gpu_sets(
    node: NodeState, shape: Shape, sets: Sequence[LinkedDeviceSetCounts]
) -> bool:
    """Return whether it matters which of the sets a pod has, or that it has one of them."""
    bank = node.bank(GPU)
    if bank is None:
        return False
    size = shape.count_of(GPU)
    limited = partitions_matter_for(bank.board, size) or any(
        kind == GPU for kind, _ in shape.scopes
    )
    return limited or len({(s.pair_minimum, s.pair_sum) for s in sets}) > 1


def _lacks_gpu_sets(node: NodeState, shape: Shape) -> bool:
    """Return whether the free GPUs, however many, hold no set that the pod may have."""
    bank = node.bank(GPU)
    if bank is None or not (bank.board.honored or shape.scopes):
        return False
    size = shape.count_of(GPU)
    reach = number_of_fitting_devices_by_class(bank, shape)
    return size > 0 and not count_offered_device_sets(bank.board, size, reach, shape.scope_of(GPU))


def a_pod_has_the_devices_it_asks_for(
    model: CpModel, problem: Problem, x: PlacementVariables
) -> None:
    """Whole devices of all equivalence classes add up to the request of the assignment's pods.

    GPUs that are picked as a set need no such sum, because the set has the right size.
    """
    for assignment in x.assignments:
        own = existing_device_vars(assignment)
        for bank, taken in zip(problem.nodes[assignment.node].banks, own.whole, strict=True):
            size = assignment.shape.whole_of(bank.type)
            picked = bank.type == GPU and own.picks and size == assignment.shape.count_of(GPU)
            if size and len(bank.free) > 1 and not picked:
                model.add(LinearExpr.sum(list(taken)) == size * assignment.count)


def a_pod_has_one_gpu_set(model: CpModel, problem: Problem, x: PlacementVariables) -> None:
    """Where GPU sets differ, a placed pod picks exactly one."""
    for assignment in x.assignments:
        own = existing_device_vars(assignment)
        if own.picks:
            model.add(LinearExpr.sum([literal for _, literal in own.picks]) == assignment.count)


def a_whole_device_has_one_holder(model: CpModel, problem: Problem, x: PlacementVariables) -> None:
    """A device held whole has one holder, and no pod has a share of it."""
    for node, assignments, opened in zip(
        problem.nodes, x.on_node, x.part(DeviceOpenedForSharesVariables).of_node, strict=True
    ):
        for index, bank in enumerate(node.banks):
            takers = [
                assignment for assignment in assignments if assignment.shape.whole_of(bank.type)
            ]
            for class_index, free in enumerate(bank.free):
                if takers:
                    taken = taken_free_device_counts(takers, opened, index, class_index)
                    model.add(LinearExpr.sum(taken) <= free)


def taken_free_device_counts(
    takers: Iterable[Assignment], opened: Opened, bank: int, class_index: int
) -> list[Expression]:
    """Return what is taken of the free devices of a class: whole ones by takers, and for shares."""
    whole = [existing_device_vars(one).whole[bank][class_index] for one in takers]
    return [*whole, *opened_device_vars_of_class(opened, bank, class_index)]


def a_pod_has_its_devices_within_their_scope(
    model: CpModel, problem: Problem, x: PlacementVariables
) -> None:
    """All devices of a type with a scope are on one known switch, NUMA node or package."""
    for assignment in x.assignments:
        node = problem.nodes[assignment.node]
        for kind, scope in assignment.shape.scopes:
            if kind == GPU:
                continue
            index = node.bank_index(kind)
            places = scope_places_of_classes(node.banks[index].board, scope)
            inside: defaultdict[int | str | None, list[Expression]] = defaultdict(list)
            for class_index, key in enumerate(places):
                inside[key].append(touched_device_count_expr(assignment, index, class_index))
            within = []
            for key, counts in inside.items():
                here: Expression = 0
                if key is not None:
                    here = model.new_bool_var(f"within[{assignment.unit},{node.name},{kind},{key}]")
                    within.append(here)
                model.add(LinearExpr.sum(counts) <= assignment.shape.count_of(kind) * here)
            model.add(LinearExpr.sum(within) <= 1)


def whole_and_shared_gpus_are_one_set(
    model: CpModel, problem: Problem, x: PlacementVariables
) -> None:
    """The GPUs that a pod has a share of, and its whole ones, together are the set it picks."""
    for assignment in x.assignments:
        picks = existing_device_vars(assignment).picks
        if picks and any(need.type == GPU for need in assignment.shape.shares):
            node = problem.nodes[assignment.node]
            at = node.bank_index(GPU)
            for class_index in range(len(node.banks[at].free)):
                picked = [literal * selection.counts[class_index] for selection, literal in picks]
                model.add(
                    LinearExpr.sum(picked) == touched_device_count_expr(assignment, at, class_index)
                )


def device_solver_hints(
    problem: Problem, x: PlacementVariables, known: KnownPlacement
) -> Iterator[Hint]:
    """Yield hints for how many devices of each class are taken, and for which GPU sets."""
    for assignment, choices in known.at:
        own = existing_device_vars(assignment)
        for bank, taken in enumerate(own.whole):
            yield from solver_hints_for_plain_variables(
                taken,
                [sum(choice.devices[bank][i] for choice in choices) for i in range(len(taken))],
            )
        if own.picks:
            gpus = problem.nodes[assignment.node].bank_index(GPU)
            picked = {choice.touched(gpus) for choice in choices}
            for selection, literal in own.picks:
                yield literal.index, int(selection.counts in picked)


def read_solved_devices(
    problem: Problem, assignment: Assignment, places: Sequence[Choice], value: Value
) -> Sequence[Choice]:
    """Deal the whole devices of an assignment out to its pods."""
    banks = problem.nodes[assignment.node].banks
    left = [
        [value(taken) for taken in of_bank] for of_bank in existing_device_vars(assignment).whole
    ]
    return [
        replace(
            place,
            devices=tuple(
                _take(counts, assignment.shape.whole_of(bank.type))
                for counts, bank in zip(left, banks, strict=True)
            ),
        )
        for place in places
    ]


def _take(left: list[int], size: int) -> tuple[int, ...]:
    """Take that many devices out of the counts that are left, first classes first."""
    taken = []
    for i, count in enumerate(left):
        take = min(count, size)
        left[i] -= take
        size -= take
        taken.append(take)
    return tuple(taken)


def gpu_boards_for_shape(problem: Problem, shape_index: int) -> Iterable[LinkedDeviceClasses]:
    """Return the GPU boards that pods of a shape could come to, one per kind of node."""
    if not problem.shapes[shape_index].count_of(GPU):
        return ()
    return [
        known.board
        for kind, known in problem.of_kinds.items()
        if problem.fits[shape_index][kind] is not None and known.board is not None
    ]


def any_gpu_set_will_do(problem: Problem, shape_index: int) -> bool:
    """Return whether a shape asks for no scope, and no rule tells sets of its GPUs apart."""
    shape = problem.shapes[shape_index]
    size = shape.count_of(GPU)
    return not shape.scopes and not any(
        partitions_matter_for(board, size) for board in gpu_boards_for_shape(problem, shape_index)
    )


def asks_for_no_whole_devices(problem: Problem, shape_index: int) -> bool:
    """Return whether a shape asks for no whole devices."""
    return not problem.shapes[shape_index].devices


def has_shape_with_gpu_scope(problem: Problem, bank: DeviceBank) -> bool:
    """Return whether any shape asks for its GPUs within a scope."""
    return any(kind == GPU for shape in problem.shapes for kind, _ in shape.scopes)


def has_no_device_scope(shape: Shape, fit: Fit, bank: DeviceBank) -> bool:
    """Return whether the pod asks for nothing within a scope."""
    return not shape.scopes


FAMILY = ModelFamily(
    name=RuleFamilyName.DEVICES,
    room=most_pods_by_devices,
    decide=device_vars,
    rules=(
        a_pod_has_the_devices_it_asks_for,
        a_pod_has_one_gpu_set,
        a_whole_device_has_one_holder,
        a_pod_has_its_devices_within_their_scope,
        whole_and_shared_gpus_are_one_set,
    ),
    hint=device_solver_hints,
    read=read_solved_devices,
    countable=any_gpu_set_will_do,
    plain=asks_for_no_whole_devices,
    sees_links=has_shape_with_gpu_scope,
    exchangeable=has_no_device_scope,
)
