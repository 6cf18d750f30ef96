"""The pods that are bound to the pool of NUMA nodes while pods are being placed (C8, C12)."""

from collections import Counter

from placer.counting.sharing_out import requests_fit, shared_out
from placer_models.node_state import Cell, NodeState
from placer_models.policy import QosClass
from placer_models.pools import Bound
from placer_models.problem import Choice, Shape

POOLS = (QosClass.LS, QosClass.BE)


def bound_with(bound: tuple[Bound, ...], shape: Shape, choice: Choice) -> tuple[Bound, ...]:
    """Return the bound pods of a node once a pod of the shape is there, in order."""
    if not choice.pool or shape.pool is None:
        return bound
    cpus = max(1, shape.burst_cpus)
    more = (Bound(shape.pool, cells, milli, cpus) for cells, milli in choice.pool)
    return tuple(sorted((*bound, *more)))


def pools_without(
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


def milli_left(node: NodeState, qos: QosClass) -> tuple[int, ...]:
    """Return what one more bound pod could count in each cell, at most; 0 without a CPU.

    What others count in one of several cells is not taken off: they may move over.
    """
    pools = (cell.pool(qos) for cell in node.cells)
    left = [pool.milli if pool.cpus else 0 for pool in pools]
    for bound in node.bound:
        if bound.qos is qos and len(bound.cells) == 1:
            left[bound.cells[0]] -= bound.milli
    return tuple(max(0, milli) for milli in left)


def has_room(node: NodeState, shape: Shape, pool: tuple[tuple[tuple[int, ...], int], ...]) -> bool:
    """Return whether what a pod would count in the pool of cells fits beside all bound pods."""
    assert shape.pool is not None
    wants = [(b.cells, b.milli) for b in node.bound if b.qos is shape.pool]
    return requests_fit(_room(node, shape.pool), [*wants, *pool])


def short_cells(node: NodeState) -> set[int]:
    """Return the cells of bound pods that have too little there; none: all is well."""
    short: set[int] = set()
    for qos in POOLS:
        bound = [one for one in node.bound if one.qos is qos]
        cpus = [cell.pool(qos).cpus for cell in node.cells]
        lacking = {
            cell
            for one in bound
            if sum(cpus[c] for c in one.cells) < one.cpus or not all(cpus[c] for c in one.cells)
            for cell in one.cells
        }
        wants = [(one.cells, one.milli) for one in bound]
        if not lacking and not requests_fit(_room(node, qos), wants):
            lacking = {cell for one in bound for cell in one.cells}
        short |= lacking
    return short


def owners_may_take(node: NodeState, shape: Shape) -> list[int] | None:
    """Return how many CPUs of each cell an owner may take as bound pods are spread now.

    None where they have too little already.
    """
    most = [1_000_000] * len(node.cells)
    for qos in POOLS if shape.exclusive else POOLS[:1]:
        bound = [one for one in node.bound if one.qos is qos]
        given = shared_out(_room(node, qos), [(one.cells, one.milli) for one in bound])
        if given is None:
            return None
        counted = sum(given, Counter[int]())
        kept = {cell for one in bound for cell in one.cells}
        for cell, has in enumerate(node.cells):
            pool = has.pool(qos)
            spare = (pool.milli - counted[cell]) // 1000
            most[cell] = min(most[cell], spare, pool.cpus - (cell in kept))
    return most


def _room(node: NodeState, qos: QosClass) -> dict[int, int]:
    return {i: cell.pool(qos).milli for i, cell in enumerate(node.cells)}
