"""Which cells the memory of each placed pod comes from."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class MemoryWant:
    """What one pod takes, in memory units.

    Attributes:
        amount: All of it.
        pinned: From each cell; None: it may come from anywhere.
        near: Cells of the pod's CPUs and devices, nearest first.

    """

    amount: int
    pinned: tuple[int, ...] | None
    near: tuple[int, ...]


def split_memory(free: Sequence[int], wants: Sequence[MemoryWant]) -> list[tuple[int, ...]] | None:
    """Return the units of every want from each cell; None: there is not enough.

    Pinned wants are served first, so the others find a place whenever the sums allow it:
    first those that are near few cells, from these as far as they go; then those that are
    near none, the largest first. What no near cell has comes from the one cell with room
    for it that is left with least, else from the emptiest cells.
    """
    left = list(free)
    for want in wants:
        for cell, amount in enumerate(want.pinned or ()):
            left[cell] -= amount
    if any(amount < 0 for amount in left):
        return None
    found: dict[int, tuple[int, ...]] = {}
    for i in sorted(range(len(wants)), key=lambda i: _turn(wants[i])):
        pinned = wants[i].pinned
        taken = pinned if pinned is not None else _taken(left, wants[i])
        if taken is None:
            return None
        found[i] = taken
    return [found[i] for i in range(len(wants))]


def _turn(want: MemoryWant) -> tuple[bool, int, int]:
    return not want.near, len(want.near), -want.amount


def _taken(left: list[int], want: MemoryWant) -> tuple[int, ...] | None:
    """Take what is wanted out of what is left in the cells; None: there is not enough."""
    taken = [0] * len(left)
    rest = want.amount

    def take(cell: int) -> None:
        nonlocal rest
        amount = min(rest, left[cell])
        taken[cell] += amount
        left[cell] -= amount
        rest -= amount

    for cell in want.near:
        take(cell)
    roomy = [cell for cell, amount in enumerate(left) if amount >= rest > 0]
    if roomy:
        take(min(roomy, key=lambda cell: left[cell]))
    for cell in sorted(range(len(left)), key=lambda cell: -left[cell]):
        take(cell)
    return None if rest else tuple(taken)
