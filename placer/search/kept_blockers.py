"""Blockers kept from earlier solves on a cluster: they hold on a node until it changes.

A scheduler is asked for the same pods again and again, and between two calls few nodes change.
So the reasons of a pod that is refused once more are looked into on those nodes only.
"""

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable

import numpy as np
from numpy.typing import NDArray

from placer.counting.account import Account
from placer.search.left_columns import AmountLeftColumnsCache, LeftColumn
from placer.state.out_of_time import Stop, raise_if_out_of_time
from placer.state.requirements import PodRequirements
from placer_models.cluster import Node
from placer_models.incremental import PersistentTuple, changed_indices
from placer_models.reasons import Blocker
from placer_models.recent import RecentlyUsedCache

NODES_AT_ONCE = 64
"""How many nodes are looked at from one look at the clock to the next, where that costs little."""

MOST_ASKS = 64
"""How many asks are kept at a time, however many nodes there are."""

MOST_NUMBERS, MOST_ASKS_OF_FEW = 1_000_000, 1_000
"""More asks are kept while their columns, with a number for each node, have no more numbers than
this together, at 4 bytes each; and how many are kept then at most."""

MOST_CHANGES = 16
"""How many changes for each node are noted before all that is kept is forgotten."""

MOST_KINDS = 16
"""For so many ways to tell nodes apart by kind the numbers of kinds are kept."""

MANY = 16
"""From so many nodes of which nothing is known on, columns are looked at before single nodes."""

NodeIndices = NDArray[np.intp]
"""Indices of nodes."""

OverNodes = Counter[Blocker] | int
"""What blocks an ask, and on how many nodes; or the index of the first node with a place."""

LookAtMany = Callable[[NodeIndices], Iterable[tuple[Blocker, NodeIndices]]]
"""Yields what blocks an ask on some of many nodes, with these."""

_NOT_KNOWN = -2
_HAS_PLACE = -1


class AskBlockerByNode:
    """What blocks one ask, node by node, as far as anybody has looked."""

    def __init__(self, nodes: int, changes: int) -> None:
        """Begin with nothing known, after so many changes of nodes."""
        self.changes = changes
        self._numbers: NDArray[np.int32] = np.full(nodes, _NOT_KNOWN, dtype=np.int32)
        self._number_of: dict[Blocker, int] = {}

    def forget(self, nodes: list[int]) -> None:
        """Forget what is known of some nodes."""
        self._numbers[nodes] = _NOT_KNOWN

    def but_for(self, nodes: Collection[int], look_at_many: LookAtMany) -> "AskBlockerByNode":
        """Return what is known of the ask, but for some nodes, which are not as they were.

        Args:
            nodes: These nodes.
            look_at_many: As in `count`; it is asked about the others of which nothing is known.

        """
        (unknown,) = np.nonzero(self._numbers == _NOT_KNOWN)
        changed = np.array(sorted(nodes), dtype=np.intp)
        self._look_at_many(np.setdiff1d(unknown, changed), look_at_many)
        found = AskBlockerByNode(len(self._numbers), self.changes)
        found._numbers = self._numbers.copy()
        found._number_of = dict(self._number_of)
        found._numbers[changed] = _NOT_KNOWN
        return found

    def count(
        self,
        look: Callable[[int], Blocker | None],
        stop: Stop,
        look_at_many: LookAtMany,
    ) -> Counter[Blocker] | int:
        """Count what blocks the ask over all nodes, or return the first node with a place.

        Args:
            look: Returns what blocks it on a node of which nothing is known.
            stop: Asked now and then whether the time is over.
            look_at_many: Yields what blocks it on some of many nodes, with these: on each of them
                ``look`` would return the same.

        Raises:
            OutOfTimeError: It was over. What is known by then is kept.

        """
        raise_if_out_of_time(stop)
        (free,) = np.nonzero(self._numbers == _HAS_PLACE)
        end = int(free[0]) if free.size else len(self._numbers)
        (unknown,) = np.nonzero(self._numbers[:end] == _NOT_KNOWN)
        if self._look_at_many(unknown, look_at_many):
            (unknown,) = np.nonzero(self._numbers[:end] == _NOT_KNOWN)
        for at, node in enumerate(unknown.tolist()):
            if at % NODES_AT_ONCE == 0:
                raise_if_out_of_time(stop)
            blocker = look(node)
            if blocker is None:
                self._numbers[node] = _HAS_PLACE
                return int(node)
            number = self._number_of.setdefault(blocker, len(self._number_of))
            self._numbers[node] = number
        if free.size:
            return end
        counts = np.bincount(self._numbers)
        firsts = np.full(len(counts), len(self._numbers))
        firsts[self._numbers[::-1]] = np.arange(len(self._numbers))[::-1]  # the last one stays
        blockers = tuple(self._number_of)
        there = np.flatnonzero(counts)
        ordered = there[firsts[there].argsort()].tolist()
        return Counter({blockers[number]: int(counts[number]) for number in ordered})

    def _look_at_many(self, unknown: NodeIndices, look_at_many: LookAtMany) -> bool:
        """Look at nodes of which nothing is known if they are many; return whether they are."""
        if len(unknown) < MANY:
            return False
        for alike, nodes in look_at_many(unknown):
            self._numbers[nodes] = self._number_of.setdefault(alike, len(self._number_of))
        return True


