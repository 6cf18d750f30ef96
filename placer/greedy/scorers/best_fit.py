"""Best fit: the node that has the least left once the pod is there.

As in the evaluation of FGD (USENIX ATC '23): half the CPUs left and half the GPUs left, each as a
part of what the largest node has.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from placer.greedy.columns import Indices
from placer.greedy.scorer import NodeScores, ScorerNodeColumnsLeft, ScorerPodAsk
from placer.greedy.scorers.largest import MaxNodeCapacity
from placer_models.cluster import Node


@dataclass(frozen=True, slots=True)
class BestFitScoring:
    """Best fit."""

    def on(self, nodes: Sequence[Node]) -> "_BestFit":
        """Return a scorer for the nodes."""
        return _BestFit.of(nodes)


@dataclass(frozen=True, slots=True)
class _BestFit(MaxNodeCapacity):
    """Best fit on nodes of which the largest are known."""

    def score(self, ask: ScorerPodAsk, free: ScorerNodeColumnsLeft, nodes: Indices) -> NodeScores:
        """Return 100 less what is left on average, in percent of the largest node."""
        cpu = free.cpu_milli[nodes] - ask.cpu_milli
        gpu = np.add.reduce(free.gpu_milli[nodes], axis=1) - ask.gpus * ask.gpu_milli
        left = 0.5 * cpu / self.cpu_milli + 0.5 * gpu / self.gpu_milli
        return NodeScores(((1 - left) * 100).astype(np.int64))
