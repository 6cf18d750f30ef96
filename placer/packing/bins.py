"""Bins, and the items of a few types that go into them: nodes and pods as whole numbers."""

from dataclasses import dataclass

Vector = tuple[int, ...]
"""One number for each resource."""

Counts = tuple[int, ...]
"""How many items of each type."""


@dataclass(frozen=True, slots=True)
class PackingBin:
    """A node's room.

    Attributes:
        room: What is left.
        sizes: For each type, what one item of it takes here.

    """

    room: Vector
    sizes: tuple[Vector, ...]

    def fits(self, room: Vector, item: int) -> bool:
        """Return whether an item of the type goes into the room that is left."""
        return all(a <= b for a, b in zip(self.sizes[item], room, strict=True))

    def without(self, room: Vector, item: int, times: int = 1) -> Vector:
        """Return what is left of the room once that many items of the type are in it."""
        return tuple(b - times * a for a, b in zip(self.sizes[item], room, strict=True))


@dataclass(frozen=True, slots=True)
class PackingProblem:
    """A packing problem: bins, and the items that go into them.

    Attributes:
        bins: The bins that are there already.
        fresh: What every further bin is like.
        counts: How many items there are of each type.

    """

    bins: tuple[PackingBin, ...]
    fresh: PackingBin
    counts: Counts

    def bin(self, number: int) -> PackingBin:
        """Return a bin by its number; after those that are there, every bin is fresh."""
        return self.bins[number] if number < len(self.bins) else self.fresh


Filling = list[list[int]]
"""For each bin how many items of each type are in it; fresh bins follow the others."""
