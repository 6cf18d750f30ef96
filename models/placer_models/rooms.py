"""Rooms: quarters, halves and all of a node's CPUs and memory, in the node's own ratio.

What pods of the shared pool, who own nothing by place, need of a node that is left.
"""

from collections.abc import Sequence

from placer_models.goals import ROOM_POINTS, ROOM_QUARTERS

Rooms = Sequence[tuple[int, int]]
"""(Milli CPUs, memory) that one quarter of a node is, two, three, four: each rounded up."""

QUARTERS = 4
"""All of a node."""


def rooms_of(cpu_milli: int, memory: int) -> tuple[tuple[int, int], ...]:
    """Return the rooms of a node with so much; none where it has no CPUs.

    Args:
        cpu_milli: Of all its allocatable CPUs.
        memory: That is not set aside as hugepages.

    """
    if not cpu_milli:
        return ()
    return tuple(
        (-(-j * cpu_milli // QUARTERS), -(-j * memory // QUARTERS)) for j in range(1, QUARTERS + 1)
    )


def points_at(quarters: int) -> int:
    """Return what rooms are worth where so many quarters of a node are free."""
    return ROOM_POINTS * sum(size * (quarters // size) for size in ROOM_QUARTERS)


POINTS = tuple(map(points_at, range(QUARTERS + 1)))
"""The same for none, one, two, three and four quarters."""


def room_points(rooms: Rooms, milli: int, memory: int) -> int:
    """Return the points of the rooms that are left where so much is free."""
    free = 0
    for cpu, bytes_ in rooms:
        if milli < cpu or memory < bytes_:
            break
        free += 1
    return POINTS[free]
