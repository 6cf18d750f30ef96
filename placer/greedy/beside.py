"""Who owns CPUs of which core and NUMA node while pods are being placed (C18)."""

from placer.greedy.held import cells_of_cpus
from placer.greedy.residual import ClassFacts, ClassLeft, Guest, Inside, Residual
from placer_models.affinity import AffinityLevel
from placer_models.problem import Shape


def arriving(residual: Residual, shape: Shape) -> Guest | None:
    """Return what a pod of the shape is to others once it is there; None: nothing."""
    beside = shape.beside
    if beside is None:
        return None
    if not beside.counts:
        return beside.side, 0
    everywhere = (*residual.cell_guests, *(left.guests for left in residual.cores))
    known = frozenset[Guest]().union(*everywhere)
    return beside.side, sum(side == beside.side for side, _ in known)


def joined(facts: ClassFacts, left: ClassLeft, shape: Shape, guest: Guest | None) -> ClassLeft:
    """Return the class once a pod of the shape has CPUs of it.

    Only a class of one core has to know: on others no two new pods can meet.
    """
    if shape.beside is None or guest is None or facts.free == 1:
        return left
    if AffinityLevel.CORE not in shape.beside.levels:
        return left
    return left._replace(guests=left.guests | {guest})


def cells_joined(
    residual: Residual, shape: Shape, inside: Inside, guest: Guest | None
) -> tuple[frozenset[Guest], ...]:
    """Return who is in which cell once a pod of the shape has the place."""
    if shape.beside is None or guest is None or AffinityLevel.NUMA not in shape.beside.levels:
        return residual.cell_guests
    used = cells_of_cpus(residual, inside.cores)
    return tuple(
        guests | {guest} if cell in used else guests
        for cell, guests in enumerate(residual.cell_guests)
    )
