"""Who owns CPUs of which core and NUMA node while pods are being placed (C18)."""

from placer.greedy.held import cells_of_cpus
from placer_models.affinity import AffinityLevel
from placer_models.node_state import NOBODY, Cell, CoreClass, Guest, NodeState
from placer_models.problem import Choice, Shape


def arriving(node: NodeState, shape: Shape) -> Guest | None:
    """Return what a pod of the shape is to others once it is there; None: nothing."""
    beside = shape.beside
    if beside is None:
        return None
    if not beside.counts:
        return beside.side, 0
    on_cells, on_cores = (cell.guests for cell in node.cells), (c.guests for c in node.cores)
    known = NOBODY.union(*on_cells, *on_cores)
    return beside.side, sum(side == beside.side for side, _ in known)


def joined(c: CoreClass, shape: Shape, guest: Guest | None) -> CoreClass:
    """Return the class once a pod of the shape has CPUs of it.

    Only a class of one core has to know: on others no two new pods can meet.
    """
    if shape.beside is None or guest is None or c.free == 1:
        return c
    if AffinityLevel.CORE not in shape.beside.levels:
        return c
    return c._replace(guests=c.guests | {guest})


def cells_joined(
    node: NodeState,
    cells: tuple[Cell, ...],
    shape: Shape,
    choice: Choice,
    guest: Guest | None,
) -> tuple[Cell, ...]:
    """Return the cells with who is there once a pod of the shape has the place."""
    if shape.beside is None or guest is None or AffinityLevel.NUMA not in shape.beside.levels:
        return cells
    used = cells_of_cpus(node, choice.cores)
    return tuple(
        cell._replace(guests=cell.guests | {guest}) if i in used else cell
        for i, cell in enumerate(cells)
    )
