"""Columns of what nodes have left, one number for each node, kept from one solve to the next."""

from collections.abc import Callable, Hashable

import numpy as np
from numpy.typing import NDArray

from placer_models.recent import RecentlyUsedCache

LeftColumn = NDArray[np.int64]
"""One number for each node."""

MOST_COLUMNS = 64
"""How many columns are kept at a time."""

MOST_LEFT = 2**62
"""Whoever has more left of something, as where nothing limits it, counts as having so much."""


class AmountLeftColumnsCache:
    """The columns asked for last, in which only nodes that changed since are counted anew."""

    def __init__(self) -> None:
        """Begin with no column."""
        self._columns = RecentlyUsedCache[Hashable, tuple[LeftColumn, int]](MOST_COLUMNS)

    def clear(self) -> None:
        """Forget all columns: the nodes are others."""
        self._columns.clear()

    def of(
        self, what: Hashable, left_on: Callable[[int], int], nodes: int, changed: list[int]
    ) -> LeftColumn:
        """Return a column; nobody may write to it.

        Args:
            what: What it holds.
            left_on: Returns a node's number, by the index of the node.
            nodes: How many nodes there are.
            changed: The nodes that have changed since `clear`, in that order, some of them again.

        """

        def counted() -> tuple[LeftColumn, int]:
            numbers = [min(MOST_LEFT, left_on(node)) for node in range(nodes)]
            return np.array(numbers, dtype=np.int64), len(changed)

        column, seen = self._columns.of(what, counted)
        for node in sorted(set(changed[seen:])):
            column[node] = min(MOST_LEFT, left_on(node))
        self._columns[what] = column, len(changed)
        return column
