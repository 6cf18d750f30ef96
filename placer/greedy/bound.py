"""Bound pods, which have a part of their pool, and a place for a pod beside them (C8, C12)."""

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import replace

from placer.greedy.offer import Chooser, PricedChoice
from placer_models.policy import QosClass
from placer_models.problem.node_state import Cell, NodeState
from placer_models.problem.pools import PoolBindingNeed
from placer_models.problem.problem import Choice, Fit, Shape
from placer_models.sharing_out import can_distribute_over_places, distribute_over_places

POOLS = (QosClass.LS, QosClass.BE)


def choose_beside_bound_pods(
    node: NodeState, shape: Shape, fit: Fit, choose: Chooser
) -> PricedChoice | None:
    """Return the cheapest place found for a pod of the shape, or None if none was found.

    If an owner would take too much from bound pods, it looks again at only what they leave, then
    at the node without their cells.

    Args:
        node: What is left on the node.
        shape: What the pod asks for.
        fit: What that means on the node.
        choose: Finds a place that may leave bound pods too little.

    """
    offer = choose(node, shape, fit)
    if offer is None:
        return None
    if not shape.owned_cpus or not node.bound:
        return offer
    short = _short_cells(node, shape, offer.choice)
    if short is None:
        return offer
    for view in _views(node, shape, short):
        offer = choose(view, shape, fit)
        if offer is not None and _short_cells(node, shape, offer.choice) is None:
            return offer
    return None


def _views(node: NodeState, shape: Shape, short: Collection[int]) -> Iterator[NodeState]:
    """Yield what an owner may see of the node so that bound pods keep what they need."""
    may_take = _owners_may_take(node, shape)
    if may_take is None:
        return
    yield _with_at_most(node, may_take)
    yield replace(node, cores=tuple(c.hidden if c.cell in short else c for c in node.cores))


def _with_at_most(node: NodeState, most: list[int]) -> NodeState:
    """Return the node with at most ``most`` CPUs of each cell, or with fewer where need be."""
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


def pool_bindings_after(
    node: NodeState, shape: Shape, choice: Choice
) -> tuple[PoolBindingNeed, ...]:
    """Return the bound pods of a node once a pod of the shape is there, in order."""
    if not choice.pool or shape.pool is None:
        return node.bound
    cpus = max(1, shape.burst_cpus)
    more = (PoolBindingNeed(shape.pool, cells, milli, cpus) for cells, milli in choice.pool)
    return tuple(sorted((*node.bound, *more)))


def cells_after_owning_cpus(
    node: NodeState, cells: tuple[Cell, ...], shape: Shape, choice: Choice
) -> tuple[Cell, ...]:
    """Return the cells with their parts of pools once the CPUs of a place are owned."""
    if not shape.owned_cpus or not any(cell.shared.cpus or cell.best_effort.cpus for cell in cells):
        return cells
    owned: Counter[int] = Counter()
    for c, take in zip(node.cores, choice.cores, strict=True):
        owned[c.cell] += take.whole * c.threads + take.threads
    return tuple(
        cell._replace(
            shared=cell.shared.without(owned[i]),
            best_effort=cell.best_effort.without(owned[i] * shape.exclusive),
        )
        for i, cell in enumerate(cells)
    )


def pool_milli_left(node: NodeState, qos: QosClass) -> tuple[int, ...]:
    """Return the most milli CPUs that one more bound pod could count in each cell.

    A cell without a CPU of the pool has 0. What others count in one of several cells is not
    taken off, because they may move over.
    """
    pools = (cell.pool(qos) for cell in node.cells)
    left = [pool.milli if pool.cpus else 0 for pool in pools]
    for bound in node.bound:
        if bound.qos is qos and len(bound.cells) == 1:
            left[bound.cells[0]] -= bound.milli
    return tuple(max(0, milli) for milli in left)


def fits_beside_bound_pods(
    node: NodeState, shape: Shape, pool: tuple[tuple[tuple[int, ...], int], ...]
) -> bool:
    """Return whether what a pod would count in the pool of cells fits beside all bound pods.

    A pod that asks for no CPU always does.
    """
    assert shape.pool is not None
    if not any(milli for _, milli in pool):
        return True
    wants = [(b.cells, b.milli) for b in node.bound if b.qos is shape.pool]
    return can_distribute_over_places(_room(node, shape.pool), [*wants, *pool])


def _short_cells(node: NodeState, shape: Shape, choice: Choice) -> set[int] | None:
    """Return the cells of the bound pods that have too little once a place is taken.

    Only pods of pools of which the place takes something are looked at. The answer is None if
    none of them has too little. It is empty if those that do are on NUMA nodes without a CPU of
    their pool, which are no cells of theirs: then nothing that is hidden from the pod helps.
    """
    node = replace(
        node,
        cells=cells_after_owning_cpus(node, node.cells, shape, choice),
        bound=pool_bindings_after(node, shape, choice),
    )
    short: set[int] | None = None
    for qos in POOLS:
        owns = bool(shape.owned_cpus) and (qos is QosClass.LS or shape.exclusive)
        if not owns and not (choice.pool and shape.pool is qos):
            continue
        bound = [one for one in node.bound if one.qos is qos]
        cpus = [cell.pool(qos).cpus for cell in node.cells]
        lacking = [
            one
            for one in bound
            if sum(cpus[c] for c in one.cells) < one.cpus or not all(cpus[c] for c in one.cells)
        ]
        wants = [(one.cells, one.milli) for one in bound]
        asks = owns or shape.pool_milli > 0
        if not lacking and asks and not can_distribute_over_places(_room(node, qos), wants):
            lacking = bound
        if lacking:
            short = (short or set()).union(*(one.cells for one in lacking))
    return short


def _owners_may_take(node: NodeState, shape: Shape) -> list[int] | None:
    """Return how many CPUs of each cell an owner may take as bound pods are spread now.

    The answer is None if these have too little already.
    """
    most = [1_000_000] * len(node.cells)
    for qos in POOLS if shape.exclusive else POOLS[:1]:
        bound = [one for one in node.bound if one.qos is qos]
        given = distribute_over_places(_room(node, qos), [(one.cells, one.milli) for one in bound])
        if given is None:
            return None
        counted = sum(given, Counter[int]())
        kept = {cell for one in bound for cell in one.cells}
        for cell, has in enumerate(node.cells):
            pool = has.pool(qos)
            spare = (pool.milli - counted[cell]) // node.milli_per_cpu
            most[cell] = min(most[cell], spare, pool.cpus - (cell in kept))
    return most


def _room(node: NodeState, qos: QosClass) -> dict[int, int]:
    return {i: cell.pool(qos).milli for i, cell in enumerate(node.cells)}
