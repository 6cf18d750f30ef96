"""Rules about memory and NUMA nodes (C12)."""

from ortools.sat.python.cp_model import CpModel, LinearExpr

from placer_models.cpsat.assignment import Variables
from placer_models.cpsat.share_seats import reach_of
from placer_models.policy import AlignmentPolicy
from placer_models.problem import Problem
from placer_models.shares import follows_strategy


def memory_fits(model: CpModel, problem: Problem, x: Variables) -> None:
    """Pods take at most the memory of the node, and pinned parts that of their cell.

    Pods without a policy take what is left anywhere, so the two sums are enough.
    """
    for node, assignments in zip(problem.nodes, x.on_node, strict=True):
        asked = [
            assignment.shape.memory * assignment.count
            for assignment in assignments
            if assignment.shape.memory
        ]
        if not asked:
            continue
        model.add(LinearExpr.sum(asked) <= sum(cell.memory for cell in node.cells))
        if len(node.cells) == 1:
            continue
        for index, cell in enumerate(node.cells):
            pinned = [assignment.memory[index] for assignment in assignments if assignment.memory]
            if pinned:
                model.add(LinearExpr.sum(pinned) <= cell.memory)


def a_pod_has_the_memory_it_asks_for(model: CpModel, problem: Problem, x: Variables) -> None:
    """The parts in the cells sum to the request."""
    for assignment in x.assignments:
        if assignment.memory:
            model.add(
                LinearExpr.sum(list(assignment.memory))
                == assignment.shape.memory * assignment.count
            )


def a_pod_uses_the_cells_it_takes_from(model: CpModel, problem: Problem, x: Variables) -> None:
    """CPUs, memory and devices come from cells that the pod counts as used."""
    for assignment in x.assignments:
        if not assignment.used or assignment.used[0] is assignment.count:
            continue
        node = problem.nodes[assignment.node]
        for literal in assignment.used:
            model.add(literal <= assignment.count)
        for part, c in zip(assignment.cores, node.cores if assignment.cores else (), strict=True):
            most = min(assignment.shape.owned_cpus, c.cores * c.free)
            model.add(part.whole * c.threads + part.threads <= most * assignment.used[c.cell])
        for index, memory in enumerate(assignment.memory):
            if assignment.fit.cell_limit != 1:
                most = min(node.cells[index].memory, assignment.shape.memory)
                model.add(memory <= most * assignment.used[index])
        for index, bank in enumerate(node.banks):
            size = assignment.shape.count_of(bank.type)
            reach = reach_of(bank, assignment.shape)
            if follows_strategy(assignment.shape.shares, bank.type):
                size = sum(reach)
            for twin, cell in enumerate(bank.cells):
                if size and cell is not None:
                    count = assignment.touched(index, twin)
                    model.add(count <= min(reach[twin], size) * assignment.used[cell])


def a_pod_keeps_to_its_cells(model: CpModel, problem: Problem, x: Variables) -> None:
    """SingleNUMANode and Restricted use no more NUMA nodes than their limit."""
    for assignment in x.assignments:
        if assignment.used and assignment.fit.cell_limit is not None:
            model.add(
                LinearExpr.sum(list(assignment.used))
                <= assignment.fit.cell_limit * assignment.count
            )


def best_effort_needs_its_fewest_cells(model: CpModel, problem: Problem, x: Variables) -> None:
    """Fewer cells than the empty node needs are never enough; said for the bound's sake."""
    for assignment in x.assignments:
        if assignment.used and assignment.fit.alignment is AlignmentPolicy.BEST_EFFORT:
            model.add(
                LinearExpr.sum(list(assignment.used))
                >= assignment.fit.fewest_cells * assignment.count
            )
