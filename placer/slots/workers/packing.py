"""Slots on workers as whole numbers: bins, and things of a few types that go into them."""

from collections.abc import Sequence
from dataclasses import dataclass

from placer.slots.resources import Amounts, Profile
from placer.slots.workers.words import Workers

Vector = tuple[int, ...]
"""One number for each dimension: CPUs, memories, extended resources by name."""

Counts = tuple[int, ...]
"""How many things of each type."""


@dataclass(frozen=True, slots=True)
class Bin:
    """A worker's room.

    Attributes:
        total: Its room when nothing is on it.
        room: What is left of that.
        sizes: For each type what one thing takes here; an unknown need takes a default
            slot, which differs from worker to worker.

    """

    total: Vector
    room: Vector
    sizes: tuple[Vector, ...]

    def fits(self, room: Vector, thing: int) -> bool:
        """Return whether a thing of the type goes into the room that is left."""
        return all(a <= b for a, b in zip(self.sizes[thing], room, strict=True))

    def without(self, room: Vector, thing: int, times: int = 1) -> Vector:
        """Return what is left of the room."""
        return tuple(b - times * a for a, b in zip(self.sizes[thing], room, strict=True))


@dataclass(frozen=True, slots=True)
class Packing:
    """What goes where.

    Attributes:
        bins: Workers that are there: registered ones that are not blocked, then pending.
        fresh: Another worker.
        counts: Things of each type.

    """

    bins: tuple[Bin, ...]
    fresh: Bin
    counts: Counts

    def bin(self, number: int) -> Bin:
        """Return a bin; behind those that are there, all are fresh."""
        return self.bins[number] if number < len(self.bins) else self.fresh


Filling = list[list[int]]
"""For each bin how many things of each type are in it; fresh bins follow the others."""


def open_workers(workers: Workers) -> list[int]:
    """Return the registered workers that take new slots, by index."""
    return [i for i, worker in enumerate(workers.registered) if not worker.blocked]


def packing_of(workers: Workers, types: Sequence[Profile], counts: Counts) -> Packing:
    """Return the problem of putting so many slots of each type on the workers."""
    spec = workers.spec
    seen = [
        spec.total,
        *(t for t in types if isinstance(t, Amounts)),
        *(worker.total for worker in workers.registered),
        *(worker.total for worker in workers.pending),
    ]
    names = sorted({name for amounts in seen for name, _ in amounts.extended_e8})

    def vector(amounts: Amounts) -> Vector:
        return (*amounts.plain, *map(amounts.extended_of, names))

    def bin_of(total: Amounts, room: Amounts, default: Amounts) -> Bin:
        sizes = (t if isinstance(t, Amounts) else default for t in types)
        return Bin(vector(total), vector(room), tuple(map(vector, sizes)))

    registered = [workers.registered[i] for i in open_workers(workers)]
    return Packing(
        (
            *(bin_of(worker.total, worker.available, worker.default_slot) for worker in registered),
            *(
                bin_of(worker.total, worker.total, worker.default_slot)
                for worker in workers.pending
            ),
        ),
        bin_of(spec.total, spec.total, spec.default_slot),
        counts,
    )
