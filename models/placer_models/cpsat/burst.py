"""Rules about LS pods that stay in the shared pool of some NUMA nodes (C8)."""

from ortools.sat.python.cp_model import CpModel, LinearExpr

from placer_models.cpsat.burst_seats import pool_in
from placer_models.cpsat.expression import Expression
from placer_models.cpsat.variables import Decisions, Seat
from placer_models.problem import NodeState, Problem


def a_burst_pod_has_a_pool_for_its_limit(model: CpModel, problem: Problem, x: Decisions) -> None:
    """What new owners leave of the pools of its cells holds the pod's limit."""
    for node, seats in zip(problem.nodes, x.on_node, strict=True):
        owned = [_owned(node, seats, cell) for cell in range(len(node.cells))]
        for seat in seats:
            if seat.burst is None:
                continue
            model.add(LinearExpr.sum(list(seat.burst.cpus)) >= seat.shape.burst_cpus * seat.count)
            for cell, (used, cpus) in enumerate(zip(seat.burst.used, seat.burst.cpus, strict=True)):
                if pool_in(node, cell) and node.cells[cell].numa_node is not None:
                    model.add(cpus <= pool_in(node, cell) - owned[cell])
                    model.add(cpus <= seat.shape.burst_cpus * used)
                    model.add(used <= cpus)
                    model.add(used <= seat.count)


def owners_leave_running_bursts_their_limit(model: CpModel, problem: Problem, x: Decisions) -> None:
    """New owners take what running pods do not need for their limits."""
    for node, seats in zip(problem.nodes, x.on_node, strict=True):
        for burst in node.bursts:
            owned = [_owned(node, seats, cell) for cell in burst.cells]
            pools = [pool_in(node, cell) for cell in burst.cells]
            model.add(LinearExpr.sum(owned) <= sum(pools) - burst.cpus)
            for here, pool in zip(owned, pools, strict=True):
                if pool:
                    model.add(here <= pool - 1)


def requests_of_burst_pods_fit_their_cells(model: CpModel, problem: Problem, x: Decisions) -> None:
    """Each request is shared out over the pod's cells, which have the CPUs for them all.

    Where running pods do not fit by themselves, nobody new may take CPUs.
    """
    for node, seats in zip(problem.nodes, x.on_node, strict=True):
        new = [seat for seat in seats if seat.burst is not None and seat.shape.shared_milli]
        if not new and not node.bursts:
            continue
        taken = model.new_bool_var(f"taken[{node.name}]")
        for seat in seats:
            if seat.cores or seat in new:
                model.add(seat.count <= seat.most * taken)
        in_cell: list[list[Expression]] = [[] for _ in node.cells]
        for seat in new:
            assert seat.burst is not None
            milli = seat.shape.shared_milli
            model.add(LinearExpr.sum(list(seat.burst.milli)) == milli * seat.count)
            for cell, (used, part) in enumerate(
                zip(seat.burst.used, seat.burst.milli, strict=True)
            ):
                model.add(part <= milli * used)
                in_cell[cell].append(part)
        for index, burst in enumerate(node.bursts):
            name = f"running[{node.name},{index}"
            parts = [model.new_int_var(0, burst.milli, f"{name},{cell}]") for cell in burst.cells]
            model.add(LinearExpr.sum(parts) == burst.milli * taken)
            for cell, part in zip(burst.cells, parts, strict=True):
                in_cell[cell].append(part)
        for cell, amounts in enumerate(in_cell):
            free = pool_in(node, cell) - node.cells[cell].reserved
            if amounts:
                asked = LinearExpr.sum(amounts)
                model.add(asked + 1000 * _owned(node, seats, cell) <= 1000 * free)


def _owned(node: NodeState, seats: tuple[Seat, ...], cell: int) -> Expression:
    """Return the CPUs of a cell that new pods own."""
    return LinearExpr.sum(
        [
            part.whole * c.threads + part.threads
            for seat in seats
            if seat.cores
            for part, c in zip(seat.cores, node.cores, strict=True)
            if c.cell == cell
        ]
    )
