"""Permitted sets: the best set that a pod may have, given its scope and binding partitions."""

from collections.abc import Sequence
from functools import lru_cache

from placer_models.links.allowed import (
    ClassCounts,
    allowed_device_sets,
    free_counts_within_scope,
    partition_table_sets_left,
)
from placer_models.links.best import best_device_set_among_free
from placer_models.links.board import LinkedDeviceClasses, LinkedDeviceSetCounts, pair_sum
from placer_models.links.cliques import best_clique_pair_minimum
from placer_models.links.heaviest import heaviest_set_pair_sum
from placer_models.links.merged import classes_merged_by_equal_bandwidth
from placer_models.links.usable import total_devices_in_usable_sets
from placer_models.policy import SameTypeDevicesScope

ANYWHERE = SameTypeDevicesScope.NODE


def best_permitted_pair_minimum(
    board: LinkedDeviceClasses, size: int, scope: SameTypeDevicesScope = ANYWHERE
) -> int | None:
    """Return the fastest slowest pair of the sets that a pod may have on the empty board.

    The value is in centi GB/s, or None if the pod may have no set.
    """
    if board.honored:
        parts = allowed_device_sets(board, size, board.sizes, scope)
        return parts[0].pair_minimum if parts else None
    merged = classes_merged_by_equal_bandwidth(board)
    found = (
        best_clique_pair_minimum(merged, merged.counts(room), size)
        for room in free_counts_within_scope(board, size, board.sizes, scope)
    )
    return max((value for value in found if value is not None), default=None)


def best_permitted_pair_sum(
    board: LinkedDeviceClasses, size: int, scope: SameTypeDevicesScope = ANYWHERE
) -> int | None:
    """Return the largest pair sum of the sets that a pod may have on the empty board.

    The value is in centi GB/s, or None if the pod may have no set.
    """
    if board.honored:
        parts = allowed_device_sets(board, size, board.sizes, scope)
        return max((part.pair_sum for part in parts), default=None)
    merged = classes_merged_by_equal_bandwidth(board)
    found = [
        heaviest_set_pair_sum(merged, merged.counts(room), size) if size > 1 else 0
        for room in free_counts_within_scope(board, size, board.sizes, scope)
        if sum(room) >= size
    ]
    return max(found, default=None)


@lru_cache(maxsize=65536)
def best_permitted_devices(
    board: LinkedDeviceClasses, size: int, free: ClassCounts, scope: SameTypeDevicesScope = ANYWHERE
) -> LinkedDeviceSetCounts | None:
    """Return the best free set that a pod may have, or None if there is none.

    Sets are compared as in `best_device_set_among_free`, but partitions go before other sets.
    """
    found = _best(board, size, free, scope, partitions=True)
    if found is None and not board.honored:
        found = _best(board, size, free, scope, partitions=False)
    return found


def _best(
    board: LinkedDeviceClasses,
    size: int,
    free: ClassCounts,
    scope: SameTypeDevicesScope,
    *,
    partitions: bool,
) -> LinkedDeviceSetCounts | None:
    """Return the best partition, or the best set of any kind."""
    if not partitions and scope is ANYWHERE:
        return best_device_set_among_free(board, size, free)
    found: list[LinkedDeviceSetCounts] = []
    for room in free_counts_within_scope(board, size, free, scope):
        if partitions:
            found += partition_table_sets_left(board, size, room)
        elif best := best_device_set_among_free(board, size, room):
            found.append(best)
    places = (board.numa_nodes, board.packages, board.switches)

    def badness(chosen: LinkedDeviceSetCounts) -> tuple[object, ...]:
        left = tuple(a - b for a, b in zip(free, chosen.counts, strict=True))
        return (
            -chosen.pair_minimum,
            -chosen.pair_sum,
            *(_places(chosen.counts, place_of) for place_of in places),
            -total_devices_in_usable_sets(board, left),
            -pair_sum(board, left),
            tuple(-count for count in chosen.counts),
        )

    return min(found, key=badness, default=None)


def _places(counts: ClassCounts, place_of: Sequence[int | str | None]) -> int:
    """Return how many distinct known places the devices are in."""
    return len({place for count, place in zip(counts, place_of, strict=True) if count} - {None})
