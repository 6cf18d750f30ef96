"""Fillings: every way in which shares fill one device, so that no further share goes in."""

from collections import Counter
from functools import lru_cache

from placer.packing.bins import Counts, Vector
from placer.plan.market import BinDevicesOfOneType

MOST_FILLINGS = 4_000
"""With more fillings than this for one device, devices are counted by their sums alone."""


def ways_to_fill_devices_with_shares(
    devices: BinDevicesOfOneType,
) -> list[tuple[int, tuple[Counts, ...]]] | None:
    """Return (how many devices, their fillings) for each kind of device that takes shares.

    None stands for too many fillings. Devices that are free come first.
    """
    if not devices.sizes:
        return []
    found = []
    for room, count in Counter(devices.rooms).items():
        fillings = full_fillings_of_device(room, devices.sizes, MOST_FILLINGS)
        if fillings is None:
            return None
        found.append((count, fillings))
    return found


@lru_cache(maxsize=64)
def full_fillings_of_device(
    room: Vector, sizes: tuple[Vector, ...], most: int
) -> tuple[Counts, ...] | None:
    """Return every full filling of a device, or None if there are more than ``most``."""
    found: list[Counts] = []
    # Tried is bounded, too: there may be many fillings on the way to few that are full.
    steps = 50 * most
    chosen: list[int] = []

    def choose(at: int, left: Vector) -> bool:
        nonlocal steps
        steps -= 1
        if len(found) > most or steps < 0:
            return False
        if at == len(sizes):
            if not any(_fits(size, left) for size in sizes):
                found.append(tuple(chosen))
            return True
        for times in range(_times(sizes[at], left), -1, -1):
            chosen.append(times)
            rest = tuple(a - times * b for a, b in zip(left, sizes[at], strict=True))
            done = choose(at + 1, rest)
            chosen.pop()
            if not done:
                return False
        return True

    return tuple(found) if choose(0, room) else None


def _fits(size: Vector, left: Vector) -> bool:
    return all(a <= b for a, b in zip(size, left, strict=True)) and any(size)


def _times(size: Vector, left: Vector) -> int:
    return min((b // a for a, b in zip(size, left, strict=True) if a), default=0)
