"""Nodes are mended: where pods fit by the sums alone, one of them is exchanged for another.

Few pods find no place on the node where exchanges want them. For each of these nodes one
exchange with another node is looked for after which both nodes hold what they have by
every rule. Sums rule out nearly all exchanges; the others are tried.
"""

from collections.abc import Callable, Set

import numpy as np
from numpy.typing import NDArray

from placer.search.exchanges.on_nodes import ExchangeGreedyPodPlacer, OnNodes
from placer.search.exchanges.room_columns import ExchangeCapacityLeftColumns
from placer.search.exchanges.sweeps import Loads

MOST_TRIED = 300
"""The most exchanges that are tried for one pod."""

MOST_NODES = 64
"""The most other nodes to which a pod is given in exchange for one of theirs."""

TRIAL = 1_000
"""How many exchanges looked at by `swaps` cost as much as laying the pods of one node."""

NOBODY = -1
"""Stands for a gap: the other node gives nothing back."""


class ExchangePlacementRepairer:
    """The pods on all nodes, while nodes are mended."""

    def __init__(
        self,
        columns: ExchangeCapacityLeftColumns,
        layer: ExchangeGreedyPodPlacer,
        thing_of: Callable[[int], int],
        rng: np.random.Generator,
        stop: Callable[[int], bool],
    ) -> None:
        """Begin with no pods.

        Args:
            columns: The room on the nodes.
            layer: What lays pods.
            thing_of: Returns the shape of a pod.
            rng: Draws the order in which exchanges are tried.
            stop: Asked now and then whether the time is over, as in `exchange_until_all_fit`.

        """
        self._columns = columns
        # The last row is that of a gap.
        self._sizes = np.pad(columns.sizes, ((0, 1), (0, 0)))
        self._barred = np.pad(columns.barred, ((0, 1), (0, 0)))
        self._loads: Loads = np.zeros_like(columns.room)
        self._layer = layer
        # Pods of different roles change what others have in their domain. A gap has none.
        self._roles = np.append(layer.rules.roles(len(columns.sizes)), 0)
        self._thing_of = thing_of
        self._rng = rng
        self._stop = stop

    def mend(self, wanted: OnNodes, may_go: Set[int]) -> tuple[OnNodes, list[int]]:
        """Return the pods on nodes by every rule, and those that find no place so.

        Args:
            wanted: Who is to be where; in any order.
            may_go: Pods that rather lose their places than others.

        """
        self._on: OnNodes = {}
        self._loads[:] = 0.0
        failed: list[tuple[int, int]] = []
        for node, pods in wanted.items():
            if self._stop(TRIAL):
                failed += ((node, pod) for pod in pods)
                continue
            order, without = self._layer.ordered(node, pods)
            self._put(node, order)
            failed += ((node, pod) for pod in without)
        lost: list[int] = []
        for at, (node, pod) in enumerate(failed):
            if self._stop(TRIAL):
                # Each look would cost the listing of all pods, to no avail.
                lost += (late for _, late in failed[at:])
                break
            others = [m for m in self._rng.permutation(len(self._loads)).tolist() if m != node]
            if not any(self._exchanged(m, pod) for m in (node, *others[:MOST_NODES])):
                lost.append(pod if pod in may_go else self._instead(node, pod, may_go))
        return self._on, lost

    def _put(self, node: int, order: list[int]) -> None:
        self._on[node] = order
        shapes = [self._thing_of(pod) for pod in order]
        self._loads[node] = self._columns.sizes[shapes].sum(axis=0)

    def _instead(self, node: int, pod: int, may_go: Set[int]) -> int:
        """Lay the pod on the node in place of one that may go; return who has no place then."""
        on = self._on.get(node, [])
        for other in on:
            if other in may_go:
                order, without = self._layer.ordered(node, [pod, *(p for p in on if p != other)])
                if not without:
                    self._put(node, order)
                    return other
        return pod

    def _exchanged(self, node: int, pod: int) -> bool:
        """Find an exchange by which the node has the pod, or gives another one away for it."""
        columns, on = self._columns, self._on
        here = [*on.get(node, ()), pod]
        far = [(m, p) for m, pods in on.items() if m != node for p in pods]
        far += [(m, NOBODY) for m in range(len(columns.room)) if m != node]
        if not far or self._stop(len(here) * len(far)):
            return False
        fits = self._by_sums(node, here, far)
        give, take = np.nonzero(fits)
        for index in self._rng.permutation(len(give))[:MOST_TRIED].tolist():
            if self._stop(2 * TRIAL):
                return False
            given = here[give[index]]
            other, taken = far[take[index]]
            mine = [p for p in here if p != given]
            theirs = [*(p for p in on.get(other, ()) if p != taken), given]
            if taken != NOBODY:
                mine.append(taken)
            order, without = self._layer.ordered(node, mine)
            if without:
                continue
            other_order, without = self._layer.ordered(other, theirs)
            if not without:
                self._put(node, order)
                self._put(other, other_order)
                return True
        return False

    def _by_sums(self, node: int, here: list[int], far: list[tuple[int, int]]) -> NDArray[np.bool_]:
        """Return, for each pod here and each elsewhere, whether sums allow their exchange."""
        columns, sizes, barred = self._columns, self._sizes, self._barred
        mine = np.array([self._thing_of(pod) for pod in here])
        theirs = np.array([self._thing_of(p) if p != NOBODY else -1 for _, p in far])
        others = np.array([m for m, _ in far])
        gain = sizes[theirs][None, :, :] - sizes[mine][:, None, :]
        home = columns.room[node] - sizes[mine].sum(axis=0)
        fits: NDArray[np.bool_] = (gain <= home).all(axis=2)
        fits &= (-gain <= (columns.room - self._loads)[others][None, :, :]).all(axis=2)
        fits &= self._roles[mine][:, None] == self._roles[theirs][None, :]
        fits &= ~barred[theirs, columns.kinds[node]][None, :]
        fits &= ~barred[mine][:, columns.kinds[others]]
        return fits
