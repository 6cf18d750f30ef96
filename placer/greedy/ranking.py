"""Rankings: what each node offers to pods of one shape, kept up to date as nodes change."""

from collections.abc import Hashable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from placer.greedy.columns import Indices, Numbers
from placer.greedy.offer import BY_STRATEGY, WIDTH, PlacePrice
from placer.greedy.scorer import ANY_GPU
from placer_models.problem.problem import Choice


class NodeStateBid(NamedTuple):
    """What a node in some state offers to a pod of some shape.

    Attributes:
        price: What the place costs in the tiers.
        choice: The place, on no node yet.
        state: The state in which the place leaves the node, not counting ``near`` of the
            choice.

    """

    price: PlacePrice
    choice: Choice
    state: int


FEW = 8
"""Of so many changed nodes it is looked up whether one of them has become the first."""


class ShapeNodeRanking:
    """The nodes as pods of one shape see them: one column of costs per node.

    The costs of a node that was not looked into since it changed are a bound.

    Attributes:
        seen: How many changes of nodes the ranking knows of.
        epoch: The epoch of the scorer (`NodeScorer.epoch`) that the ranking knows of.

    """

    def __init__(self, nodes: int, epoch: Hashable = None) -> None:
        """Begin with no node that fits."""
        self.epoch = epoch
        self._gpus: Numbers | None = None
        self._fits: NDArray[np.bool_] = np.zeros(nodes, dtype=np.bool_)
        self._sure: NDArray[np.bool_] = np.zeros(nodes, dtype=np.bool_)
        self._costs: Numbers = np.zeros((WIDTH + 1, nodes), dtype=np.int64)
        self._telling: list[int] = []
        self._first: int | None = None
        self.seen = 0

    def expect(self, nodes: Indices, fits: NDArray[np.bool_], costs: Numbers) -> None:
        """Write down what nodes offer at best.

        Args:
            nodes: The nodes.
            fits: For each of them, whether it may have a place.
            costs: costs[i, node]: what a place there costs at least.

        """
        if self._first is not None:
            self._first = self._still_first(self._first, nodes, fits, costs)
        self._fits[nodes] = fits
        self._sure[nodes] = False
        self._costs[:, nodes] = costs
        self._tell(np.logical_or.reduce(costs, axis=1))

    def expect_alike(
        self, of: Indices, fits: NDArray[np.bool_], costs: Numbers, gpus: Numbers | None
    ) -> None:
        """Write down what all nodes offer at best, where nothing is written yet.

        Args:
            of: The number of each node's group; nodes of a group are alike to the pods.
            fits: For each group, whether its nodes may have a place.
            costs: costs[i, group]: what a place there costs at least.
            gpus: For each group, as in `expect_gpus`; None: no scorer says so.

        """
        self._fits = fits[of]
        self._tell(np.logical_or.reduce(costs, axis=1))
        for position in self._telling:
            self._costs[position] = costs[position][of]
        if gpus is not None:
            self._gpus = gpus[of]

    def expect_gpus(self, nodes: Indices, gpus: Numbers) -> None:
        """Write down on which GPU of each of the nodes a scorer wants the pod."""
        if self._gpus is None:
            self._gpus = np.full(len(self._fits), ANY_GPU, dtype=np.int64)
        self._gpus[nodes] = gpus

    def gpu_on(self, node: int) -> int:
        """Return on which GPU of the node the pod should go, if a scorer says so."""
        return ANY_GPU if self._gpus is None else int(self._gpus[node])

    def like(self, node: int, nodes: Indices) -> Indices:
        """Return those of the nodes where the pod should go on the same GPU as on one of them."""
        return nodes if self._gpus is None else nodes[self._gpus[nodes] == self._gpus[node]]

    def put(self, nodes: Indices, cost: tuple[int, ...] | None) -> bool:
        """Write down the true cost of a place on nodes in one state, or None if there is none.

        The last part of a cost is what is spare afterwards: it is least on the fullest node.
        With a scorer its part of a cost, and what is spare, stay as they were expected.

        Returns:
            Whether they cost exactly what was written, so that the first node stays first.

        """
        self._sure[nodes] = True
        if cost is None:
            self._fits[nodes], self._first = False, None
            return False
        costs = np.array(cost, dtype=np.int64)[:, np.newaxis]
        if self._gpus is not None:
            costs = costs.repeat(len(nodes), axis=1)
            costs[BY_STRATEGY:] = self._costs[BY_STRATEGY:, nodes]
        if self._fits[nodes].all() and (self._costs[:, nodes] == costs).all():
            return True
        if self._first is not None:
            each = np.broadcast_to(costs, (len(cost), len(nodes)))
            self._first = self._still_first(self._first, nodes, None, each)
        self._fits[nodes] = True
        self._costs[:, nodes] = costs
        self._tell(np.logical_or.reduce(costs, axis=1))
        return False

    def is_sure(self, node: int) -> bool:
        """Return whether a place on the node costs exactly what is written."""
        return bool(self._sure[node])

    def first(self, allowed: NDArray[np.bool_] | None = None) -> int | None:
        """Return the cheapest node as written, or None if no node has a place.

        Of equal nodes it is the first. If it is sure, it is the best of all, because no place
        costs less than its bound.

        Args:
            allowed: The nodes that may be taken; None: all.

        """
        if allowed is None and self._first is not None:
            return self._first
        (nodes,) = (self._fits if allowed is None else self._fits & allowed).nonzero()
        if not nodes.size:
            return None
        for position in self._telling:
            if nodes.size == 1:
                break
            mine = self._costs[position, nodes]
            nodes = nodes[mine == np.minimum.reduce(mine)]
        first = int(nodes[0])
        if allowed is None:
            self._first = first
        return first

    def _still_first(
        self, first: int, nodes: Indices, fits: NDArray[np.bool_] | None, costs: Numbers
    ) -> int | None:
        """Return the first node once some cost what is given, or None where one has to look.

        Pods of a gang fill one node after the other, and each of them changes one node alone.
        """
        if len(nodes) > FEW:
            return None
        cost = self._costs[:, first].tolist()
        for at, node in enumerate(nodes.tolist()):
            mine = costs[:, at].tolist()
            fit = fits is None or fits[at]
            if node == first:
                if not fit or mine > cost:
                    return None
                cost = mine
            elif fit and (mine, node) < (cost, first):
                first, cost = node, mine
        return first

    def _tell(self, positions: NDArray[np.bool_]) -> None:
        """Note the positions in costs where nodes may differ: those that are not zero for all."""
        more = set(positions.nonzero()[0].tolist()).difference(self._telling)
        if more:
            self._telling = sorted(more.union(self._telling))
