"""Rules about memory and NUMA nodes (C12)."""

from ortools.sat.python.cp_model import CpModel, LinearExpr

from placer_models.cpsat.share_seats import reach_of
from placer_models.cpsat.variables import Decisions
from placer_models.policy import AlignmentPolicy
from placer_models.problem import Problem
from placer_models.shares import follows_strategy


def memory_fits(model: CpModel, problem: Problem, x: Decisions) -> None:
    """Pods take at most the memory of the node, and pinned parts that of their cell.

    Pods without a policy take what is left anywhere, so the two sums are enough.
    """
    for node, seats in zip(problem.nodes, x.on_node, strict=True):
        asked = [seat.shape.memory * seat.count for seat in seats if seat.shape.memory]
        if not asked:
            continue
        model.add(LinearExpr.sum(asked) <= sum(cell.memory for cell in node.cells))
        if len(node.cells) == 1:
            continue
        for index, cell in enumerate(node.cells):
            pinned = [seat.memory[index] for seat in seats if seat.memory]
            if pinned:
                model.add(LinearExpr.sum(pinned) <= cell.memory)


def a_pod_has_the_memory_it_asks_for(model: CpModel, problem: Problem, x: Decisions) -> None:
    """The parts in the cells sum to the request."""
    for seat in x.seats:
        if seat.memory:
            model.add(LinearExpr.sum(list(seat.memory)) == seat.shape.memory * seat.count)


def a_pod_uses_the_cells_it_takes_from(model: CpModel, problem: Problem, x: Decisions) -> None:
    """CPUs, memory and devices come from cells that the pod counts as used."""
    for seat in x.seats:
        if not seat.used or seat.used[0] is seat.count:
            continue
        node = problem.nodes[seat.node]
        for literal in seat.used:
            model.add(literal <= seat.count)
        for part, c in zip(seat.cores, node.cores if seat.cores else (), strict=True):
            most = min(seat.shape.owned_cpus, c.cores * c.free)
            model.add(part.whole * c.threads + part.threads <= most * seat.used[c.cell])
        for index, memory in enumerate(seat.memory):
            if seat.fit.cell_limit != 1:
                most = min(node.cells[index].memory, seat.shape.memory)
                model.add(memory <= most * seat.used[index])
        for index, bank in enumerate(node.banks):
            size = seat.shape.count_of(bank.type)
            reach = reach_of(bank, seat.shape)
            if follows_strategy(seat.shape.shares, bank.type):
                size = sum(reach)
            for twin, cell in enumerate(bank.cells):
                if size and cell is not None:
                    count = seat.touched(index, twin)
                    model.add(count <= min(reach[twin], size) * seat.used[cell])


def a_pod_keeps_to_its_cells(model: CpModel, problem: Problem, x: Decisions) -> None:
    """SingleNUMANode and Restricted use no more NUMA nodes than their limit."""
    for seat in x.seats:
        if seat.used and seat.fit.cell_limit is not None:
            model.add(LinearExpr.sum(list(seat.used)) <= seat.fit.cell_limit * seat.count)


def best_effort_needs_its_fewest_cells(model: CpModel, problem: Problem, x: Decisions) -> None:
    """Fewer cells than the empty node needs are never enough; said for the bound's sake."""
    for seat in x.seats:
        if seat.used and seat.fit.alignment is AlignmentPolicy.BEST_EFFORT:
            model.add(LinearExpr.sum(list(seat.used)) >= seat.fit.fewest_cells * seat.count)
