"""Rules about containers that are aligned each for itself (C12).

Inside a cell every CPU, byte and device of a pod is as good for one of its containers as
any other. So how much each container has from each cell says all.
"""

from collections.abc import Iterator

from ortools.sat.python.cp_model import CpModel, LinearExpr

from placer_models.cpsat.assignment import Assignment, Variables
from placer_models.cpsat.container_seats import supply
from placer_models.cpsat.expression import Expression
from placer_models.policy import AlignmentPolicy
from placer_models.problem import NodeState, Problem


def a_container_has_what_it_asks_for(model: CpModel, problem: Problem, x: Variables) -> None:
    """What a container has from the cells sums to its request, good by good."""
    for assignment in x.assignments:
        for container in assignment.containers:
            for need, row in zip(container.fit.need, container.taken, strict=True):
                if need:
                    model.add(LinearExpr.sum(list(row)) == need * assignment.count)


def containers_share_what_the_pod_holds(model: CpModel, problem: Problem, x: Variables) -> None:
    """Containers that run together have different parts of what their pod holds.

    An init container has a part of what the sidecars before it leave; those that come
    after it use that again.
    """
    for assignment in x.assignments:
        if not assignment.containers:
            continue
        together = [[c for c in assignment.containers if c.fit.lasts]]
        together += [
            [assignment.containers[i] for i in c.fit.beside] + [c]
            for c in assignment.containers
            if not c.fit.lasts
        ]
        for good, held in enumerate(_held(problem.nodes[assignment.node], assignment)):
            for group in together:
                for place, amount in enumerate(held):
                    parts = [c.taken[good][place] for c in group if c.fit.need[good]]
                    if parts:
                        model.add(LinearExpr.sum(parts) <= amount)


def a_container_uses_the_cells_it_takes_from(
    model: CpModel, problem: Problem, x: Variables
) -> None:
    """What a container has comes from cells that it counts as used."""
    for assignment in x.assignments:
        node = problem.nodes[assignment.node]
        for container in assignment.containers:
            for literal in container.used:
                model.add(literal <= assignment.count)
            rows = zip(
                container.fit.need, container.taken, supply(node, assignment.shape), strict=True
            )
            for need, row, free in rows:
                for taken, used, most in zip(row, container.used, free, strict=False):
                    if need and most:
                        model.add(taken <= min(need, most) * used)


def a_container_keeps_to_its_cells(model: CpModel, problem: Problem, x: Variables) -> None:
    """SingleNUMANode and Restricted hold for each container alone."""
    for assignment in x.assignments:
        for container in assignment.containers:
            if container.fit.cell_limit is not None:
                used = LinearExpr.sum(list(container.used))
                model.add(used <= container.fit.cell_limit * assignment.count)


def best_effort_containers_need_their_fewest_cells(
    model: CpModel, problem: Problem, x: Variables
) -> None:
    """Fewer cells than the empty node needs are never enough; said for the bound's sake."""
    for assignment in x.assignments:
        for container in assignment.containers:
            if container.fit.alignment is AlignmentPolicy.BEST_EFFORT:
                used = LinearExpr.sum(list(container.used))
                model.add(used >= container.fit.fewest_cells * assignment.count)


def _held(node: NodeState, assignment: Assignment) -> Iterator[list[Expression]]:
    """Yield for each good what the pod of the assignment holds from each cell, and from none."""
    cpus: list[Expression] = [0] * (len(node.cells) + 1)
    for part, c in zip(assignment.cores, node.cores if assignment.cores else (), strict=True):
        cpus[c.cell] += part.whole * c.threads + part.threads
    yield [*assignment.pool.milli, 0] if assignment.pool else cpus
    for row in (assignment.memory, *assignment.pages):
        yield [*(row or (0,) * len(node.cells)), 0]
    for kind, _ in assignment.shape.devices:
        devices: list[Expression] = [0] * (len(node.cells) + 1)
        for bank, taken in zip(node.banks, assignment.devices, strict=True):
            if bank.type == kind:
                for cell, count in zip(bank.cells, taken, strict=True):
                    devices[-1 if cell is None else cell] += count
        yield devices
