"""What pods that keep apart hold of a node while pods are being placed (C9)."""

from collections.abc import Sequence

from placer.greedy.residual import ClassLeft, Inside, Residual
from placer_models.policy import ExclusivePolicy, Strength
from placer_models.problem import CoreTake, Shape


def kept(left: ClassLeft, shape: Shape, take: CoreTake) -> ClassLeft:
    """Return the class as a pod that minds who shares its cores leaves it.

    Only a class of one core has to know: on others no two such pods can meet. A pod that
    may fall back counts as if it had, for another may still come to its NUMA node.
    """
    if not shape.keeps_cores or not take.threads:
        return left
    return left._replace(held=_stronger(left.held, shape))


def cells_kept(residual: Residual, shape: Shape, inside: Inside) -> tuple[Strength | None, ...]:
    """Return how the cells are held once a pod of the shape has the place."""
    if shape.apart is not ExclusivePolicy.NUMA_NODE_LEVEL:
        return residual.cells_held
    used = cells_of_cpus(residual, inside.cores)
    return tuple(
        _stronger(held, shape) if cell in used else held
        for cell, held in enumerate(residual.cells_held)
    )


def cells_of_cpus(residual: Residual, takes: Sequence[CoreTake]) -> set[int]:
    """Return the NUMA nodes, as cells, that the cores taken are in."""
    facts = residual.layout.classes
    cells = {f.cell for f, take in zip(facts, takes, strict=True) if take.whole or take.threads}
    return {cell for cell in cells if residual.layout.real[cell]}


def _stronger(held: Strength | None, shape: Shape) -> Strength:
    required = shape.apart_required or held is Strength.REQUIRED
    return Strength.REQUIRED if required else Strength.PREFERRED
