"""Dot product: the node whose free amounts point least where the pod's request points.

As in the evaluation of FGD (USENIX ATC '23), after Tetris: CPUs and GPUs that are left, times those
asked for, each as a part of what the largest node has.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from placer.greedy.columns import Indices
from placer.greedy.scorer import NodeScores, ScorerNodeColumnsLeft, ScorerPodAsk
from placer.greedy.scorers.largest import MaxNodeCapacity
from placer_models.cluster import Node


@dataclass(frozen=True, slots=True)
class DotProductScoring:
    """Dot product."""

    def on(self, nodes: Sequence[Node]) -> "_DotProduct":
        """Return a scorer for the nodes."""
        return _DotProduct.of(nodes)


@dataclass(frozen=True, slots=True)
class _DotProduct(MaxNodeCapacity):
    """Dot product on nodes of which the largest are known."""

    def score(self, ask: ScorerPodAsk, free: ScorerNodeColumnsLeft, nodes: Indices) -> NodeScores:
        """Return 100 less half the dot product, in percent, rounded down."""
        gpu = np.add.reduce(free.gpu_milli[nodes], axis=1)
        cpus = free.cpu_milli[nodes] / self.cpu_milli * (ask.cpu_milli / self.cpu_milli)
        gpus = gpu / self.gpu_milli * (ask.gpus * ask.gpu_milli / self.gpu_milli)
        return NodeScores((100 * (1 - (cpus + gpus) / 2)).astype(np.int64))
