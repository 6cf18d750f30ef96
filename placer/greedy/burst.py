"""Cells for a pod under ConstrainedBurst: those in whose pool it runs (C8)."""

from collections.abc import Collection, Iterator
from itertools import combinations, islice

from placer.greedy.bound import fits_beside_bound_pods
from placer_models.problem.node_state import NodeState
from placer_models.problem.problem import Shape

MAX_TRIED = 256
"""How many sets of cells of each size are tried for one pod."""


def burst_cells(
    node: NodeState, shape: Shape, cells: Collection[int], held: Collection[int]
) -> tuple[int, ...] | None:
    """Return cells whose pools hold the limit and the request, or None if none were found.

    Args:
        node: What is left on the node.
        shape: What the pod asks for; it is under ConstrainedBurst.
        cells: The cells that the pod may use.
        held: Those of them where it has something already: the others are as few as can be, and
            of such sets the tightest.

    """
    return next(
        (
            some
            for some in _holding(node, shape, cells, held)
            if fits_beside_bound_pods(node, shape, ((some, shape.pool_milli),))
        ),
        None,
    )


def _holding(
    node: NodeState, shape: Shape, cells: Collection[int], held: Collection[int]
) -> Iterator[tuple[int, ...]]:
    """Yield sets of cells whose pools hold the limit."""
    pool = [cell.shared.cpus for cell in node.cells]
    real = [cell for cell in cells if pool[cell]]
    # The largest first, so that some of the sets tried hold the limit if any does.
    real.sort(key=lambda cell: (-node.cells[cell].shared.milli, -pool[cell], cell))
    for size in range(1, len(real) + 1):
        tried = islice(combinations(real, size), MAX_TRIED)
        enough = [some for some in tried if sum(pool[cell] for cell in some) >= shape.burst_cpus]
        yield from sorted(
            (tuple(sorted(some)) for some in enough),
            key=lambda some: (
                len(set(some) - set(held)),
                sum(pool[cell] for cell in some),
                some,
            ),
        )
