"""What every node offers to the pods of one shape, kept up to date as nodes change."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from placer.greedy.chooser import Price
from placer.greedy.residual import Inside


class Bid(NamedTuple):
    """What a node in some state offers to a pod of some shape.

    Attributes:
        price: What it costs in the tiers.
        spare: What would be left on the node; the least is the fullest node.
        inside: The place.
        state: The state in which it leaves the node.

    """

    price: Price
    spare: int
    inside: Inside
    state: int


class Ranking:
    """The nodes as pods of one shape see them: one column of costs a node.

    Attributes:
        seen: How many changes of nodes the ranking knows of.

    """

    def __init__(self, nodes: int, seen: int) -> None:
        """Begin with no node that fits."""
        self._fits: NDArray[np.bool_] = np.zeros(nodes, dtype=np.bool_)
        self._costs: NDArray[np.int64] = np.zeros((len(Price._fields) + 1, nodes), dtype=np.int64)
        self.seen = seen

    def put(self, node: int, bid: Bid | None) -> None:
        """Write down what a node offers now."""
        self._fits[node] = bid is not None
        if bid is not None:
            self._costs[:, node] = (*bid.price, bid.spare)

    def best(self, allowed: NDArray[np.bool_] | None = None) -> int | None:
        """Return the cheapest node, the first of equals; None: no node has a place.

        Args:
            allowed: The nodes that may be taken; None: all.

        """
        nodes = np.flatnonzero(self._fits if allowed is None else self._fits & allowed)
        if not nodes.size:
            return None
        for costs in self._costs:
            if nodes.size == 1:
                break
            mine = costs[nodes]
            nodes = nodes[mine == mine.min()]
        return int(nodes[0])
