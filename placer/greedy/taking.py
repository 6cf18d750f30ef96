"""What a place taken leaves of a node."""

from operator import add, sub

from placer.greedy.beside import arriving, cells_joined, joined
from placer.greedy.bound_left import bound_with, pools_without
from placer.greedy.held import cells_kept, kept
from placer.greedy.mig import after_devices
from placer.greedy.residual import NO_CORES, ClassLeft, Guest, Inside, Residual, after_cores
from placer.greedy.slots import after_shares
from placer_models.problem import Shape

Amounts = tuple[tuple[int, ...], ...]
"""Of several goods, how much in each cell."""


def after(residual: Residual, shape: Shape, inside: Inside) -> Residual:
    """Return what is left once a pod of the shape has the place; who is there stays the same."""
    owned_milli = 1000 * shape.owned_cpus
    exclusive_cpus = shape.owned_cpus if shape.exclusive else 0
    memory = residual.memory
    if inside.memory is not None:
        memory = tuple(have - take for have, take in zip(memory, inside.memory, strict=True))
    pages = residual.pages
    if inside.pages:
        pages = tuple(
            tuple(have - take for have, take in zip(free, taken, strict=True))
            for free, taken in zip(pages, inside.pages, strict=True)
        )
    devices, slots = residual.devices, residual.slots
    if any(map(any, inside.devices)):
        devices = after_devices(residual.layout.banks, devices, inside.devices)
    if inside.shares:
        slots, opened = after_shares(residual, shape, inside.shares)
        devices = tuple(tuple(map(sub, *each)) for each in zip(devices, opened, strict=True))
    guest = arriving(residual, shape)
    return Residual(
        layout=residual.layout,
        cores=_cores_left(residual, shape, inside, guest) if shape.owned_cpus else residual.cores,
        memory=memory,
        memory_total=residual.memory_total - shape.memory,
        devices=devices,
        pool_milli=residual.pool_milli - owned_milli - shape.shared_milli,
        best_effort_milli=residual.best_effort_milli
        - 1000 * exclusive_cpus
        - shape.best_effort_milli,
        pool_cpus=residual.pool_cpus - shape.owned_cpus,
        best_effort_cpus=residual.best_effort_cpus - exclusive_cpus,
        has_shared=residual.has_shared or shape.shared,
        has_best_effort=residual.has_best_effort or shape.best_effort,
        pages=pages,
        pages_total=tuple(map(sub, residual.pages_total, shape.pages)),
        slots=slots,
        extended=tuple(map(sub, residual.extended, shape.extended)),
        cells_held=cells_kept(residual, shape, inside),
        shared=pools_without(residual, residual.shared, shape, inside),
        best_effort=pools_without(residual, residual.best_effort, shape, inside)
        if shape.exclusive
        else residual.best_effort,
        bound=bound_with(residual.bound, shape, inside),
        cell_guests=cells_joined(residual, shape, inside, guest),
        near=_added(residual.near, inside.near),
        load=residual.load,
    )


def _cores_left(
    residual: Residual, shape: Shape, inside: Inside, guest: Guest | None
) -> tuple[ClassLeft, ...]:
    return tuple(
        left
        if take is NO_CORES
        else joined(facts, kept(after_cores(facts, left, take), shape, take), shape, guest)
        for facts, left, take in zip(
            residual.layout.classes, residual.cores, inside.cores, strict=True
        )
    )


def _added(a: Amounts, b: Amounts) -> Amounts:
    """Return the sums of two tables of which either may be empty."""
    if not a or not b:
        return a or b
    return tuple(tuple(map(add, x, y)) for x, y in zip(a, b, strict=True))
