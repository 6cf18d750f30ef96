"""The largest pair sum that a set of a given size can have, by branch and bound over counts."""

from dataclasses import dataclass, field
from functools import lru_cache

from placer_models.links.board import number_of_device_pairs
from placer_models.links.cliques import (
    bitmasks_of_fast_linked_groups,
    most_of_each_group_in_link_clique,
)
from placer_models.links.merged import MergedLinkedDeviceClasses


@lru_cache(maxsize=65536)
def heaviest_set_pair_sum(
    merged: MergedLinkedDeviceClasses, counts: tuple[int, ...], size: int, least: int = 0
) -> int:
    """Return the largest pair sum of ``size`` devices of which no pair is below ``least``.

    Such a set must exist: ``least`` is at most what ``best_clique_pair_minimum`` says.
    """
    search = _Search(merged, counts, least)
    search.run(size)
    return search.best


@lru_cache(maxsize=65536)
def device_sets_of_largest_pair_sum(
    merged: MergedLinkedDeviceClasses, counts: tuple[int, ...], size: int, least: int
) -> tuple[tuple[int, ...], ...]:
    """Return every set that has the largest pair sum, as counts per group."""
    search = _Search(merged, counts, least, ties=True)
    search.best = heaviest_set_pair_sum(merged, counts, size, least)
    search.run(size)
    return tuple(search.found)


@dataclass(slots=True)
class _Search:
    """One branch and bound: the most promising group is tried first, with high counts first."""

    merged: MergedLinkedDeviceClasses
    counts: tuple[int, ...]
    least: int
    ties: bool = False
    best: int = -1
    found: list[tuple[int, ...]] = field(default_factory=list)
    near: list[int] = field(init=False)
    most: tuple[int, ...] = field(init=False)
    chosen: list[int] = field(init=False)
    order: list[list[int]] = field(init=False)

    def __post_init__(self) -> None:
        self.near = bitmasks_of_fast_linked_groups(self.merged, self.counts, self.least)
        self.most = most_of_each_group_in_link_clique(self.merged, self.counts, self.least)
        self.chosen = [0] * len(self.counts)
        self.order = [
            sorted(range(len(row)), key=row.__getitem__, reverse=True)
            for row in self.merged.weights
        ]

    def run(self, size: int) -> None:
        """Choose ``size`` devices."""
        present = [i for i, count in enumerate(self.counts) if count]
        self._grow(size, 0, present, [0] * len(self.counts))

    def _grow(self, left: int, total: int, groups: list[int], gain: list[int]) -> None:
        """Choose ``left`` more devices out of the groups.

        Args:
            left: How many devices are still to be chosen.
            total: Pair sum of the devices chosen.
            groups: Undecided groups whose pairs with all chosen devices are fast.
            gain: For each group, the sum of one of its devices' pairs with the chosen devices.

        """
        if left == 0:
            self._record(total)
            return
        room = [0] * len(self.counts)
        for i in groups:
            room[i] = min(self.most[i], left)
        if sum(room) < left:
            return
        scores = sorted(((self._score(i, left, room, gain), i) for i in groups), reverse=True)
        bound = 2 * total + _top(scores, room, left)
        if bound < 2 * self.best or (bound == 2 * self.best and not self.ties):
            return
        pick = scores[0][1]
        row = self.merged.weights[pick]
        others = [i for i in groups if i != pick]
        for count in range(room[pick], -1, -1):
            self.chosen[pick] = count
            near = [i for i in others if self.near[pick] >> i & 1] if count else others
            self._grow(
                left - count,
                total + count * gain[pick] + number_of_device_pairs(count) * row[pick],
                near,
                [g + count * w for g, w in zip(gain, row, strict=True)],
            )

    def _score(self, i: int, left: int, room: list[int], gain: list[int]) -> int:
        """Return an upper bound on twice what a device adds; both ends share an open pair."""
        row, score, partners = self.merged.weights[i], 2 * gain[i], left - 1
        for j in self.order[i]:
            others = room[j] - 1 if j == i else room[j]
            if others >= partners:
                return score + partners * row[j]
            score += others * row[j]
            partners -= others
        return score

    def _record(self, total: int) -> None:
        if total > self.best:
            self.best = total
            self.found.clear()
        if self.ties and total == self.best:
            self.found.append(tuple(self.chosen))


def _top(scores: list[tuple[int, int]], room: list[int], left: int) -> int:
    """Return the sum of the ``left`` best scores; each device has the score of its group."""
    bound = 0
    for score, i in scores:
        taken = min(room[i], left)
        bound += taken * score
        left -= taken
    return bound
