"""Allowed sets of a board: partitions of a table, sets within one place (D10)."""

from collections.abc import Iterator, Sequence
from functools import lru_cache

from placer_models.links.board import (
    LinkedDeviceClasses,
    LinkedDeviceSetCounts,
    number_of_selectable_device_sets,
    pair_minimum,
    pair_sum,
    selectable_device_sets,
)
from placer_models.policy import SameTypeDevicesScope

ClassCounts = tuple[int, ...]
"""How many devices of each class of a board."""


def scope_places_of_classes(
    board: LinkedDeviceClasses, scope: SameTypeDevicesScope
) -> Sequence[int | str | None]:
    """Return the place of each class, of the kind that the scope names; None if unknown."""
    match scope:
        case SameTypeDevicesScope.PCIE:
            return board.switches
        case SameTypeDevicesScope.NUMA_NODE:
            return board.numa_nodes
        case SameTypeDevicesScope.PACKAGE:
            return board.packages
        case SameTypeDevicesScope.NODE:
            return (0,) * len(board.classes)


def free_counts_within_scope(
    board: LinkedDeviceClasses, size: int, free: ClassCounts, scope: SameTypeDevicesScope
) -> Iterator[ClassCounts]:
    """Yield what is free in each place that a set of the size may lie within.

    A single device always keeps to the scope. Two or more need a place that is known.
    """
    if size < 2 or scope is SameTypeDevicesScope.NODE:
        yield free
        return
    keys = scope_places_of_classes(board, scope)
    for key in dict.fromkeys(key for key in keys if key is not None):
        room = tuple(count if own == key else 0 for count, own in zip(free, keys, strict=True))
        if sum(room) >= size:
            yield room


def has_allowed_set_on_empty_board(
    board: LinkedDeviceClasses, size: int, scope: SameTypeDevicesScope
) -> bool:
    """Return whether the empty board has any set of the size that a pod may have."""
    return any(
        bool(partition_table_sets_left(board, size, room)) if board.honored else sum(room) >= size
        for room in free_counts_within_scope(board, size, board.sizes, scope)
    )


def is_set_in_partition_table(board: LinkedDeviceClasses, counts: ClassCounts) -> bool:
    """Return whether a set with these counts of devices per class is a partition of the table."""
    return board.partitions is not None and counts in board.partitions


def partitions_matter_for(board: LinkedDeviceClasses, size: int) -> bool:
    """Return whether some sets of the size are partitions and others are not, or none is."""
    if board.partitions is None or size < 1:
        return False
    if size > 1:
        return True
    singles = {counts.index(1) for counts in board.partitions if sum(counts) == 1}
    return len(singles) < len(board.classes)


@lru_cache(maxsize=65536)
def partition_table_sets_left(
    board: LinkedDeviceClasses, size: int, free: ClassCounts
) -> tuple[LinkedDeviceSetCounts, ...]:
    """Return the partitions of the size within the free counts, best first."""
    found = [
        LinkedDeviceSetCounts(counts, pair_minimum(board, counts), pair_sum(board, counts))
        for counts in board.partitions or ()
        if sum(counts) == size and all(c <= f for c, f in zip(counts, free, strict=True))
    ]
    # The partitions come with the lowest devices first, and sorting keeps that order.
    return tuple(sorted(found, key=lambda s: (-s.pair_minimum, -s.pair_sum)))


def allowed_device_sets(
    board: LinkedDeviceClasses,
    size: int,
    free: ClassCounts,
    scope: SameTypeDevicesScope = SameTypeDevicesScope.NODE,
) -> tuple[LinkedDeviceSetCounts, ...]:
    """Return every inequivalent set that a pod may have within the free counts, best first.

    This is `selectable_device_sets` for a pod that keeps to the scope; where the board is honored,
    only partitions are returned.
    """
    listed = partition_table_sets_left if board.honored else selectable_device_sets
    found = [
        s
        for room in free_counts_within_scope(board, size, free, scope)
        for s in listed(board, size, room)
    ]
    return tuple(sorted(found, key=lambda s: (-s.pair_minimum, -s.pair_sum)))


def count_offered_device_sets(
    board: LinkedDeviceClasses,
    size: int,
    free: ClassCounts,
    scope: SameTypeDevicesScope = SameTypeDevicesScope.NODE,
) -> int:
    """Return how many sets `offered_device_sets` returns, without listing any but partitions."""
    if board.honored:
        return len(allowed_device_sets(board, size, free, scope))
    return sum(
        number_of_selectable_device_sets(board, size, room)
        for room in free_counts_within_scope(board, size, free, scope)
    )


@lru_cache(maxsize=65536)
def max_disjoint_partition_count(
    board: LinkedDeviceClasses, size: int, free: ClassCounts, least: int
) -> int:
    """Return how many disjoint partitions of the size fit, with no pair slower than ``least``.

    Counts that fit into the free counts together stand for disjoint sets of devices, because
    it does not matter which devices of a class a partition takes. So this packs counts.
    """
    fitting = [
        p.counts for p in partition_table_sets_left(board, size, free) if p.pair_minimum >= least
    ]
    useful = tuple(
        count if any(counts[i] for counts in fitting) else 0 for i, count in enumerate(free)
    )
    limit = sum(useful) // size
    if not fitting:
        return 0
    # Either some partition of the best answer has a device of the picked class, or none has.
    pick = min((i for i, count in enumerate(useful) if count), key=lambda i: (useful[i], i))
    best = 0
    for counts in fitting:
        if counts[pick]:
            rest = tuple(a - b for a, b in zip(useful, counts, strict=True))
            best = max(best, 1 + max_disjoint_partition_count(board, size, rest, least))
            if best == limit:
                return best
    without = tuple(0 if i == pick else count for i, count in enumerate(useful))
    return max(best, max_disjoint_partition_count(board, size, without, least))
