"""The scorer of strategy `expected`: nodes that lose little of their worth to expected pods."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from placer.greedy.columns import Indices, Numbers
from placer.greedy.expected.arrays import ExpectedDemandArrays, LeftOnNodesForExpectedDemand
from placer.greedy.expected.loading import is_compiled_worth_loading, load_compiled_scores
from placer.greedy.expected.plain_scores import UncompiledWorthLossCalculator
from placer.greedy.scorer import NodeScores, ScorerNodeColumnsLeft, ScorerPodAsk
from placer_models.cluster import Node, NodesWithCachedFacts
from placer_models.demand import ExpectedDemand
from placer_models.expected import admitted_shape_mask_of_each_node


class WorthLossCalculator(Protocol):
    """Losses of worth on the nodes of a cluster, by compiled code or without it."""

    def set_prices(self, prices: tuple[int, ...]) -> None:
        """Let other prices hold."""

    def lost(
        self, ask: ScorerPodAsk, lefts: LeftOnNodesForExpectedDemand, nodes: Indices
    ) -> tuple[Numbers, Indices]:
        """Return the steps of worth that places on nodes cost, and the GPU of each."""


@dataclass(frozen=True, slots=True)
class ExpectedScoring:
    """Scoring by what nodes lose of their worth to expected pods.

    Attributes:
        demand: The expected pods, without prices: a scorer is told these as they change.

    """

    demand: ExpectedDemand

    def on(self, nodes: Sequence[Node]) -> "ExpectedScorer":
        """Return a scorer for the nodes."""
        return ExpectedScorer(
            self.demand,
            nodes if isinstance(nodes, NodesWithCachedFacts) else NodesWithCachedFacts(nodes),
        )


class ExpectedScorer:
    """Scores of the nodes of a cluster; the more a place costs, the lower its score."""

    def __init__(self, demand: ExpectedDemand, nodes: NodesWithCachedFacts) -> None:
        """Note which shapes may come to which nodes; there are no prices yet."""
        self._demand = demand
        rows: dict[tuple[bool, ...], int] = {}
        of_nodes = [
            rows.setdefault(row, len(rows))
            for row in admitted_shape_mask_of_each_node(demand, nodes)
        ]
        self._open = list(rows)
        self._rows: Indices = np.array(of_nodes, dtype=np.intp)
        self._prices = (0,) * len(demand.shapes)
        self._scores: WorthLossCalculator = UncompiledWorthLossCalculator(
            demand, self._open, self._rows, self._prices
        )
        self._is_compiled = False
        self._no_memory: Numbers = np.zeros(len(nodes), dtype=np.int64)

    @property
    def kinds(self) -> Indices:
        """For each node, the number of the shapes that may come there."""
        return self._rows

    def prepare(self, prices: tuple[int, ...], left_s: float) -> None:
        """Let these prices hold, and load compiled scores if nodes and seconds make it worth."""
        if prices != self._prices:
            self._prices = prices
            self._scores.set_prices(prices)
        if self._is_compiled or not is_compiled_worth_loading(len(self._rows), left_s):
            return
        self._is_compiled = True  # Or it cannot be, which is not tried again.
        compiled: Callable[..., WorthLossCalculator] | None = load_compiled_scores()
        if compiled is not None:
            arrays = ExpectedDemandArrays.of(self._demand)
            open_ = np.array(self._open, dtype=np.bool_)
            self._scores = compiled(arrays, open_, self._rows, prices)

    def epoch(self, free: ScorerNodeColumnsLeft) -> Hashable:
        """Return the prices."""
        return self._prices

    def score(self, ask: ScorerPodAsk, free: ScorerNodeColumnsLeft, nodes: Indices) -> NodeScores:
        """Return the steps that are lost, below zero, and for a share the GPU where they are."""
        memory = free.memory_bytes
        if not self._demand.looks_at_memory:
            ask, memory = ask._replace(memory_bytes=0), self._no_memory
        lefts = LeftOnNodesForExpectedDemand(free.cpu_milli, memory, free.gpu_milli)
        lost, gpus = self._scores.lost(ask, lefts, nodes)
        return NodeScores(-lost, gpus if ask.is_share else None)
