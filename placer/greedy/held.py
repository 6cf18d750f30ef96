"""What pods that keep apart hold of a node while pods are being placed (C9)."""

from collections.abc import Sequence

from placer_models.node_state import Cell, CoreClass, NodeState
from placer_models.policy import ExclusivePolicy, Strength
from placer_models.problem import Choice, CoreTake, Shape


def kept(c: CoreClass, shape: Shape, take: CoreTake) -> CoreClass:
    """Return the class as a pod that minds who shares its cores leaves it.

    Only a class of one core has to know: on others no two such pods can meet. A pod that
    may fall back counts as if it had, for another may still come to its NUMA node.
    """
    if not shape.keeps_cores or not take.threads:
        return c
    return c._replace(held=_stronger(c.held, shape))


def cells_kept(
    node: NodeState, cells: tuple[Cell, ...], shape: Shape, choice: Choice
) -> tuple[Cell, ...]:
    """Return the cells as they are held once a pod of the shape has the place."""
    if shape.apart is not ExclusivePolicy.NUMA_NODE_LEVEL:
        return cells
    used = cells_of_cpus(node, choice.cores)
    return tuple(
        cell._replace(held=_stronger(cell.held, shape)) if i in used else cell
        for i, cell in enumerate(cells)
    )


def cells_of_cpus(node: NodeState, takes: Sequence[CoreTake]) -> set[int]:
    """Return the NUMA nodes, as cells, that the cores taken are in."""
    classes = zip(node.cores, takes, strict=True)
    cells = {c.cell for c, take in classes if take.whole or take.threads}
    return {cell for cell in cells if node.cells[cell].real}


def _stronger(held: Strength | None, shape: Shape) -> Strength:
    required = shape.apart_required or held is Strength.REQUIRED
    return Strength.REQUIRED if required else Strength.PREFERRED
