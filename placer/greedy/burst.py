"""A place for a pod beside pods under ConstrainedBurst, or for such a pod (C8)."""

from collections.abc import Collection, Iterator
from dataclasses import replace
from itertools import combinations, islice

from placer.greedy.bursts import free_in, short_cells
from placer.greedy.chooser import Offer
from placer.greedy.in_company import choose_in_company
from placer.greedy.residual import ClassLeft, Residual
from placer.greedy.taking import after
from placer_models.problem import Fit, Shape

MAX_TRIED = 256
"""Sets of cells that are tried for one pod."""

_NOTHING = ClassLeft(0, 0, 0)


def choose_beside_bursts(
    residual: Residual, shape: Shape, fit: Fit, begun: Collection[int] = ()
) -> Offer | None:
    """Return the cheapest place found for a pod of the shape; None: none was found.

    A constrained pod gets the fewest cells that hold it, and of these the tightest. An
    owner that would take too much from such pods looks again without their cells.

    Args:
        residual: What is left on the node.
        shape: What the pod asks for.
        fit: What that means here.
        begun: Positions of its terms that it need not keep, as the first of its kind.

    """
    offer = choose_in_company(residual, shape, fit, begun)
    if offer is None:
        return None
    if shape.burst_cpus:
        for cells in _cells(residual, shape):
            inside = offer.inside._replace(pool_cells=cells)
            if not short_cells(after(residual, shape, inside)):
                return Offer(offer.price, inside)
        return None
    if not shape.owned_cpus or not residual.bursts:
        return offer
    short = short_cells(after(residual, shape, offer.inside))
    if not short:
        return offer
    cores = tuple(
        _NOTHING if facts.cell in short else left
        for facts, left in zip(residual.layout.classes, residual.cores, strict=True)
    )
    offer = choose_in_company(replace(residual, cores=cores), shape, fit, begun)
    if offer is None or short_cells(after(residual, shape, offer.inside)):
        return None
    return offer


def _cells(residual: Residual, shape: Shape) -> Iterator[tuple[int, ...]]:
    """Yield sets of cells whose pools hold the limit, fewest and tightest first."""
    free = free_in(residual)
    pool = [own + kept for own, kept in zip(free, residual.reserved, strict=True)]
    real = [cell for cell, is_real in enumerate(residual.layout.real) if is_real and pool[cell]]
    # The largest first, so that some of the sets tried hold the limit if any does.
    real.sort(key=lambda cell: (-free[cell], -pool[cell], cell))
    for size in range(1, len(real) + 1):
        tried = islice(combinations(real, size), MAX_TRIED)
        held = [c for c in tried if sum(pool[cell] for cell in c) >= shape.burst_cpus]
        for cells in sorted(held, key=lambda c: (sum(pool[cell] for cell in c), c)):
            yield tuple(sorted(cells))
