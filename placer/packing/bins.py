"""Bins, and the things of a few types that go into them: nodes and pods as whole numbers."""

from dataclasses import dataclass

Vector = tuple[int, ...]
"""One number for each resource."""

Counts = tuple[int, ...]
"""How many things of each type."""


@dataclass(frozen=True, slots=True)
class Bin:
    """A node's room.

    Attributes:
        room: What is left.
        sizes: For each type, what one thing of it takes here.

    """

    room: Vector
    sizes: tuple[Vector, ...]

    def fits(self, room: Vector, thing: int) -> bool:
        """Return whether a thing of the type goes into the room that is left."""
        return all(a <= b for a, b in zip(self.sizes[thing], room, strict=True))

    def without(self, room: Vector, thing: int, times: int = 1) -> Vector:
        """Return what is left of the room once that many things of the type are in it."""
        return tuple(b - times * a for a, b in zip(self.sizes[thing], room, strict=True))


@dataclass(frozen=True, slots=True)
class Packing:
    """A packing problem: bins, and the things that go into them.

    Attributes:
        bins: The bins that are there already.
        fresh: What every further bin is like.
        counts: How many things there are of each type.

    """

    bins: tuple[Bin, ...]
    fresh: Bin
    counts: Counts

    def bin(self, number: int) -> Bin:
        """Return a bin by its number; after those that are there, every bin is fresh."""
        return self.bins[number] if number < len(self.bins) else self.fresh


Filling = list[list[int]]
"""For each bin how many things of each type are in it; fresh bins follow the others."""