class AskBlockerByNodeCache:
    """The columns of the latest asks that look at nothing beyond a node, beside what runs.

    For one thread at a time.
    """

    def __init__(self) -> None:
        """Begin with nothing."""
        self._nodes: tuple[Node, ...] = ()
        self._accounts: PersistentTuple[Account] = PersistentTuple(())
        self._changed: list[int] = []
        self._columns = RecentlyUsedCache[PodRequirements, AskBlockerByNode](MOST_ASKS)
        self._left = AmountLeftColumnsCache()
        self._on_empty = RecentlyUsedCache[
            tuple[PodRequirements, int], tuple[tuple[Node, ...], OverNodes]
        ](MOST_ASKS_OF_FEW)
        self._kind_numbers = RecentlyUsedCache[int, tuple[tuple[Node, ...], NDArray[np.int64]]](
            MOST_KINDS
        )

    def turn_to(self, nodes: tuple[Node, ...], accounts: PersistentTuple[Account]) -> None:
        """Take note of the nodes as they are now, and of what is left on each."""
        same = self._nodes is nodes and len(self._changed) < MOST_CHANGES * len(nodes)
        if same:
            self._changed += changed_indices(self._accounts, accounts)
        else:
            self._changed.clear()
            self._columns.clear()
            self._columns.most = max(
                MOST_ASKS, min(MOST_ASKS_OF_FEW, MOST_NUMBERS // max(1, len(nodes)))
            )
            self._left.clear()
            self._on_empty.clear()
            self._kind_numbers.clear()
        self._nodes, self._accounts = nodes, accounts

    def of(self, ask: PodRequirements) -> AskBlockerByNode:
        """Return what is known of an ask on the nodes as they are now."""
        column = self._columns.of(
            ask, lambda: AskBlockerByNode(len(self._nodes), len(self._changed))
        )
        column.forget(self._changed[column.changes :])
        column.changes = len(self._changed)
        return column

    def left(self, what: Hashable, left_on: Callable[[int], int]) -> LeftColumn:
        """Return a column of the nodes as they are now, as `AmountLeftColumnsCache.of` does."""
        return self._left.of(what, left_on, len(self._nodes), self._changed)

    def on_empty_nodes(
        self, ask: PodRequirements, kinds: tuple[Node, ...], look: Callable[[], OverNodes]
    ) -> OverNodes:
        """Return what a look at the empty nodes finds for an ask; it is looked at once.

        Args:
            ask: The ask.
            kinds: The kind of each node, as the look tells nodes apart.
            look: Counts what blocks the ask, or finds a node with a place.

        """
        # The kinds stay alive with what was found, so that no others get their id.
        return self._on_empty.of((ask, id(kinds)), lambda: (kinds, look()))[1]

    def kind_numbers(self, kinds: tuple[Node, ...]) -> NDArray[np.int64]:
        """Return a number for the kind of each node: one for all nodes that share an object."""

        def numbered() -> tuple[tuple[Node, ...], NDArray[np.int64]]:
            known: dict[int, int] = {}
            numbers = [known.setdefault(id(kind), len(known)) for kind in kinds]
            return kinds, np.array(numbers, dtype=np.int64)

        # The kinds stay alive with their numbers, so that no others get their id.
        return self._kind_numbers.of(id(kinds), numbered)[1]
