"""The pods that are bound to the pool of NUMA nodes while pods are being placed (C8, C12)."""

from collections import Counter

from placer.counting.bound import requests_fit, shared_out
from placer.greedy.residual import Inside, Residual
from placer_models.policy import QosClass
from placer_models.pools import Bound, CellPool
from placer_models.problem import Shape

POOLS = (QosClass.LS, QosClass.BE)


def bound_with(bound: tuple[Bound, ...], shape: Shape, inside: Inside) -> tuple[Bound, ...]:
    """Return the bound pods of a node once a pod of the shape is there, in order."""
    if not inside.pool or shape.pool is None:
        return bound
    cpus = max(1, shape.burst_cpus)
    more = (Bound(shape.pool, cells, milli, cpus) for cells, milli in inside.pool)
    return tuple(sorted((*bound, *more)))


def pools_without(
    residual: Residual, pools: tuple[CellPool, ...], shape: Shape, inside: Inside
) -> tuple[CellPool, ...]:
    """Return the parts of a pool once the CPUs of a place are owned."""
    if not shape.owned_cpus:
        return pools
    owned: Counter[int] = Counter()
    for facts, take in zip(residual.layout.classes, inside.cores, strict=True):
        owned[facts.cell] += take.whole * facts.threads + take.threads
    return tuple(pool.without(owned[cell]) for cell, pool in enumerate(pools))


def milli_left(residual: Residual, qos: QosClass) -> tuple[int, ...]:
    """Return what one more bound pod could count in each cell, at most; 0 without a CPU.

    What others count in one of several cells is not taken off: they may move over.
    """
    left = [pool.milli if pool.cpus else 0 for pool in residual.pool(qos)]
    for bound in residual.bound:
        if bound.qos is qos and len(bound.cells) == 1:
            left[bound.cells[0]] -= bound.milli
    return tuple(max(0, milli) for milli in left)


def has_room(
    residual: Residual, shape: Shape, pool: tuple[tuple[tuple[int, ...], int], ...]
) -> bool:
    """Return whether what a pod would count in the pool of cells fits beside all bound pods."""
    assert shape.pool is not None
    wants = [(b.cells, b.milli) for b in residual.bound if b.qos is shape.pool]
    return requests_fit(_room(residual, shape.pool), [*wants, *pool])


def short_cells(residual: Residual) -> set[int]:
    """Return the cells of bound pods that have too little there; none: all is well."""
    short: set[int] = set()
    for qos in POOLS:
        bound = [one for one in residual.bound if one.qos is qos]
        cpus = [pool.cpus for pool in residual.pool(qos)]
        lacking = {
            cell
            for one in bound
            if sum(cpus[c] for c in one.cells) < one.cpus or not all(cpus[c] for c in one.cells)
            for cell in one.cells
        }
        wants = [(one.cells, one.milli) for one in bound]
        if not lacking and not requests_fit(_room(residual, qos), wants):
            lacking = {cell for one in bound for cell in one.cells}
        short |= lacking
    return short


def owners_may_take(residual: Residual, shape: Shape) -> list[int] | None:
    """Return how many CPUs of each cell an owner may take as bound pods are spread now.

    None where they have too little already.
    """
    most = [1_000_000] * len(residual.memory)
    for qos in POOLS if shape.exclusive else POOLS[:1]:
        bound = [one for one in residual.bound if one.qos is qos]
        given = shared_out(_room(residual, qos), [(one.cells, one.milli) for one in bound])
        if given is None:
            return None
        counted = sum(given, Counter[int]())
        kept = {cell for one in bound for cell in one.cells}
        for cell, pool in enumerate(residual.pool(qos)):
            spare = (pool.milli - counted[cell]) // 1000
            most[cell] = min(most[cell], spare, pool.cpus - (cell in kept))
    return most


def _room(residual: Residual, qos: QosClass) -> dict[int, int]:
    return {cell: pool.milli for cell, pool in enumerate(residual.pool(qos))}
