"""Rules about hugepages: as for memory, for each size of pages (C12)."""

from ortools.sat.python.cp_model import CpModel, LinearExpr

from placer_models.cpsat.variables import Decisions
from placer_models.problem import Problem


def hugepages_fit(model: CpModel, problem: Problem, x: Decisions) -> None:
    """Pods take at most the pages of the node, and pinned ones those of their cell."""
    for size in range(len(problem.page_sizes)):
        for node, seats in zip(problem.nodes, x.on_node, strict=True):
            takers = [seat for seat in seats if seat.shape.pages[size]]
            if not takers:
                continue
            asked = [seat.shape.pages[size] * seat.count for seat in takers]
            model.add(LinearExpr.sum(asked) <= sum(cell.pages[size] for cell in node.cells))
            for index, cell in enumerate(node.cells):
                pinned = [seat.pages[size][index] for seat in takers if seat.pages[size]]
                if pinned:
                    model.add(LinearExpr.sum(pinned) <= cell.pages[size])


def a_pod_has_the_hugepages_it_asks_for(model: CpModel, problem: Problem, x: Decisions) -> None:
    """The parts in the cells sum to the request, size by size."""
    for seat in x.seats:
        for pages, need in zip(seat.pages, seat.shape.pages, strict=True):
            if pages:
                model.add(LinearExpr.sum(list(pages)) == need * seat.count)


def a_pod_uses_the_cells_of_its_hugepages(model: CpModel, problem: Problem, x: Decisions) -> None:
    """Hugepages come from cells that the pod counts as used."""
    for seat in x.seats:
        if not seat.used or seat.used[0] is seat.count or seat.fit.cell_limit == 1:
            continue
        cells = problem.nodes[seat.node].cells
        for size, (pages, need) in enumerate(zip(seat.pages, seat.shape.pages, strict=True)):
            for part, cell, used in zip(pages, cells, seat.used, strict=False):
                model.add(part <= min(cell.pages[size], need) * used)
