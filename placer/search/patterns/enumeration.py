"""All ways to fill a node with pods of some shapes, so that no other pod fits beside them."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from placer.search.exchanges.sweeps import Loads

Patterns = NDArray[np.intp]
"""(pattern, position) -> index of a shape, or the number of shapes where there is none."""

AT_ONCE = 4_096
"""How many patterns are made longer at the same time: so memory stays small."""


def full_patterns(
    room: Loads,
    sizes: Loads,
    counts: NDArray[np.intp],
    most: int,
    stop: Callable[[], bool],
) -> Patterns | None:
    """Return all full patterns, or None if there are too many, or the time is over.

    Args:
        room: What the node has, resource by resource.
        sizes: (shape, resource) -> what a pod takes.
        counts: How many pods of each shape there are for the node.
        most: The most patterns, full or not, that are looked at.
        stop: Asked now and then whether the time is over.

    """
    # Large pods first: few of them go together, so few patterns are begun in vain.
    order = np.argsort(-(sizes / np.maximum(room, 1.0)).max(axis=1), kind="stable")
    sizes, counts = sizes[order], counts[order]
    shapes = np.arange(len(order))
    full: list[Patterns] = []
    items = np.zeros((1, 0), dtype=np.intp)
    left = room[None, :]
    used = np.zeros((1, len(order)), dtype=np.int16)
    looked_at = 0
    while len(items):
        longer: list[tuple[Patterns, Loads, NDArray[np.int16]]] = []
        for first in range(0, len(items), AT_ONCE):
            if stop():
                return None
            now = slice(first, first + AT_ONCE)
            fits = (sizes[None, :, :] <= left[now, None, :]).all(axis=2)
            fits &= used[now] < counts
            full.append(order[items[now][~fits.any(axis=1)]])
            if items.shape[1]:
                fits &= shapes >= items[now, -1:]
            which, shape = np.nonzero(fits)
            looked_at += len(which)
            if looked_at > most:
                return None
            taken = used[now][which]
            taken[np.arange(len(which)), shape] += 1
            longer.append(
                (
                    np.hstack([items[now][which], shape[:, None]]),
                    left[now][which] - sizes[shape],
                    taken,
                )
            )
        items, left, used = (np.concatenate(parts) for parts in zip(*longer, strict=True))
    width = max(part.shape[1] for part in full)
    gap = len(order)
    return np.vstack(
        [np.pad(p, ((0, 0), (0, width - p.shape[1])), constant_values=gap) for p in full]
    )
