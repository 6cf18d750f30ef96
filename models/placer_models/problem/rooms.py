"""Rooms: quarters, halves and all of a node's CPUs and memory, in the node's own ratio.

Rooms measure what is left of a node for pods of the shared pool, which own nothing by place.
"""

from collections.abc import Sequence

from placer_models.goals import ROOM_POINTS, ROOM_QUARTERS

Rooms = Sequence[tuple[int, int]]
"""(Milli CPUs, memory) of one, two, three and four quarters of a node, each rounded up."""

QUARTERS = 4
"""How many quarters a whole node is."""


def room_sizes(cpu_milli: int, memory: int) -> tuple[tuple[int, int], ...]:
    """Return the rooms of a node with this CPU and memory; none if it has no CPUs.

    Args:
        cpu_milli: Milli CPUs of all its allocatable CPUs.
        memory: Memory that is not set aside as hugepages.

    """
    if not cpu_milli:
        return ()
    return tuple(
        (-(-j * cpu_milli // QUARTERS), -(-j * memory // QUARTERS)) for j in range(1, QUARTERS + 1)
    )


def room_points_of_free_quarters(quarters: int) -> int:
    """Return what the rooms are worth if this many quarters of a node are free."""
    return ROOM_POINTS * sum(size * (quarters // size) for size in ROOM_QUARTERS)


POINTS = tuple(map(room_points_of_free_quarters, range(QUARTERS + 1)))
"""The points for none, one, two, three and four free quarters."""


def room_points(rooms: Rooms, milli: int, memory: int) -> int:
    """Return the points of the rooms that are left if this much CPU and memory is free."""
    free = 0
    for cpu, bytes_ in rooms:
        if milli < cpu or memory < bytes_:
            break
        free += 1
    return POINTS[free]
