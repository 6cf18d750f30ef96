"""Who owns CPUs of which core and NUMA node while pods are being placed (C18)."""

from placer.greedy.held import cells_of_cpus
from placer.greedy.residual import ClassFacts, ClassLeft, Inside, Residual
from placer_models.affinity import AffinityLevel
from placer_models.problem import Shape


def joined(facts: ClassFacts, left: ClassLeft, shape: Shape) -> ClassLeft:
    """Return the class once a pod of the shape has CPUs of it.

    Only a class of one core has to know: on others no two new pods can meet.
    """
    if shape.beside is None or facts.free == 1 or AffinityLevel.CORE not in shape.beside.levels:
        return left
    return left._replace(sides=left.sides | {shape.beside.side})


def cells_joined(residual: Residual, shape: Shape, inside: Inside) -> tuple[frozenset[int], ...]:
    """Return who is in which cell once a pod of the shape has the place."""
    if shape.beside is None or AffinityLevel.NUMA not in shape.beside.levels:
        return residual.cell_sides
    used = cells_of_cpus(residual, inside.cores)
    return tuple(
        sides | {shape.beside.side} if cell in used else sides
        for cell, sides in enumerate(residual.cell_sides)
    )
