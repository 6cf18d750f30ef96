"""A place for a pod beside pods that are bound to a part of their pool (C8, C12)."""

from collections.abc import Collection, Iterator
from dataclasses import replace
from itertools import combinations, islice

from placer.greedy.bound_left import owners_may_take, short_cells
from placer.greedy.chooser import Offer
from placer.greedy.in_company import choose_in_company
from placer.greedy.residual import ClassLeft, Residual, free_threads
from placer.greedy.taking import after
from placer_models.problem import Fit, Shape

MAX_TRIED = 256
"""Sets of cells that are tried for one pod."""

_NOTHING = ClassLeft(0, 0, 0)


def choose_beside_bound(
    residual: Residual, shape: Shape, fit: Fit, begun: Collection[int] = ()
) -> Offer | None:
    """Return the cheapest place found for a pod of the shape; None: none was found.

    A pod under ConstrainedBurst gets the fewest cells that hold it, and of these the
    tightest. An owner that would take too much from bound pods looks again at what they
    leave, then without their cells.

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
            inside = offer.inside._replace(pool=((cells, shape.shared_milli),))
            if not short_cells(after(residual, shape, inside)):
                return Offer(offer.price, inside)
        return None
    if not shape.owned_cpus or not residual.bound:
        return offer
    short = short_cells(after(residual, shape, offer.inside))
    if not short:
        return offer
    for view in _views(residual, shape, short):
        offer = choose_in_company(view, shape, fit, begun)
        if offer is not None and not short_cells(after(residual, shape, offer.inside)):
            return offer
    return None


def _views(residual: Residual, shape: Shape, short: Collection[int]) -> Iterator[Residual]:
    """Yield what an owner may see of the node so that bound pods keep what they need."""
    may_take = owners_may_take(residual, shape)
    if may_take is None:
        return
    yield _with_at_most(residual, may_take)
    cores = tuple(
        _NOTHING if facts.cell in short else left
        for facts, left in zip(residual.layout.classes, residual.cores, strict=True)
    )
    yield replace(residual, cores=cores)


def _with_at_most(residual: Residual, most: list[int]) -> Residual:
    """Return the residual with no more CPUs of each cell; where needed, with fewer."""
    left = list(most)
    cores = []
    for facts, seen in zip(residual.layout.classes, residual.cores, strict=True):
        over = free_threads(facts, seen) - left[facts.cell]
        hidden = min(-(-max(0, over) // facts.free), seen.cores - seen.broken)
        shown = seen._replace(cores=seen.cores - hidden)
        if free_threads(facts, shown) > left[facts.cell]:
            shown = _NOTHING
        left[facts.cell] -= free_threads(facts, shown)
        cores.append(shown)
    return replace(residual, cores=tuple(cores))


def _cells(residual: Residual, shape: Shape) -> Iterator[tuple[int, ...]]:
    """Yield sets of cells whose pools hold the limit, fewest and tightest first."""
    pool = [cell.cpus for cell in residual.shared]
    real = [cell for cell, cpus in enumerate(pool) if cpus]
    # The largest first, so that some of the sets tried hold the limit if any does.
    real.sort(key=lambda cell: (-residual.shared[cell].milli, -pool[cell], cell))
    for size in range(1, len(real) + 1):
        tried = islice(combinations(real, size), MAX_TRIED)
        held = [c for c in tried if sum(pool[cell] for cell in c) >= shape.burst_cpus]
        for cells in sorted(held, key=lambda c: (sum(pool[cell] for cell in c), c)):
            yield tuple(sorted(cells))
