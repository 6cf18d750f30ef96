"""Cores of few packages and few last-level caches, for pods that would like that."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace

from placer.greedy.cores import capacity, pick_cores
from placer.greedy.residual import NO_CORES, ClassFacts, Residual
from placer.greedy.strategies import strategy_options
from placer_models.problem import CoreTake, Fit, Shape


def core_options(
    residual: Residual, shape: Shape, fit: Fit, cells: Collection[int], near: Collection[int]
) -> Iterator[tuple[CoreTake, ...]]:
    """Yield choices of cores worth comparing; one for a pod without such a wish.

    The first is the best by the bind policy. The others keep to the fewest packages, to
    the fewest caches, and to the fewest caches of the fewest packages; counted once by
    what keeps the bind policy, once by all CPUs. Those of a NUMA strategy come between.
    """
    plain = pick_cores(residual, shape, fit, cells, near)
    if plain is None:
        return
    yield plain
    if not shape.owned_cpus:
        return
    yield from strategy_options(residual, shape, fit, cells, near)
    packages = [facts.package for facts in residual.layout.classes]
    caches = [facts.cache for facts in residual.layout.classes]
    for strict in (replace(fit, bind_required=True), fit):
        rooms = {
            i: capacity(facts, left, strict)
            for i, (facts, left) in enumerate(
                zip(residual.layout.classes, residual.cores, strict=True)
            )
            if facts.cell in cells
        }
        narrow: list[Collection[int]] = []
        if fit.fewest_packages is not None:
            narrow.append(_in_fewest(rooms, packages, shape.owned_cpus))
        if fit.fewest_caches is not None:
            narrow.append(_in_fewest(rooms, caches, shape.owned_cpus))
            if fit.fewest_packages is not None:
                inner = {i: rooms[i] for i in narrow[0]}
                narrow.append(_in_fewest(inner, caches, shape.owned_cpus))
        for only in narrow:
            found = pick_cores(residual, shape, fit, cells, near, only)
            if found is not None:
                yield found


def groups_beyond(
    residual: Residual,
    takes: Sequence[CoreTake],
    key: Callable[[ClassFacts], int | None],
    fewest: int | None,
) -> int:
    """Return how many packages or caches are touched beyond the fewest; 0 without a wish."""
    if fewest is None:
        return 0
    facts = residual.layout.classes
    touched = {key(f) for f, t in zip(facts, takes, strict=True) if t.whole or t.threads}
    return len(touched) - fewest


def without_wishes(residual: Residual) -> Residual:
    """Return the residual without the memory and hugepages that others should have."""
    if not residual.near:
        return residual
    memory, *pages = (
        tuple(max(0, have - wished) for have, wished in zip(left, near, strict=True))
        for left, near in zip((residual.memory, *residual.pages), residual.near, strict=True)
    )
    return replace(residual, memory=memory, pages=tuple(pages))


def numa_nodes_beyond(fit: Fit, used: Collection[int]) -> int:
    """Return how many cells are used beyond the fewest; 0 where a policy sees to it."""
    if fit.locality is None or fit.locality.cells is None:
        return 0
    return len(used) - fit.locality.cells


def packages_beyond(
    residual: Residual, fit: Fit, takes: Sequence[CoreTake], used: Collection[int]
) -> int:
    """Return how many packages anything of the pod is in beyond the fewest."""
    if fit.locality is None or fit.locality.packages is None:
        return 0
    layout = residual.layout
    found = {layout.packages[cell] for cell in used}
    found.update(f.package for f, t in zip(layout.classes, takes, strict=True) if t != NO_CORES)
    return len(found - {None}) - fit.locality.packages


def _in_fewest(rooms: dict[int, int], keys: Sequence[int | None], want: int) -> list[int]:
    """Return the classes of the fewest groups that have room, the last one the tightest."""
    groups: defaultdict[int | None, int] = defaultdict(int)
    for i, room in rooms.items():
        groups[keys[i]] += room
    chosen: set[int | None] = set()
    left = want
    while left > 0 and len(chosen) < len(groups):
        others = [key for key in groups if key not in chosen]
        enough = [key for key in others if groups[key] >= left]
        key = (
            min(enough, key=lambda k: groups[k]) if enough else max(others, key=lambda k: groups[k])
        )
        chosen.add(key)
        left -= groups[key]
    return [i for i in rooms if keys[i] in chosen]
