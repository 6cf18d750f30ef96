"""Cores of few packages and few last-level caches, for pods that would like that."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from placer.greedy.cores import NO_CORES, choose_core_class_counts, ownable_cpu_count_of_core_class
from placer.greedy.inside import CandidatePlace, TierCosts
from placer.greedy.numa_strategy import core_choices_for_numa_strategy
from placer_models.goals import CACHES, LOCALITY_NUMA_NODES, LOCALITY_PACKAGES, PACKAGES
from placer_models.problem.dimensions import amounts_left
from placer_models.problem.node_state import CoreClass, NodeState
from placer_models.problem.problem import CoreTake, Fit, Shape


def core_choices_for_locality_wish(
    node: NodeState, shape: Shape, fit: Fit, cells: Collection[int], near: Collection[int]
) -> Iterator[tuple[CoreTake, ...]]:
    """Yield choices of cores worth comparing, which is one for a pod without such a wish.

    The first is the best by the bind policy, and those of a NUMA strategy follow. The others
    keep to the fewest packages, to the fewest caches, and to the fewest caches of the fewest
    packages: first counting only the CPUs that keep the bind policy, then all CPUs.
    """
    plain = choose_core_class_counts(node, shape, fit, cells, near)
    if plain is None:
        return
    yield plain
    if not shape.owned_cpus:
        return
    yield from core_choices_for_numa_strategy(node, shape, fit, cells, near)
    packages = [c.package for c in node.cores]
    caches = [c.cache for c in node.cores]
    for strict in (replace(fit, bind_required=True), fit):
        rooms = {
            i: ownable_cpu_count_of_core_class(c, strict)
            for i, c in enumerate(node.cores)
            if c.cell in cells
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
            found = choose_core_class_counts(node, shape, fit, cells, near, only)
            if found is not None:
                yield found


def node_without_amounts_others_prefer(node: NodeState) -> NodeState:
    """Return the node without the amounts that other pods had better have of its cells."""
    if not node.near:
        return node
    cells = []
    for cell, wished in zip(node.cells, zip(*node.near, strict=True), strict=True):
        left = tuple(max(0, have) for have in amounts_left(cell.amounts, wished))
        cells.append(cell._replace(amounts=left))
    return replace(node, cells=tuple(cells))


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


def _packages_beyond(place: CandidatePlace) -> int:
    """Return how many packages the CPUs are of beyond the fewest; 0 without a wish."""
    fewest = place.fit.fewest_packages
    return 0 if fewest is None else len({c.package for c in _touched(place)}) - fewest


def _caches_beyond(place: CandidatePlace) -> int:
    """Return how many caches the CPUs are of beyond the fewest; 0 without a wish."""
    fewest = place.fit.fewest_caches
    return 0 if fewest is None else len({c.cache for c in _touched(place)}) - fewest


def _touched(place: CandidatePlace) -> Iterator[CoreClass]:
    """Yield the core classes that the pod has CPUs of."""
    classes = zip(place.node.cores, place.cores, strict=True)
    return (c for c, take in classes if take.whole or take.threads)


def _numa_nodes_beyond(place: CandidatePlace) -> int:
    """Return how many cells are used beyond the fewest; 0 if locality does not count them."""
    locality = place.fit.locality
    if locality is None or locality.cells is None:
        return 0
    return len(place.cells) - locality.cells + place.beside_pool


def _all_packages_beyond(place: CandidatePlace) -> int:
    """Return how many packages the pod has anything in, beyond the fewest."""
    node, locality = place.node, place.fit.locality
    if locality is None or locality.packages is None:
        return 0
    found = {node.cells[cell].package for cell in place.cells}
    taken = zip(node.cores, place.cores, strict=True)
    found.update(c.package for c, take in taken if take != NO_CORES)
    return len(found - {None}) - locality.packages


COSTS: TierCosts = {
    PACKAGES: _packages_beyond,
    CACHES: _caches_beyond,
    LOCALITY_NUMA_NODES: _numa_nodes_beyond,
    LOCALITY_PACKAGES: _all_packages_beyond,
}
