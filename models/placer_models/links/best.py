"""The best set of devices, on the empty board and among what is free."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from placer_models.goals import USABLE_SET_SIZES
from placer_models.links.board import LinkedDeviceClasses, LinkedDeviceSetCounts
from placer_models.links.cliques import best_clique_pair_minimum
from placer_models.links.heaviest import device_sets_of_largest_pair_sum, heaviest_set_pair_sum
from placer_models.links.merged import MergedLinkedDeviceClasses, classes_merged_by_equal_bandwidth
from placer_models.links.usable import max_disjoint_fast_set_count


def best_pair_minimum(board: LinkedDeviceClasses, size: int) -> int | None:
    """Return the fastest slowest pair of a set of the size on the empty board.

    The value is in centi GB/s: 0 for fewer than two devices, None if the board has too few.
    """
    merged = classes_merged_by_equal_bandwidth(board)
    return best_clique_pair_minimum(merged, merged.counts(board.sizes), size)


def best_pair_sum(board: LinkedDeviceClasses, size: int) -> int | None:
    """Return the largest pair sum of a set of the size on the empty board.

    It may belong to another set than the fastest slowest pair. The value is in centi GB/s: 0
    for fewer than two devices, None if the board has too few.
    """
    if size > sum(board.sizes):
        return None
    merged = classes_merged_by_equal_bandwidth(board)
    return heaviest_set_pair_sum(merged, merged.counts(board.sizes), size) if size > 1 else 0


@lru_cache(maxsize=65536)
def best_device_set_among_free(
    board: LinkedDeviceClasses, size: int, free: tuple[int, ...]
) -> LinkedDeviceSetCounts | None:
    """Return the best set of the size among what is free, or None if too few are free.

    The best set has, in this order of importance: the fastest slowest pair, the largest pair
    sum, the fewest NUMA nodes, packages and PCIe switches, the most usable points left, the
    largest pair sum left, the lowest devices. Unknown NUMA nodes, packages and switches are
    not counted.
    """
    merged = classes_merged_by_equal_bandwidth(board)
    group_free = merged.counts(free)
    least = best_clique_pair_minimum(merged, group_free, size)
    if least is None:
        return None
    nearest = _Nearest(board, free, size)
    for group_counts in sorted(
        device_sets_of_largest_pair_sum(merged, group_free, size, least), reverse=True
    ):
        nearest.search(merged, group_counts, _links_lost(merged, group_free, group_counts))
    return LinkedDeviceSetCounts(
        nearest.counts, least, heaviest_set_pair_sum(merged, group_free, size, least)
    )


def _links_lost(
    merged: MergedLinkedDeviceClasses, free: tuple[int, ...], chosen: tuple[int, ...]
) -> int:
    """Return the bandwidth between the chosen devices and all free ones.

    Of sets with equal pair sums, the one that loses least leaves the largest pair sum.
    """
    return sum(
        count * sum(weight * (free[h] - (g == h)) for h, weight in enumerate(merged.weights[g]))
        for g, count in enumerate(chosen)
        if count
    )


@dataclass(slots=True)
class _Nearest:
    """The nearest set so far, of those that no link tells apart.

    Attributes:
        places: For each kind of place (NUMA node, package, switch), the place of each class.
        spread: How many places of each kind the best set has.
        points: Usable points that the best set leaves.
        lost: What ``_links_lost`` says of the best set.
        counts: The best set; empty before the first one.

    """

    board: LinkedDeviceClasses
    free: tuple[int, ...]
    size: int
    places: tuple[Sequence[int | str | None], ...] = field(init=False)
    spread: tuple[int, ...] = ()
    points: int = 0
    lost: int = 0
    counts: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        self.places = (self.board.numa_nodes, self.board.packages, self.board.switches)

    def search(
        self, merged: MergedLinkedDeviceClasses, group_counts: tuple[int, ...], lost: int
    ) -> None:
        """Try each set that has ``group_counts`` devices in each group of classes."""
        group_of = {i: g for g, group in enumerate(merged.groups) for i in group}
        self._grow((), [group_of[i] for i in range(len(self.free))], list(group_counts), lost)

    def _grow(
        self, chosen: tuple[int, ...], group_of: list[int], left: list[int], lost: int
    ) -> None:
        """Try each count of the next class that its group allows, and go on to later classes.

        Args:
            chosen: Counts of the classes decided.
            group_of: The group of each class.
            left: How many devices are still to be chosen in each group.
            lost: What ``_links_lost`` says of each set tried.

        """
        here = len(chosen)
        if here == len(self.free):
            if self._promises(chosen, left, group_of, lost):
                self._keep(chosen, lost)
            return
        group = group_of[here]
        later = sum(self.free[i] for i in range(here + 1, len(self.free)) if group_of[i] == group)
        most, need = self.free[here], left[group]
        options = range(min(most, need), max(0, need - later) - 1, -1)
        if len(options) > 1 and not self._promises(chosen, left, group_of, lost):
            return
        for count in options:
            left[group] = need - count
            self._grow((*chosen, count), group_of, left, lost)
        left[group] = need

    def _keep(self, chosen: tuple[int, ...], lost: int) -> None:
        """Make a complete set the best so far."""
        nothing = [0] * len(chosen)
        self.spread = tuple(self._fewest(kind, chosen, nothing) for kind in self.places)
        self.points = self._points_left(chosen)
        self.lost = lost
        self.counts = chosen

    def _promises(
        self, chosen: tuple[int, ...], left: list[int], group_of: list[int], lost: int
    ) -> bool:
        """Return whether a set that begins with ``chosen`` could beat the best so far."""
        if not self.counts:
            return True
        room = [
            min(count, left[group_of[i]]) if i >= len(chosen) else 0
            for i, count in enumerate(self.free)
        ]
        spread = tuple(self._fewest(kind, chosen, room) for kind in self.places)
        if spread != self.spread:
            return spread < self.spread
        points = self._points_left(chosen)
        if points != self.points:
            return points > self.points
        if lost != self.lost:
            return lost < self.lost
        return chosen >= self.counts[: len(chosen)]

    def _fewest(
        self, place_of: Sequence[int | str | None], chosen: tuple[int, ...], room: list[int]
    ) -> int:
        """Return the fewest places of a kind that a set beginning with ``chosen`` can have."""
        used = {place_of[i] for i, count in enumerate(chosen) if count} - {None}
        missing = self.size - sum(chosen)
        rooms: dict[int | str, int] = {}
        for place, count in zip(place_of, room, strict=True):
            if place is None or place in used:
                missing -= count
            else:
                rooms[place] = rooms.get(place, 0) + count
        fewest = len(used)
        for count in sorted(rooms.values(), reverse=True):
            if missing <= 0:
                break
            missing -= count
            fewest += 1
        return fewest

    def _points_left(self, chosen: tuple[int, ...]) -> int:
        """Return an upper bound on the usable points that a set beginning with ``chosen`` leaves.

        It is exact for a complete set. Devices of classes that are not decided count as free,
        except that the number of devices left is known.
        """
        taken = (*chosen, *(0 for _ in range(len(self.free) - len(chosen))))
        free = tuple(a - b for a, b in zip(self.free, taken, strict=True))
        left = sum(self.free) - self.size
        return sum(
            size * min(max_disjoint_fast_set_count(self.board, size, free), left // size)
            for size in USABLE_SET_SIZES
        )
