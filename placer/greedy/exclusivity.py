"""Exclusive pods: a place for one that keeps apart from others, and what it holds (C9)."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from placer.greedy.cores import ownable_cpu_count_of_core_class
from placer.greedy.offer import Chooser, PlacePrice, PricedChoice
from placer_models.goals import SHARED_CORES, SHARED_NUMA_NODES
from placer_models.policy import ExclusivePolicy, RequiredOrPreferred
from placer_models.problem.node_state import Cell, CoreClass, NodeState
from placer_models.problem.problem import Choice, CoreTake, Fit, Shape, cells_of_cpus


def choose_exclusive_place_on_node(
    node: NodeState, shape: Shape, fit: Fit, choose: Chooser
) -> PricedChoice | None:
    """Return the cheapest place found for a pod of the shape, or None if none was found.

    Cores and NUMA nodes that an exclusive pod would share are hidden from it: at first all
    of them, then only the cores, then fewer and fewer cores until the CPUs suffice. Those
    where it, or a pod there, requires to be apart stay hidden.
    """
    if fit.apart is ExclusivePolicy.NONE:
        return choose(node, shape, fit)
    for view in _views(node, shape, fit):
        offer = choose(view, shape, fit)
        if offer is not None:
            return PricedChoice(_priced(node, fit, offer), offer.choice)
    return None


def _priced(node: NodeState, fit: Fit, offer: PricedChoice) -> PlacePrice:
    """Return the price with the cores and NUMA nodes that the place shares."""
    by_cell = fit.apart is ExclusivePolicy.NUMA_NODE_LEVEL
    used = cells_of_cpus(node, offer.choice.cores) if by_cell else set()
    cells = sum(node.cells[cell].held is not None for cell in used)
    counts = cells or not by_cell
    cores = _cores_shared(node, offer.choice) if counts else 0
    return offer.price.but({SHARED_CORES: cores, SHARED_NUMA_NODES: cells})


def _cores_shared(node: NodeState, choice: Choice) -> int:
    """Count the held cores that single threads are on; a held class of wide cores has one."""
    return sum(
        take.threads if c.free == 1 else min(1, take.threads)
        for c, take in zip(node.cores, choice.cores, strict=True)
        if c.held is not None
    )


def _views(node: NodeState, shape: Shape, fit: Fit) -> Iterator[NodeState]:
    """Yield what the pod may see of the node, the best view for it first."""
    by_cell = fit.apart is ExclusivePolicy.NUMA_NODE_LEVEL
    held_cells = {
        i: cell.held for i, cell in enumerate(node.cells) if by_cell and cell.held is not None
    }
    held_cores = {
        i: c.held for i, c in enumerate(node.cores) if fit.keeps_cores and c.held is not None
    }
    barred_cells = {c for c, held in held_cells.items() if _bars(held, fit)}
    barred_cores = {i for i, held in held_cores.items() if _bars(held, fit)}
    # A pod that is alone on its NUMA nodes does not mind who is on their cores.
    yield _without(node, barred_cores if by_cell else held_cores, held_cells)
    if len(barred_cells) < len(held_cells):
        yield _without(node, held_cores, barred_cells)
    yield from _sharing(node, shape, fit, barred_cores, held_cores.keys(), barred_cells)


def _bars(held: RequiredOrPreferred, fit: Fit) -> bool:
    return held is RequiredOrPreferred.REQUIRED or fit.apart_required


def _sharing(
    node: NodeState,
    shape: Shape,
    fit: Fit,
    barred: Collection[int],
    held: Collection[int],
    cells: Collection[int],
) -> Iterator[NodeState]:
    """Yield views with more and more of the held cores, those with most room first."""
    classes = node.cores
    # One entry per core: a class of many cores has one free thread on each.
    rooms = [
        (min(classes[i].free, classes[i].free_threads), i)
        for i in held
        if i not in barred and classes[i].cell not in cells
        for _ in range(classes[i].free_threads if classes[i].free == 1 else 1)
    ]
    rooms = sorted((room for room in rooms if room[0]), key=lambda room: (-room[0], room[1]))
    unheld = _without(node, held, cells)
    have = sum(ownable_cpu_count_of_core_class(c, fit) for c in unheld.cores)
    for count, (room, _) in enumerate(rooms, start=1):
        have += room
        if have >= shape.owned_cpus:
            yield _without(node, held, cells, Counter(i for _, i in rooms[:count]))


def _without(
    node: NodeState,
    cores: Collection[int],
    cells: Collection[int],
    but: Mapping[int, int] | None = None,
) -> NodeState:
    """Return the node without classes, and without the CPUs of cells.

    Args:
        node: What is left.
        cores: The classes to hide.
        cells: The cells to hide.
        but: Class to hide -> how many of its cores are shown all the same.

    """
    shown = but or {}

    def seen(i: int, c: CoreClass) -> CoreClass:
        if c.cell in cells or (i in cores and i not in shown):
            return c.hidden
        if i in cores and c.free == 1:
            return c._replace(cores=c.taken + shown[i])
        return c

    return replace(node, cores=tuple(seen(i, c) for i, c in enumerate(node.cores)))


def with_exclusive_hold_on_cores(c: CoreClass, fit: Fit, take: CoreTake) -> CoreClass:
    """Return the class as it is held once a pod of the fit has taken some of it.

    This matters only for a class of one core: on others no two exclusive pods can meet. A pod
    that may fall back counts as if it had, because another may still come to its NUMA node.
    """
    if not fit.keeps_cores or not take.threads:
        return c
    return c._replace(held=_stronger(c.held, fit))


def with_exclusive_hold_on_cells(
    node: NodeState, cells: tuple[Cell, ...], fit: Fit, choice: Choice
) -> tuple[Cell, ...]:
    """Return the cells as they are held once a pod of the fit has the place."""
    if fit.apart is not ExclusivePolicy.NUMA_NODE_LEVEL:
        return cells
    used = cells_of_cpus(node, choice.cores)
    return tuple(
        cell._replace(held=_stronger(cell.held, fit)) if i in used else cell
        for i, cell in enumerate(cells)
    )


def _stronger(held: RequiredOrPreferred | None, fit: Fit) -> RequiredOrPreferred:
    required = fit.apart_required or held is RequiredOrPreferred.REQUIRED
    return RequiredOrPreferred.REQUIRED if required else RequiredOrPreferred.PREFERRED
