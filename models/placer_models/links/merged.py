"""Merged boards: a board seen through its links alone, classes that they treat alike merged.

NUMA nodes and switches tell classes apart that links do not. Eight GPUs behind one
NVSwitch on four NUMA nodes are four classes, but for bandwidth they are one.
"""

from dataclasses import dataclass
from functools import lru_cache

from placer_models.links.board import LinkedDeviceClasses, equivalence_classes


@dataclass(frozen=True, slots=True)
class MergedLinkedDeviceClasses:
    """Groups of classes, and the weights between and inside groups.

    Attributes:
        groups: For each group, the indices of the board's classes in it.
        weights: Row a, column b: the weight between a device of group a and one of group b;
            on the diagonal, between two devices of the same group.

    """

    groups: tuple[tuple[int, ...], ...]
    weights: tuple[tuple[int, ...], ...]

    def counts(self, of_classes: tuple[int, ...]) -> tuple[int, ...]:
        """Return counts per class as counts per group."""
        return tuple(sum(of_classes[i] for i in group) for group in self.groups)


@lru_cache(maxsize=4096)
def classes_merged_by_equal_bandwidth(board: LinkedDeviceClasses) -> MergedLinkedDeviceClasses:
    """Merge the classes that have equal bandwidths; weights are centi GB/s."""
    return _merge(board, board.across)


@lru_cache(maxsize=16384)
def classes_merged_by_speed(board: LinkedDeviceClasses, least: int) -> MergedLinkedDeviceClasses:
    """Merge the classes that the graph of pairs of ``least`` centi GB/s or more treats alike.

    Weights are 1 for such a pair and 0 for a slower one.
    """
    return _merge(board, tuple(tuple(int(w >= least) for w in row) for row in board.across))


def _merge(
    board: LinkedDeviceClasses, weights: tuple[tuple[int, ...], ...]
) -> MergedLinkedDeviceClasses:
    # Two devices stand for each larger class, so that its inner weight is compared, too.
    owner = [i for i, size in enumerate(board.sizes) for _ in range(min(size, 2))]
    rows = [[weights[a][b] for b in owner] for a in owner]
    members = equivalence_classes(rows, [None] * len(owner))
    return MergedLinkedDeviceClasses(
        groups=tuple(tuple(dict.fromkeys(owner[i] for i in group)) for group in members),
        weights=tuple(
            tuple(
                rows[g[0]][h[0]] if g is not h else rows[g[0]][g[1]] if len(g) > 1 else 0
                for h in members
            )
            for g in members
        ),
    )
