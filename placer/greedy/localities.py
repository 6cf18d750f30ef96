"""Cores of few packages and few last-level caches, for pods that would like that."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace

from placer.greedy.cores import NO_CORES, capacity, pick_cores
from placer.greedy.numa_strategy import strategy_options
from placer_models.dimensions import less
from placer_models.node_state import CoreClass, NodeState
from placer_models.problem import CoreTake, Fit, Shape


def core_options(
    node: NodeState, shape: Shape, fit: Fit, cells: Collection[int], near: Collection[int]
) -> Iterator[tuple[CoreTake, ...]]:
    """Yield choices of cores worth comparing, which is one for a pod without such a wish.

    The first is the best by the bind policy, and those of a NUMA strategy follow. The others
    keep to the fewest packages, to the fewest caches, and to the fewest caches of the fewest
    packages: first counting only the CPUs that keep the bind policy, then all CPUs.
    """
    plain = pick_cores(node, shape, fit, cells, near)
    if plain is None:
        return
    yield plain
    if not shape.owned_cpus:
        return
    yield from strategy_options(node, shape, fit, cells, near)
    packages = [c.package for c in node.cores]
    caches = [c.cache for c in node.cores]
    for strict in (replace(fit, bind_required=True), fit):
        rooms = {i: capacity(c, strict) for i, c in enumerate(node.cores) if c.cell in cells}
        narrow: list[Collection[int]] = []
        if fit.fewest_packages is not None:
            narrow.append(_in_fewest(rooms, packages, shape.owned_cpus))
        if fit.fewest_caches is not None:
            narrow.append(_in_fewest(rooms, caches, shape.owned_cpus))
            if fit.fewest_packages is not None:
                inner = {i: rooms[i] for i in narrow[0]}
                narrow.append(_in_fewest(inner, caches, shape.owned_cpus))
        for only in narrow:
            found = pick_cores(node, shape, fit, cells, near, only)
            if found is not None:
                yield found


def groups_beyond(
    node: NodeState,
    takes: Sequence[CoreTake],
    key: Callable[[CoreClass], int | None],
    fewest: int | None,
) -> int:
    """Return how many packages or caches are touched beyond the fewest; 0 without a wish."""
    if fewest is None:
        return 0
    classes = zip(node.cores, takes, strict=True)
    touched = {key(c) for c, take in classes if take.whole or take.threads}
    return len(touched) - fewest


def without_wishes(node: NodeState) -> NodeState:
    """Return the node without the amounts that other pods had better have of its cells."""
    if not node.near:
        return node
    cells = []
    for cell, wished in zip(node.cells, zip(*node.near, strict=True), strict=True):
        left = tuple(max(0, have) for have in less(cell.amounts, wished))
        cells.append(cell._replace(amounts=left))
    return replace(node, cells=tuple(cells))


def numa_nodes_beyond(fit: Fit, used: Collection[int], beside_pool: int = 0) -> int:
    """Return how many cells are used beyond the fewest; 0 if locality does not count them.

    Args:
        fit: What the pod means on the node.
        used: The cells.
        beside_pool: How many of them hold something of a pod under ConstrainedBurst that has no
            CPUs there; they count once more.

    """
    if fit.locality is None or fit.locality.cells is None:
        return 0
    return len(used) - fit.locality.cells + beside_pool


def packages_beyond(
    node: NodeState, fit: Fit, takes: Sequence[CoreTake], used: Collection[int]
) -> int:
    """Return how many packages the pod has anything in, beyond the fewest."""
    if fit.locality is None or fit.locality.packages is None:
        return 0
    found = {node.cells[cell].package for cell in used}
    found.update(c.package for c, t in zip(node.cores, takes, strict=True) if t != NO_CORES)
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
