"""Rules about hugepages: as for memory, for each size of pages (C12)."""

from ortools.sat.python.cp_model import CpModel, LinearExpr

from placer_models.cpsat.assignment import Variables
from placer_models.problem import Problem


def hugepages_fit(model: CpModel, problem: Problem, x: Variables) -> None:
    """Pods take at most the pages of the node, and pinned ones those of their cell."""
    for size in range(len(problem.page_sizes)):
        for node, assignments in zip(problem.nodes, x.on_node, strict=True):
            takers = [assignment for assignment in assignments if assignment.shape.pages[size]]
            if not takers:
                continue
            asked = [assignment.shape.pages[size] * assignment.count for assignment in takers]
            model.add(LinearExpr.sum(asked) <= sum(cell.pages[size] for cell in node.cells))
            for index, cell in enumerate(node.cells):
                pinned = [
                    assignment.pages[size][index] for assignment in takers if assignment.pages[size]
                ]
                if pinned:
                    model.add(LinearExpr.sum(pinned) <= cell.pages[size])


def a_pod_has_the_hugepages_it_asks_for(model: CpModel, problem: Problem, x: Variables) -> None:
    """The parts in the cells sum to the request, size by size."""
    for assignment in x.assignments:
        for pages, need in zip(assignment.pages, assignment.shape.pages, strict=True):
            if pages:
                model.add(LinearExpr.sum(list(pages)) == need * assignment.count)


def a_pod_uses_the_cells_of_its_hugepages(model: CpModel, problem: Problem, x: Variables) -> None:
    """Hugepages come from cells that the pod counts as used."""
    for assignment in x.assignments:
        if (
            not assignment.used
            or assignment.used[0] is assignment.count
            or assignment.fit.cell_limit == 1
        ):
            continue
        cells = problem.nodes[assignment.node].cells
        for size, (pages, need) in enumerate(
            zip(assignment.pages, assignment.shape.pages, strict=True)
        ):
            for part, cell, used in zip(pages, cells, assignment.used, strict=False):
                model.add(part <= min(cell.pages[size], need) * used)
