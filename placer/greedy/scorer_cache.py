"""Scorers of earlier batches, for batches to come on the same nodes."""

from placer.greedy.scorer import NodeScorer, NodeScoring
from placer_models.cluster import Node

MOST_SCORERS = 4
"""How many scorers are kept at a time."""


class ScorerCache:
    """Scorers by scoring, each as long as the nodes stay the same. For one thread at a time."""

    def __init__(self) -> None:
        """Begin with no scorer."""
        self._kept: dict[NodeScoring, tuple[tuple[Node, ...], NodeScorer]] = {}

    def of(self, scoring: NodeScoring, nodes: tuple[Node, ...]) -> NodeScorer:
        """Return the scorer for nodes, which a Scheduler keeps as one object while they stay."""
        known = self._kept.pop(scoring, None)
        if known is None or known[0] is not nodes:
            known = nodes, scoring.on(nodes)
            while len(self._kept) >= MOST_SCORERS:
                del self._kept[next(iter(self._kept))]
        self._kept[scoring] = known
        return known[1]
