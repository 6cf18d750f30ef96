"""Usable sets: what a node's free devices are worth to later pods (tier ``usable``)."""

from collections.abc import Iterator
from functools import lru_cache
from operator import mul

from placer_models.goals import USABLE_SET_SIZES
from placer_models.links.allowed import max_disjoint_partition_count, partition_table_sets_left
from placer_models.links.board import LinkedDeviceClasses
from placer_models.links.cliques import (
    best_clique_pair_minimum,
    bit_positions,
    bitmasks_of_fast_linked_groups,
    most_of_each_group_in_link_clique,
)
from placer_models.links.merged import (
    MergedLinkedDeviceClasses,
    classes_merged_by_equal_bandwidth,
    classes_merged_by_speed,
)


def total_devices_in_usable_sets(board: LinkedDeviceClasses, free: tuple[int, ...]) -> int:
    """Return how many devices are in the most disjoint fast sets, summed over the usual sizes.

    Each size of ``USABLE_SET_SIZES`` is counted by itself.
    """
    return sum(map(mul, USABLE_SET_SIZES, usable_set_counts(board, free)))


@lru_cache(maxsize=65536)
def usable_set_counts(board: LinkedDeviceClasses, free: tuple[int, ...]) -> tuple[int, ...]:
    """Return how many disjoint fast sets there are at most, for each of ``USABLE_SET_SIZES``."""
    return tuple(max_disjoint_fast_set_count(board, size, free) for size in USABLE_SET_SIZES)


def max_disjoint_fast_set_count(
    board: LinkedDeviceClasses, size: int, free: tuple[int, ...]
) -> int:
    """Return how many pairwise disjoint fast sets of the size can be made of what is free.

    A set is fast if its slowest pair is as fast as that of the best set of the size on the
    empty board. No set is fast if the board has fewer devices than the size. On a board whose
    partition table is honored all these sets are partitions.
    """
    if board.honored:
        whole = partition_table_sets_left(board, size, board.sizes)
        return (
            max_disjoint_partition_count(board, size, free, whole[0].pair_minimum) if whole else 0
        )
    if size < 2:
        return sum(free) if size == 1 else 0
    bandwidths = classes_merged_by_equal_bandwidth(board)
    least = best_clique_pair_minimum(bandwidths, bandwidths.counts(board.sizes), size)
    if least is None:
        return 0
    fast = classes_merged_by_speed(board, least)
    return _most_cliques(fast, fast.counts(free), size)


@lru_cache(maxsize=65536)
def _most_cliques(fast: MergedLinkedDeviceClasses, counts: tuple[int, ...], size: int) -> int:
    """Return how many disjoint cliques there can be, one connected part of the graph at a time.

    Groups that are in no clique are left out first. A part that is a single group is a clique
    of equal devices, so its sets are counted by division.
    """
    counts, near = _core(fast, counts, size)
    total = 0
    todo = sum(1 << i for i, count in enumerate(counts) if count)
    while todo:
        part = _reach(near, todo & -todo)
        todo &= ~part
        if part.bit_count() == 1:
            total += counts[part.bit_length() - 1] // size
        else:
            inside = tuple(count if part >> i & 1 else 0 for i, count in enumerate(counts))
            total += _search(fast, inside, size)
    return total


def _search(fast: MergedLinkedDeviceClasses, counts: tuple[int, ...], size: int) -> int:
    """Return how many disjoint cliques a connected part can have, by branching on one group.

    Either some clique of the best answer has a device of the group, or none has.
    """
    near = bitmasks_of_fast_linked_groups(fast, counts, 1)
    limit = sum(counts) // size
    pick = min(
        (i for i, count in enumerate(counts) if count),
        key=lambda i: sum(counts[j] for j in bit_positions(near[i])),
    )
    best = 0
    for clique in _cliques_with(fast, counts, near, pick, size):
        rest = tuple(a - b for a, b in zip(counts, clique, strict=True))
        best = max(best, 1 + _most_cliques(fast, rest, size))
        if best == limit:
            return best
    without = tuple(0 if i == pick else count for i, count in enumerate(counts))
    return max(best, _most_cliques(fast, without, size))


def _cliques_with(
    fast: MergedLinkedDeviceClasses, counts: tuple[int, ...], near: list[int], pick: int, size: int
) -> Iterator[tuple[int, ...]]:
    """Yield each clique of the size, as counts, that has a device of the group."""
    most = most_of_each_group_in_link_clique(fast, counts, 1)

    def extend(chosen: tuple[int, ...], left: int, open_mask: int) -> Iterator[tuple[int, ...]]:
        if left == 0:
            yield chosen
            return
        groups = bit_positions(open_mask)
        if sum(most[i] for i in groups) < left:
            return
        i = groups[0]
        for count in range(min(most[i], left), -1, -1):
            rest = open_mask & (near[i] if count else ~(1 << i))
            yield from extend((*chosen[:i], count, *chosen[i + 1 :]), left - count, rest)

    for count in range(min(most[pick], size), 0, -1):
        start = tuple(count if i == pick else 0 for i in range(len(counts)))
        yield from extend(start, size - count, near[pick])


def _core(
    fast: MergedLinkedDeviceClasses, counts: tuple[int, ...], size: int
) -> tuple[tuple[int, ...], list[int]]:
    """Return the counts, with 0 for groups that can be in no clique, and the graph of the rest."""
    while True:
        near = bitmasks_of_fast_linked_groups(fast, counts, 1)
        most = most_of_each_group_in_link_clique(fast, counts, 1)
        kept = tuple(
            count if most[i] + sum(most[j] for j in bit_positions(near[i])) >= size else 0
            for i, count in enumerate(counts)
        )
        if kept == counts:
            return counts, near
        counts = kept


def _reach(near: list[int], start: int) -> int:
    """Return all groups that paths connect with the start, as a bit mask."""
    reached, new = start, start
    while new:
        step = 0
        for i in bit_positions(new):
            step |= near[i]
        new = step & ~reached
        reached |= new
    return reached
