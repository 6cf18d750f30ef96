"""A place for a pod beside pods that are bound to a part of their pool (C8, C12)."""

from collections.abc import Collection, Iterator
from dataclasses import replace
from itertools import combinations, islice

from placer.greedy.bound_left import owners_may_take, short_cells
from placer.greedy.chooser import Offer
from placer.greedy.in_company import choose_in_company
from placer.greedy.taking import after
from placer_models.node_state import NodeState
from placer_models.problem import Fit, Shape

MAX_TRIED = 256
"""Sets of cells that are tried for one pod."""


def choose_beside_bound(
    node: NodeState, shape: Shape, fit: Fit, begun: Collection[int] = ()
) -> Offer | None:
    """Return the cheapest place found for a pod of the shape; None: none was found.

    A pod under ConstrainedBurst gets the fewest cells that hold it, and of these the
    tightest. An owner that would take too much from bound pods looks again at what they
    leave, then without their cells.

    Args:
        node: What is left on it.
        shape: What the pod asks for.
        fit: What that means here.
        begun: Positions of its terms that it need not keep, as the first of its kind.

    """
    offer = choose_in_company(node, shape, fit, begun)
    if offer is None:
        return None
    if shape.burst_cpus:
        for cells in _cells(node, shape):
            choice = replace(offer.choice, pool=((cells, shape.pool_milli),))
            if not short_cells(after(node, shape, choice)):
                return Offer(offer.price, choice)
        return None
    if not shape.owned_cpus or not node.bound:
        return offer
    short = short_cells(after(node, shape, offer.choice))
    if not short:
        return offer
    for view in _views(node, shape, short):
        offer = choose_in_company(view, shape, fit, begun)
        if offer is not None and not short_cells(after(node, shape, offer.choice)):
            return offer
    return None


def _views(node: NodeState, shape: Shape, short: Collection[int]) -> Iterator[NodeState]:
    """Yield what an owner may see of the node so that bound pods keep what they need."""
    may_take = owners_may_take(node, shape)
    if may_take is None:
        return
    yield _with_at_most(node, may_take)
    yield replace(node, cores=tuple(c.hidden if c.cell in short else c for c in node.cores))


def _with_at_most(node: NodeState, most: list[int]) -> NodeState:
    """Return the node with no more CPUs of each cell; where needed, with fewer."""
    left = list(most)
    cores = []
    for c in node.cores:
        over = c.free_threads - left[c.cell]
        hidden = min(-(-max(0, over) // c.free), c.cores - c.broken)
        shown = c._replace(cores=c.cores - hidden)
        if shown.free_threads > left[c.cell]:
            shown = c.hidden
        left[c.cell] -= shown.free_threads
        cores.append(shown)
    return replace(node, cores=tuple(cores))


def _cells(node: NodeState, shape: Shape) -> Iterator[tuple[int, ...]]:
    """Yield sets of cells whose pools hold the limit, fewest and tightest first."""
    pool = [cell.shared.cpus for cell in node.cells]
    real = [cell for cell, cpus in enumerate(pool) if cpus]
    # The largest first, so that some of the sets tried hold the limit if any does.
    real.sort(key=lambda cell: (-node.cells[cell].shared.milli, -pool[cell], cell))
    for size in range(1, len(real) + 1):
        tried = islice(combinations(real, size), MAX_TRIED)
        held = [c for c in tried if sum(pool[cell] for cell in c) >= shape.burst_cpus]
        for cells in sorted(held, key=lambda c: (sum(pool[cell] for cell in c), c)):
            yield tuple(sorted(cells))
