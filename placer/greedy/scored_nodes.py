"""Nodes with a scorer: what it says of places on them, in the form in which rankings keep costs."""

from collections.abc import Hashable, Sequence

import numpy as np

from placer.greedy.columns import Indices, Mask, Numbers
from placer.greedy.free_nodes import (
    FreeAmountColumns,
    are_all_gpu_shares_in_percent,
    pod_ask_of_shape,
)
from placer.greedy.scorer import ANY_GPU, NodeScorer, NodeScorerWithKinds
from placer_models.device import GPU
from placer_models.problem.node_state import NodeState
from placer_models.problem.problem import Shape


class NodeTableScorer:
    """The scorer of a table, and the columns that it looks at.

    Attributes:
        scorer: The scorer.

    """

    def __init__(self, scorer: NodeScorer, nodes: Sequence[NodeState], memory_unit: int) -> None:
        """Write down what the nodes have left, whose memory is in units of so many bytes."""
        self.scorer = scorer
        self._columns = FreeAmountColumns(nodes, memory_unit)

    @property
    def epoch(self) -> Hashable:
        """What the scores depend on beside the nodes themselves."""
        return self.scorer.epoch(self._columns.free)

    @property
    def kinds(self) -> Indices | None:
        """What tells nodes with as much left apart (`NodeScorerWithKinds`); None: anything."""
        return self.scorer.kinds if isinstance(self.scorer, NodeScorerWithKinds) else None

    def write(self, at: int, node: NodeState) -> None:
        """Note what is left on a node now."""
        self._columns.write(at, node)

    def scores(self, shape: Shape, nodes: Indices, fits: Mask) -> tuple[Mask, Numbers, Numbers]:
        """Return which nodes are candidates, what a place there costs, and on which GPU it is.

        Args:
            shape: What a pod asks for.
            nodes: The nodes that are asked about.
            fits: Which of them could, by their sums, host the pod.

        """
        free, ask = self._columns.free, pod_ask_of_shape(shape, self._columns.memory_unit)
        costs: Numbers = np.zeros(len(nodes), dtype=np.int64)
        gpus: Numbers = np.full(len(nodes), ANY_GPU, dtype=np.int64)
        if ask.gpus and not shape.at_least and are_all_gpu_shares_in_percent(shape):
            enough = free.gpu_milli[nodes] >= max(1, ask.gpu_milli)
            fits = fits & (np.add.reduce(enough, axis=1) >= ask.gpus)
        (at,) = fits.nonzero()
        if at.size:
            found = self.scorer.score(ask, free, nodes[at])
            costs[at] = -found.scores
            if found.gpus is not None and ask.is_share and _leaves_open(shape):
                gpus[at] = found.gpus
        return fits, costs, gpus


def _leaves_open(shape: Shape) -> bool:
    """Return whether the pod itself does not say which of the GPUs that fit it would like."""
    return all(need.choice is None for need in shape.shares if need.type == GPU)
