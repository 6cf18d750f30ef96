"""The pods under ConstrainedBurst of a node while pods are being placed (C8)."""

from placer.greedy.residual import Residual, free_threads
from placer.state.burst import requests_fit
from placer_models.burst import Burst
from placer_models.problem import Shape


def bursts_with(
    bursts: tuple[Burst, ...], shape: Shape, cells: tuple[int, ...]
) -> tuple[Burst, ...]:
    """Return the constrained pods of a node once a pod of the shape is there, in order."""
    if not shape.burst_cpus:
        return bursts
    more = Burst(cells, shape.shared_milli, shape.burst_cpus)
    return tuple(sorted((*bursts, more), key=lambda b: (b.cells, b.milli, b.cpus)))


def free_in(residual: Residual) -> list[int]:
    """Return how many CPUs of each cell a pod may still own."""
    free = [0] * len(residual.memory)
    for facts, left in zip(residual.layout.classes, residual.cores, strict=True):
        free[facts.cell] += free_threads(facts, left)
    return free


def short_cells(residual: Residual) -> set[int]:
    """Return the cells of constrained pods that have too little there; none: all is well."""
    free = free_in(residual)
    pool = [own + kept for own, kept in zip(free, residual.reserved, strict=True)]
    short = {
        cell
        for burst in residual.bursts
        if sum(pool[c] for c in burst.cells) < burst.cpus or not all(pool[c] for c in burst.cells)
        for cell in burst.cells
    }
    room = {cell: 1000 * cpus for cell, cpus in enumerate(free)}
    if not short and not requests_fit(room, [(b.cells, b.milli) for b in residual.bursts]):
        return {cell for burst in residual.bursts for cell in burst.cells}
    return short
