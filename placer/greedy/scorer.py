"""The contract of node scorers: which node, and which of its GPUs, is the best for the next pod.

A scorer takes the place of the node strategy in the greedy path's choice, and of nothing else:
what tiers before the strategy count still comes first, among nodes that are equal in them the
greatest score wins, and among equal scores the first node in the order of the Problem (a
Scheduler's nodes are ascending by name). A scorer is asked only about pods that are placed one by
one; a gang that is gathered or that asks for levels of the network goes by the strategy.

To add one, write a `NodeScoringMethod`, whose ``on`` makes a `NodeScorer` for the nodes of a
cluster, and name it in `SolveOptions.scoring` (or let `placer.search.scored` choose it).
"""

from collections.abc import Hashable, Sequence
from typing import NamedTuple, Protocol, runtime_checkable

from placer.greedy.columns import Indices, Numbers
from placer_models.cluster import Node
from placer_models.records import record

ANY_GPU = -1
"""Stands for a GPU where the scorer leaves the choice to Placer: the fullest that fits."""


class ScorerPodAsk(NamedTuple):
    """What a pod asks for, as scorers see it.

    Attributes:
        cpu_milli: Of the shared pool, or by id.
        gpus: How many GPUs, whole or in part.
        gpu_milli: How much of each of them, in 1/1000; 0 if it asks for none.

    """

    cpu_milli: int
    memory_bytes: int
    gpus: int
    gpu_milli: int

    @property
    def is_share(self) -> bool:
        """Whether it asks for a part of one GPU, so that it matters which one."""
        return self.gpus == 1 and self.gpu_milli < 1000


@record(frozen=True, slots=True)
class ScorerNodeColumnsLeft:
    """What all nodes have left at this moment, column by column; scorers only read it.

    Columns have one entry for each node in the order of the Problem, which is that of the nodes
    that `NodeScoringMethod.on` was given.

    Attributes:
        cpu_milli: What may still be asked of the shared pool.
        memory_bytes: Memory.
        gpu_milli: gpu_milli[node, gpu]: what is left of each GPU, in 1/1000; 0 where nothing is
            left, or there is none. They stand in the order of their equivalence classes (one class
            on most machines), then of their minors.

    """

    cpu_milli: Numbers
    memory_bytes: Numbers
    gpu_milli: Numbers


class NodeScores(NamedTuple):
    """What a scorer says of some nodes.

    Attributes:
        scores: One integer for each of them; the greatest is the best.
        gpus: For each the GPU, as a position in a row of ``gpu_milli``, on which a pod with
            `ScorerPodAsk.is_share` should go, or `ANY_GPU`. None: `ANY_GPU` everywhere. If the GPU
            cannot take the pod after all (its memory may be short), any may.

    """

    scores: Numbers
    gpus: Numbers | None = None


class NodeScorer(Protocol):
    """Scores places on the nodes of one cluster. Only one thread uses it at a time."""

    def epoch(self, free: ScorerNodeColumnsLeft) -> Hashable:
        """Return what scores depend on beside the pod and the node itself.

        It is asked for each pod before nodes are chosen from. While the answer is the same, the
        score of a place may depend on the ask, on what its node has left, and on facts of
        the node (its labels) alone: only nodes that changed are scored anew. When it differs,
        as where prices follow from all nodes together, all nodes are.
        """

    def score(self, ask: ScorerPodAsk, free: ScorerNodeColumnsLeft, nodes: Indices) -> NodeScores:
        """Return the scores of places for one more pod.

        Args:
            ask: What the pod asks for.
            free: All nodes.
            nodes: Those that are candidates, at least one: by their sums, and by what is free of
                their GPUs, each could take the pod.

        """


@runtime_checkable
class NodeScorerWithKinds(Protocol):
    """A `NodeScorer` that tells which nodes are alike to it: those are scored once, not each."""

    @property
    def kinds(self) -> Indices:
        """A number from 0 on for each node; nodes with one number and as much left score alike."""


@runtime_checkable
class NodeScoringMethod(Protocol):
    """A way to score nodes, as a value: what a scorer needs to know beside the nodes."""

    def on(self, nodes: Sequence[Node]) -> NodeScorer:
        """Return a scorer for the nodes of a cluster.

        It is kept for later batches while the scoring is equal (it has to be hashable) and
        the nodes are the same. So no score may depend on what it was asked before, or a batch
        would not repeat.
        """
