"""A place for a pod that keeps apart from others: where it need not share, if there is one."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from placer.greedy.chooser import Offer, Price, choose
from placer.greedy.cores import capacity
from placer.greedy.held import cells_of_cpus
from placer.greedy.residual import ClassLeft, Inside, Residual, free_threads
from placer_models.policy import ExclusivePolicy, Strength
from placer_models.problem import Fit, Shape

_NOTHING = ClassLeft(0, 0, 0)


def choose_apart(residual: Residual, shape: Shape, fit: Fit) -> Offer | None:
    """Return the cheapest place found for a pod of the shape; None: none was found.

    To a pod that keeps apart from others, cores and NUMA nodes that it would share are
    hidden: all of them at first; then NUMA nodes may be shared; then as few cores as give
    it enough CPUs. What it, or who is there, requires to be apart stays hidden.
    """
    if shape.apart is ExclusivePolicy.NONE:
        return choose(residual, shape, fit)
    for view in _views(residual, shape, fit):
        offer = choose(view, shape, fit)
        if offer is not None:
            return Offer(_priced(residual, shape, offer), offer.inside)
    return None


def _priced(residual: Residual, shape: Shape, offer: Offer) -> Price:
    """Return the price with what the place shares."""
    by_cell = shape.apart is ExclusivePolicy.NUMA_NODE_LEVEL
    used = cells_of_cpus(residual, offer.inside.cores) if by_cell else set()
    cells = sum(residual.cells_held[cell] is not None for cell in used)
    counts = cells or not by_cell
    return offer.price._replace(
        shared_cores=_cores_shared(residual, offer.inside) if counts else 0,
        shared_numa_nodes=cells,
    )


def _cores_shared(residual: Residual, inside: Inside) -> int:
    """Count the held cores that the single threads are on; a class of wide ones is one core."""
    return sum(
        take.threads if facts.free == 1 else min(1, take.threads)
        for facts, left, take in zip(
            residual.layout.classes, residual.cores, inside.cores, strict=True
        )
        if left.held is not None
    )


def _views(residual: Residual, shape: Shape, fit: Fit) -> Iterator[Residual]:
    """Yield what the pod may see of the node, the best for it first."""
    by_cell = shape.apart is ExclusivePolicy.NUMA_NODE_LEVEL
    held_cells = {
        cell: held for cell, held in enumerate(residual.cells_held) if by_cell and held is not None
    }
    held_cores = {
        i: left.held
        for i, left in enumerate(residual.cores)
        if shape.keeps_cores and left.held is not None
    }
    barred_cells = {c for c, held in held_cells.items() if _bars(held, shape)}
    barred_cores = {i for i, held in held_cores.items() if _bars(held, shape)}
    # A pod that is alone on its NUMA nodes does not see who is on their cores.
    yield _without(residual, barred_cores if by_cell else held_cores, held_cells)
    if len(barred_cells) < len(held_cells):
        yield _without(residual, held_cores, barred_cells)
    yield from _sharing(residual, shape, fit, barred_cores, held_cores.keys(), barred_cells)


def _bars(held: Strength, shape: Shape) -> bool:
    return held is Strength.REQUIRED or shape.apart_required


def _sharing(
    residual: Residual,
    shape: Shape,
    fit: Fit,
    barred: Collection[int],
    held: Collection[int],
    cells: Collection[int],
) -> Iterator[Residual]:
    """Yield views with more and more of the held cores, those with most room first."""
    classes = residual.layout.classes
    left = residual.cores
    # One entry a core: a class of many has one free thread on each.
    rooms = [
        (min(classes[i].free, free_threads(classes[i], left[i])), i)
        for i in held
        if i not in barred and classes[i].cell not in cells
        for _ in range(free_threads(classes[i], left[i]) if classes[i].free == 1 else 1)
    ]
    rooms = sorted((room for room in rooms if room[0]), key=lambda room: (-room[0], room[1]))
    unheld = _without(residual, held, cells)
    have = sum(map(capacity, classes, unheld.cores, [fit] * len(classes)))
    for count, (room, _) in enumerate(rooms, start=1):
        have += room
        if have >= shape.owned_cpus:
            yield _without(residual, held, cells, Counter(i for _, i in rooms[:count]))


def _without(
    residual: Residual,
    cores: Collection[int],
    cells: Collection[int],
    but: Mapping[int, int] | None = None,
) -> Residual:
    """Return the residual without classes, and without the CPUs of cells.

    Args:
        residual: What is left.
        cores: The classes to hide.
        cells: The cells to hide.
        but: Of a class to hide, so many cores are shown all the same.

    """
    shown = but or {}

    def seen(i: int, left: ClassLeft) -> ClassLeft:
        facts = residual.layout.classes[i]
        if facts.cell in cells or (i in cores and i not in shown):
            return _NOTHING
        if i in cores and facts.free == 1:
            return left._replace(cores=left.threads + shown[i])
        return left

    return replace(residual, cores=tuple(seen(i, left) for i, left in enumerate(residual.cores)))
