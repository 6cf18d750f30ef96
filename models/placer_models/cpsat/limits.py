"""What the tiers about links can be modelled for."""

from math import prod

from placer_models.device import GPU
from placer_models.links import selection_count
from placer_models.problem import Problem

MAX_TABLE_ROWS = 20_000
"""Free counts of one board that a table is written for."""

MAX_SELECTIONS = 3_000
"""GPU sets of one size that a pod is offered on one node."""


def boards_fit(problem: Problem) -> bool:
    """Return whether every board is regular or small enough to model all its GPU sets.

    A board of 16 GPUs without any twins is not: it has 65,536 sets. Then the tiers before
    the links are solved without links, and links are looked after by the greedy path.
    """
    sizes = {shape.count_of(GPU) for shape in problem.shapes} - {0, 1}
    boards = {
        (bank.board, bank.free) for node in problem.nodes for bank in node.banks if bank.type == GPU
    }
    return all(
        prod(count + 1 for count in free) <= MAX_TABLE_ROWS
        and all(selection_count(board, size, free) <= MAX_SELECTIONS for size in sizes)
        for board, free in boards
    )
