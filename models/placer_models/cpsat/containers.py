"""Rules about containers that are aligned each for itself (C12).

Inside a cell every CPU, byte and device of a pod is as good for one of its containers as
any other. So how much each container has from each cell says all.
"""

from collections.abc import Iterator

from ortools.sat.python.cp_model import CpModel, LinearExpr

from placer_models.cpsat.container_seats import supply
from placer_models.cpsat.expression import Expression
from placer_models.cpsat.variables import Decisions, Seat
from placer_models.policy import AlignmentPolicy
from placer_models.problem import NodeState, Problem


def a_container_has_what_it_asks_for(model: CpModel, problem: Problem, x: Decisions) -> None:
    """What a container has from the cells sums to its request, good by good."""
    for seat in x.seats:
        for container in seat.containers:
            for need, row in zip(container.fit.need, container.taken, strict=True):
                if need:
                    model.add(LinearExpr.sum(list(row)) == need * seat.count)


def containers_share_what_the_pod_holds(model: CpModel, problem: Problem, x: Decisions) -> None:
    """Containers that run together have different parts of what their pod holds.

    An init container has a part of what the sidecars before it leave; those that come
    after it use that again.
    """
    for seat in x.seats:
        if not seat.containers:
            continue
        together = [[c for c in seat.containers if c.fit.lasts]]
        together += [
            [seat.containers[i] for i in c.fit.beside] + [c]
            for c in seat.containers
            if not c.fit.lasts
        ]
        for good, held in enumerate(_held(problem.nodes[seat.node], seat)):
            for group in together:
                for place, amount in enumerate(held):
                    parts = [c.taken[good][place] for c in group if c.fit.need[good]]
                    if parts:
                        model.add(LinearExpr.sum(parts) <= amount)


def a_container_uses_the_cells_it_takes_from(
    model: CpModel, problem: Problem, x: Decisions
) -> None:
    """What a container has comes from cells that it counts as used."""
    for seat in x.seats:
        node = problem.nodes[seat.node]
        for container in seat.containers:
            for literal in container.used:
                model.add(literal <= seat.count)
            rows = zip(container.fit.need, container.taken, supply(node, seat.shape), strict=True)
            for need, row, free in rows:
                for taken, used, most in zip(row, container.used, free, strict=False):
                    if need and most:
                        model.add(taken <= min(need, most) * used)


def a_container_keeps_to_its_cells(model: CpModel, problem: Problem, x: Decisions) -> None:
    """SingleNUMANode and Restricted hold for each container alone."""
    for seat in x.seats:
        for container in seat.containers:
            if container.fit.cell_limit is not None:
                used = LinearExpr.sum(list(container.used))
                model.add(used <= container.fit.cell_limit * seat.count)


def best_effort_containers_need_their_fewest_cells(
    model: CpModel, problem: Problem, x: Decisions
) -> None:
    """Fewer cells than the empty node needs are never enough; said for the bound's sake."""
    for seat in x.seats:
        for container in seat.containers:
            if container.fit.alignment is AlignmentPolicy.BEST_EFFORT:
                used = LinearExpr.sum(list(container.used))
                model.add(used >= container.fit.fewest_cells * seat.count)


def _held(node: NodeState, seat: Seat) -> Iterator[list[Expression]]:
    """Yield for each good what the pod of the seat holds from each cell, and from none."""
    cpus: list[Expression] = [0] * (len(node.cells) + 1)
    for part, c in zip(seat.cores, node.cores if seat.cores else (), strict=True):
        cpus[c.cell] += part.whole * c.threads + part.threads
    yield [*seat.pool.milli, 0] if seat.pool else cpus
    for row in (seat.memory, *seat.pages):
        yield [*(row or (0,) * len(node.cells)), 0]
    for kind, _ in seat.shape.devices:
        devices: list[Expression] = [0] * (len(node.cells) + 1)
        for bank, taken in zip(node.banks, seat.devices, strict=True):
            if bank.type == kind:
                for cell, count in zip(bank.cells, taken, strict=True):
                    devices[-1 if cell is None else cell] += count
        yield devices
