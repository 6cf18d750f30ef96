"""Containers that are aligned each on its own (C12).

Inside a cell, any CPU, byte or device of a pod is as good for one of its containers as any
other. So it is enough to know how much each container has from each cell.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ortools.sat.python.cp_model import CpModel, LinearExpr

from placer_models.cpsat.assignment import Assignment, Expression, PlacementVariables
from placer_models.cpsat.bound import BoundPodPoolVariables
from placer_models.cpsat.cpus import existing_core_take_vars
from placer_models.cpsat.devices import existing_device_vars
from placer_models.cpsat.family import (
    Hint,
    KnownPlacement,
    ModelFamily,
    Value,
    fits_of_shape,
    never,
    solver_hints_for_plain_variables,
)
from placer_models.cpsat.numa import existing_cell_vars
from placer_models.goals import ALIGNMENT
from placer_models.policy import BINDING, AlignmentPolicy
from placer_models.problem.banks import DeviceBank
from placer_models.problem.fits import ContainerFit
from placer_models.problem.node_state import NodeState
from placer_models.problem.problem import Choice, Fit, Problem, Shape
from placer_models.rule_family import RuleFamilyName


@dataclass(frozen=True, slots=True)
class ContainerVariables:
    """What one container of an assignment's pod has.

    Attributes:
        used: One literal per cell of the node: whether the container uses it.
        taken: For each good of its fit, the amount from each cell, and last from no cell.

    """

    fit: ContainerFit
    used: tuple[Expression, ...]
    taken: tuple[tuple[Expression, ...], ...]


@dataclass(frozen=True, slots=True)
class AssignmentContainersVariables:
    """The containers of an assignment's pod; such an assignment has at most one pod."""

    containers: tuple[ContainerVariables, ...]


def existing_container_vars(assignment: Assignment) -> tuple[ContainerVariables, ...]:
    """Return the containers of the pod, or nothing if it is aligned as a whole."""
    parts = assignment.part(AssignmentContainersVariables)
    return parts.containers if parts else ()


def container_vars(
    model: CpModel, problem: Problem, assignment: Assignment
) -> AssignmentContainersVariables | None:
    """Create the variables of the containers, or return None if the pod is aligned as a whole."""
    if not assignment.fit.containers:
        return None
    node = problem.nodes[assignment.node]
    return AssignmentContainersVariables(
        tuple(
            _container_part(model, node, assignment, fit, f"{assignment.name},{position}")
            for position, fit in enumerate(assignment.fit.containers)
        )
    )


def _container_part(
    model: CpModel, node: NodeState, assignment: Assignment, fit: ContainerFit, name: str
) -> ContainerVariables:
    return ContainerVariables(
        fit,
        used=tuple(
            0
            if cell.numa_node is None and fit.cell_limit is not None
            else model.new_bool_var(f"used[{name},{i}]")
            for i, cell in enumerate(node.cells)
        ),
        taken=tuple(
            tuple(
                model.new_int_var(0, min(need, most), f"part[{name},{good},{i}]")
                if need and most
                else 0
                for i, most in enumerate(row)
            )
            for good, (need, row) in enumerate(
                zip(fit.need, _supply(node, assignment.shape), strict=True)
            )
        ),
    )


def _supply(node: NodeState, shape: Shape) -> Iterator[list[int]]:
    """Yield for each good the amount that is free in each cell, and last in no cell."""
    cpus = [0] * len(node.cells)
    for c in node.cores:
        cpus[c.cell] += c.cores * c.free
    if shape.pool is not None:
        cpus = [cell.pool(shape.pool).milli for cell in node.cells]
    yield [*cpus, 0]
    for held in zip(*(cell.amounts for cell in node.cells), strict=True):
        yield [*held, 0]
    for kind, _ in shape.devices:
        devices = [0] * (len(node.cells) + 1)
        bank = node.bank(kind)
        for cell, free in zip(bank.cells, bank.free, strict=True) if bank else ():
            devices[-1 if cell is None else cell] += free
        yield devices


def a_container_has_what_it_asks_for(
    model: CpModel, problem: Problem, x: PlacementVariables
) -> None:
    """What a container has from the cells sums to its request, good by good."""
    for assignment in x.assignments:
        for container in existing_container_vars(assignment):
            for need, row in zip(container.fit.need, container.taken, strict=True):
                if need:
                    model.add(LinearExpr.sum(list(row)) == need * assignment.count)


def containers_share_what_the_pod_holds(
    model: CpModel, problem: Problem, x: PlacementVariables
) -> None:
    """Containers that run together have different parts of what their pod holds.

    An init container has a part of what the sidecars before it leave; containers that come
    after it use that part again.
    """
    for assignment in x.assignments:
        containers = existing_container_vars(assignment)
        if not containers:
            continue
        together = [[c for c in containers if c.fit.lasts]]
        together += [
            [containers[i] for i in c.fit.beside] + [c] for c in containers if not c.fit.lasts
        ]
        for good, held in enumerate(_held(problem.nodes[assignment.node], assignment)):
            for group in together:
                for place, amount in enumerate(held):
                    parts = [c.taken[good][place] for c in group if c.fit.need[good]]
                    if parts:
                        model.add(LinearExpr.sum(parts) <= amount)


