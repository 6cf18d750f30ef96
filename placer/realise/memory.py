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

    Pinned wants are served first, so the others find a place whenever the sums allow
    it: they take from the cells near them, then from the emptiest of the others.
    """
    left = list(free)
    for want in wants:
        for cell, amount in enumerate(want.pinned or ()):
            left[cell] -= amount
    if any(amount < 0 for amount in left):
        return None
    found = []
    for want in wants:
        if want.pinned is not None:
            found.append(want.pinned)
            continue
        taken = [0] * len(left)
        rest = want.amount
        others = sorted(set(range(len(left))) - set(want.near), key=lambda cell: -left[cell])
        for cell in (*want.near, *others):
            taken[cell] = min(rest, left[cell])
            left[cell] -= taken[cell]
            rest -= taken[cell]
        if rest:
            return None
        found.append(tuple(taken))
    return found
