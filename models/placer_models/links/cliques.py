"""Cliques in threshold graphs: the fastest slowest pair that a set of a given size can have.

A set has no pair slower than a threshold exactly if it is a clique in the graph of the
pairs at least that fast. So the fastest slowest pair is the highest threshold whose graph
still has a clique of the size, and no set is ever listed.
"""

from functools import lru_cache

from placer_models.links.board import classes_of_device_pairs
from placer_models.links.merged import MergedLinkedDeviceClasses


@lru_cache(maxsize=65536)
def best_clique_pair_minimum(
    merged: MergedLinkedDeviceClasses, counts: tuple[int, ...], size: int
) -> int | None:
    """Return the fastest slowest pair of ``size`` devices, or None if there are too few."""
    if size > sum(counts):
        return None
    if size < 2:
        return 0
    speeds = sorted({merged.weights[a][b] for a, b in classes_of_device_pairs(counts)})
    low, high = 0, len(speeds) - 1
    while low < high:
        middle = (low + high + 1) // 2
        if largest_device_clique_size(merged, counts, speeds[middle]) >= size:
            low = middle
        else:
            high = middle - 1
    return speeds[low]


def bitmasks_of_fast_linked_groups(
    merged: MergedLinkedDeviceClasses, counts: tuple[int, ...], least: int
) -> list[int]:
    """Return for each group a bit mask of the other groups to which its pairs are fast.

    Only groups that have devices count.
    """
    return [
        sum(
            1 << b
            for b, weight in enumerate(row)
            if b != a and weight >= least and counts[a] and counts[b]
        )
        for a, row in enumerate(merged.weights)
    ]


def most_of_each_group_in_link_clique(
    merged: MergedLinkedDeviceClasses, counts: tuple[int, ...], least: int
) -> tuple[int, ...]:
    """Return how many devices of each group one clique can have."""
    return tuple(
        count if merged.weights[i][i] >= least else min(count, 1) for i, count in enumerate(counts)
    )


def largest_device_clique_size(
    merged: MergedLinkedDeviceClasses, counts: tuple[int, ...], least: int
) -> int:
    """Return the size of the largest set of devices in which no pair is slower than ``least``.

    Bron and Kerbosch with a pivot: at most 3 ** (groups / 3) leaves.
    """
    near = bitmasks_of_fast_linked_groups(merged, counts, least)
    worth = most_of_each_group_in_link_clique(merged, counts, least)
    best = 0

    def grow(total: int, open_mask: int, done: int) -> None:
        nonlocal best
        best = max(best, total)
        if total + sum(worth[i] for i in bit_positions(open_mask)) <= best:
            return
        pivot = max(
            bit_positions(open_mask | done), key=lambda i: (near[i] & open_mask).bit_count()
        )
        for i in bit_positions(open_mask & ~near[pivot]):
            grow(total + worth[i], open_mask & near[i], done & near[i])
            open_mask &= ~(1 << i)
            done |= 1 << i

    grow(0, sum(1 << i for i, count in enumerate(counts) if count), 0)
    return best


def bit_positions(mask: int) -> list[int]:
    """Return the places of the ones in a bit mask, ascending."""
    return [i for i in range(mask.bit_length()) if mask >> i & 1]