def a_container_uses_the_cells_it_takes_from(
    model: CpModel, problem: Problem, x: PlacementVariables
) -> None:
    """A container takes only from cells that it uses; a binding policy binds the pod to them."""
    for assignment in x.assignments:
        node, pool = problem.nodes[assignment.node], assignment.part(BoundPodPoolVariables)
        for container in existing_container_vars(assignment):
            for literal in container.used:
                model.add(literal <= assignment.count)
            if pool is not None and container.fit.alignment in BINDING:
                for literal, bound in zip(container.used, pool.used, strict=True):
                    model.add(literal <= bound)
            rows = zip(
                container.fit.need, container.taken, _supply(node, assignment.shape), strict=True
            )
            for need, row, free in rows:
                for taken, used, most in zip(row, container.used, free, strict=False):
                    if need and most:
                        model.add(taken <= min(need, most) * used)


def a_container_keeps_to_its_cell_limit(
    model: CpModel, problem: Problem, x: PlacementVariables
) -> None:
    """SingleNUMANode and Restricted hold for each container alone."""
    for assignment in x.assignments:
        for container in existing_container_vars(assignment):
            if container.fit.cell_limit is not None:
                used = LinearExpr.sum(list(container.used))
                model.add(used <= container.fit.cell_limit * assignment.count)


def containers_use_enough_cells(model: CpModel, problem: Problem, x: PlacementVariables) -> None:
    """No container uses fewer cells than it needs on the empty node; this only helps the bound."""
    for assignment in x.assignments:
        for container in existing_container_vars(assignment):
            if container.fit.alignment is AlignmentPolicy.BEST_EFFORT:
                used = LinearExpr.sum(list(container.used))
                model.add(used >= container.fit.fewest_cells * assignment.count)


def _held(node: NodeState, assignment: Assignment) -> Iterator[list[Expression]]:
    """Yield for each good what an assignment's pod holds from each cell, and last from none."""
    cpus: list[Expression] = [0] * (len(node.cells) + 1)
    cores = existing_core_take_vars(assignment)
    for part, c in zip(cores, node.cores if cores else (), strict=True):
        cpus[c.cell] += part.cpus(c)
    pool, goods = assignment.part(BoundPodPoolVariables), existing_cell_vars(assignment)
    yield [*pool.milli, 0] if pool else cpus
    for row in goods.pinned:
        yield [*(row or (0,) * len(node.cells)), 0]
    for kind, _ in assignment.shape.devices:
        devices: list[Expression] = [0] * (len(node.cells) + 1)
        index = node.bank_index(kind)
        taken = existing_device_vars(assignment).whole[index]
        for cell, count in zip(node.banks[index].cells, taken, strict=True):
            devices[-1 if cell is None else cell] += count
        yield devices


def container_cells_beyond_fewest_expr(
    model: CpModel, problem: Problem, x: PlacementVariables
) -> Expression:
    """Count the cells of BestEffort containers beyond their fewest (tier ``alignment``)."""
    return LinearExpr.sum(
        [
            LinearExpr.sum(list(container.used)) - container.fit.fewest_cells * assignment.count
            for assignment in x.assignments
            for container in existing_container_vars(assignment)
            if container.fit.alignment is AlignmentPolicy.BEST_EFFORT
        ]
    )


def container_solver_hints(
    problem: Problem, x: PlacementVariables, known: KnownPlacement
) -> Iterator[Hint]:
    """Yield hints for what containers have, and from which cells."""
    for assignment, choices in known.at:
        for position, container in enumerate(existing_container_vars(assignment)):
            parts = [choice.containers[position] for choice in choices]
            for good, row in enumerate(container.taken):
                amounts = [sum(part[good][place] for part in parts) for place in range(len(row))]
                yield from solver_hints_for_plain_variables(row, amounts)
            cells = range(len(container.used))
            used = [int(any(row[cell] for part in parts for row in part)) for cell in cells]
            yield from solver_hints_for_plain_variables(container.used, used)


def read_solved_containers(
    problem: Problem, assignment: Assignment, places: Sequence[Choice], value: Value
) -> Sequence[Choice]:
    """Read what each container has."""
    parts = tuple(
        tuple(tuple(map(value, row)) for row in container.taken)
        for container in existing_container_vars(assignment)
    )
    return [replace(place, containers=parts) for place in places] if parts else places


def shape_aligns_no_containers(problem: Problem, shape: int) -> bool:
    """Return whether pods of a shape are aligned as a whole, or not at all."""
    return not any(fit.containers for fit in fits_of_shape(problem, shape))


def deals_no_devices_to_containers(shape: Shape, fit: Fit, bank: DeviceBank) -> bool:
    """Return whether no devices are dealt out to containers."""
    return not fit.containers


FAMILY = ModelFamily(
    name=RuleFamilyName.CONTAINERS,
    decide=container_vars,
    rules=(
        a_container_has_what_it_asks_for,
        containers_share_what_the_pod_holds,
        a_container_uses_the_cells_it_takes_from,
        a_container_keeps_to_its_cell_limit,
    ),
    cuts=(containers_use_enough_cells,),
    tiers={ALIGNMENT: container_cells_beyond_fewest_expr},
    hint=container_solver_hints,
    read=read_solved_containers,
    countable=shape_aligns_no_containers,
    plain=shape_aligns_no_containers,
    sees_links=never,
    exchangeable=deals_no_devices_to_containers,
)
