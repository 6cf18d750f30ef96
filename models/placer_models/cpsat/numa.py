"""NUMA nodes: which of them a pod uses, and the amounts that it has there (C12)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ortools.sat.python.cp_model import CpModel, LinearExpr

from placer_models.cpsat.assignment import Assignment, Expression, PlacementVariables
from placer_models.cpsat.cpus import existing_core_take_vars
from placer_models.cpsat.devices import touched_device_count_expr
from placer_models.cpsat.family import (
    Hint,
    KnownPlacement,
    ModelFamily,
    Value,
    always,
    fits_of_shape,
    never,
    solver_hints_for_plain_variables,
)
from placer_models.cpsat.shares import number_of_fitting_devices_by_class
from placer_models.goals import ALIGNMENT
from placer_models.policy import AlignmentPolicy
from placer_models.problem.banks import has_device_count_set_by_strategy
from placer_models.problem.node_state import NodeState
from placer_models.problem.problem import Choice, Problem
from placer_models.rule_family import RuleFamilyName


@dataclass(frozen=True, slots=True)
class AssignmentCellsVariables:
    """The cells that the pods of an assignment use, and what they have there.

    Attributes:
        used: One literal per cell of the node: whether the pod uses it. Where there are several
            cells, the assignment then has at most one pod. Empty where nothing asks.
        pinned: For each dimension that cells have, the amount from each cell. A row is empty
            where the amount may come from anywhere.

    """

    used: tuple[Expression, ...]
    pinned: tuple[tuple[Expression, ...], ...]


def existing_cell_vars(assignment: Assignment) -> AssignmentCellsVariables:
    """Return the cells that the pods use, and what they have there."""
    goods = assignment.part(AssignmentCellsVariables)
    assert goods is not None, "every assignment has them"
    return goods


def cell_vars(model: CpModel, problem: Problem, assignment: Assignment) -> AssignmentCellsVariables:
    """Create the variables of an assignment."""
    cells, name = problem.nodes[assignment.node].cells, assignment.name
    needs = assignment.shape.in_cells
    used = _used(model, problem.nodes[assignment.node], assignment)
    return AssignmentCellsVariables(
        used,
        tuple(
            _pinned(model, held, need, assignment, used, f"pinned{dimension}[{name}")
            for dimension, (held, need) in enumerate(
                zip(zip(*(cell.amounts for cell in cells), strict=True), needs, strict=True)
            )
        ),
    )


def _used(model: CpModel, node: NodeState, assignment: Assignment) -> tuple[Expression, ...]:
    """Return a literal per cell where something asks which cells the pod uses."""
    fit, shape = assignment.fit, assignment.shape
    if not fit.by_cell:
        return ()
    if not (fit.uses_cells(shape) or shape.devices or shape.shares):
        return ()
    if len(node.cells) == 1 and fit.uses_cells(shape):
        return (assignment.count,)
    return tuple(
        0
        if cell.numa_node is None and fit.cell_limit is not None
        else model.new_bool_var(f"used[{assignment.name},{i}]")
        for i, cell in enumerate(node.cells)
    )


def _pinned(
    model: CpModel,
    held: Sequence[int],
    need: int,
    assignment: Assignment,
    used: Sequence[Expression],
    name: str,
) -> tuple[Expression, ...]:
    """Return what the pod takes of a divisible good from each cell; empty if from anywhere.

    Cells are told apart where a policy asks which of them the pod, or a container of it, uses.

    Args:
        model: Gets the variables.
        held: What each cell has.
        need: What the pod asks for.
        assignment: The pod's assignment.
        used: One literal per cell; empty where no policy asks.
        name: Begins the names of the variables.

    """
    if not need or not (used or assignment.fit.containers):
        return ()
    if used and (len(held) == 1 or assignment.fit.cell_limit == 1):
        return tuple(need * literal for literal in used)
    return tuple(
        model.new_int_var(0, min(amount, need), f"{name},{i}]") for i, amount in enumerate(held)
    )


def pinned_amounts_fit_their_cell(model: CpModel, problem: Problem, x: PlacementVariables) -> None:
    """What is pinned to a cell is no more than it has.

    Pods without a policy take what is left anywhere, so this and the sums of nodes are enough.
    """
    for node, assignments in zip(problem.nodes, x.on_node, strict=True):
        if len(node.cells) == 1:
            continue
        pinned = [existing_cell_vars(assignment).pinned for assignment in assignments]
        for index, cell in enumerate(node.cells):
            for dimension, amount in enumerate(cell.amounts):
                parts = [rows[dimension][index] for rows in pinned if rows[dimension]]
                if parts:
                    model.add(LinearExpr.sum(parts) <= amount)


def a_pod_has_the_amounts_it_asks_for(
    model: CpModel, problem: Problem, x: PlacementVariables
) -> None:
    """The parts in the cells sum to the request, dimension by dimension."""
    for assignment in x.assignments:
        rows = existing_cell_vars(assignment).pinned
        for row, need in zip(rows, assignment.shape.in_cells, strict=True):
            if row:
                model.add(LinearExpr.sum(list(row)) == need * assignment.count)


def a_pod_uses_the_cells_it_takes_from(
    model: CpModel, problem: Problem, x: PlacementVariables
) -> None:
    """CPUs, amounts and devices come from cells that the pod counts as used."""
    for assignment in x.assignments:
        own = existing_cell_vars(assignment)
        if not own.used or own.used[0] is assignment.count:
            continue
        node = problem.nodes[assignment.node]
        for literal in own.used:
            model.add(literal <= assignment.count)
        cores = existing_core_take_vars(assignment)
        for part, c in zip(cores, node.cores if cores else (), strict=True):
            most = min(assignment.shape.owned_cpus, c.cores * c.free)
            model.add(part.cpus(c) <= most * own.used[c.cell])
        for dimension, row in enumerate(own.pinned if assignment.fit.cell_limit != 1 else ()):
            need = assignment.shape.amounts[dimension]
            for index, amount in enumerate(row):
                most = min(node.cells[index].amounts[dimension], need)
                model.add(amount <= most * own.used[index])
        for index, bank in enumerate(node.banks):
            size = assignment.shape.count_of(bank.type)
            reach = number_of_fitting_devices_by_class(bank, assignment.shape)
            if has_device_count_set_by_strategy(assignment.shape.shares, bank.type):
                size = sum(reach)
            for class_index, cell in enumerate(bank.cells):
                if size and cell is not None:
                    count = touched_device_count_expr(assignment, index, class_index)
                    model.add(count <= min(reach[class_index], size) * own.used[cell])


def a_pod_keeps_to_its_cell_limit(model: CpModel, problem: Problem, x: PlacementVariables) -> None:
    """SingleNUMANode and Restricted use no more NUMA nodes than their limit."""
    for assignment in x.assignments:
        used = existing_cell_vars(assignment).used
        if used and assignment.fit.cell_limit is not None:
            model.add(LinearExpr.sum(list(used)) <= assignment.fit.cell_limit * assignment.count)


def best_effort_needs_its_fewest_cells(
    model: CpModel, problem: Problem, x: PlacementVariables
) -> None:
    """A pod uses no fewer cells than it needs on the empty node; this only helps the bound."""
    for assignment in x.assignments:
        used = existing_cell_vars(assignment).used
        if used and assignment.fit.alignment is AlignmentPolicy.BEST_EFFORT:
            model.add(LinearExpr.sum(list(used)) >= assignment.fit.fewest_cells * assignment.count)


def pod_cells_beyond_fewest_expr(
    model: CpModel, problem: Problem, x: PlacementVariables
) -> Expression:
    """Count the cells of BestEffort pods beyond their fewest (tier ``alignment``)."""
    return LinearExpr.sum(
        [
            LinearExpr.sum(list(used)) - assignment.fit.fewest_cells * assignment.count
            for assignment in x.assignments
            if (used := existing_cell_vars(assignment).used)
            and assignment.fit.alignment is AlignmentPolicy.BEST_EFFORT
        ]
    )


def cells_of_choice(problem: Problem, choice: Choice) -> Iterator[int]:
    """Yield the cells that the CPUs, the amounts and the devices of a choice are in."""
    node = problem.nodes[choice.node]
    yield from choice.pool_cells
    for core, take in zip(node.cores, choice.cores, strict=True):
        if take.whole or take.threads:
            yield core.cell
    for row in choice.pinned:
        yield from (i for i, amount in enumerate(row) if amount)
    for index, bank in enumerate(node.banks):
        for cell, count in zip(bank.cells, choice.touched(index), strict=True):
            if count and cell is not None:
                yield cell


def cell_solver_hints(
    problem: Problem, x: PlacementVariables, known: KnownPlacement
) -> Iterator[Hint]:
    """Yield hints for the cells that pods use, and for what they take of each."""
    for assignment, choices in known.at:
        own = existing_cell_vars(assignment)
        for dimension, row in enumerate(own.pinned):
            known_rows = [choice.pinned[dimension] for choice in choices if choice.pinned]
            yield from solver_hints_for_plain_variables(
                row, [sum(of[i] for of in known_rows) for i in range(len(row))]
            )
        if own.used and own.used[0] is not assignment.count:
            cells = {cell for choice in choices for cell in cells_of_choice(problem, choice)}
            yield from solver_hints_for_plain_variables(
                own.used, [int(i in cells) for i in range(len(own.used))]
            )


def read_solved_cells(
    problem: Problem, assignment: Assignment, places: Sequence[Choice], value: Value
) -> Sequence[Choice]:
    """Read pinned amounts; pods that are counted together take them from anywhere."""
    own = existing_cell_vars(assignment)
    if len(places) > 1:
        return places
    (place,) = places
    if any(own.pinned):
        none = (0,) * len(problem.nodes[assignment.node].cells)
        place = replace(place, pinned=tuple(tuple(map(value, row)) or none for row in own.pinned))
    return [place]


def has_no_cell_choice(problem: Problem, shape: int) -> bool:
    """Return whether no policy has to choose cells for pods of a shape, one by one."""
    return not any(
        fit.alignment is not AlignmentPolicy.NONE
        and (known.cells > 1 or not fit.uses_cells(problem.shapes[shape]))
        for kind, known in problem.of_kinds.items()
        if (fit := problem.fits[shape][kind]) is not None
    )


def has_no_alignment_policy(problem: Problem, shape: int) -> bool:
    """Return whether pods of a shape take what they ask for from anywhere."""
    return {fit.alignment for fit in fits_of_shape(problem, shape)} <= {AlignmentPolicy.NONE}


FAMILY = ModelFamily(
    name=RuleFamilyName.NUMA,
    decide=cell_vars,
    rules=(
        pinned_amounts_fit_their_cell,
        a_pod_has_the_amounts_it_asks_for,
        a_pod_uses_the_cells_it_takes_from,
        a_pod_keeps_to_its_cell_limit,
    ),
    cuts=(best_effort_needs_its_fewest_cells,),
    tiers={ALIGNMENT: pod_cells_beyond_fewest_expr},
    hint=cell_solver_hints,
    read=read_solved_cells,
    countable=has_no_cell_choice,
    plain=has_no_alignment_policy,
    sees_links=never,
    exchangeable=always,
)
