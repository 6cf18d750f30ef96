"""A cache of the fast path: what it keeps of earlier batches, on the same nodes."""

from collections.abc import Hashable

from placer.greedy.node_table import GreedyNodeTable, node_table_reuse_key
from placer.greedy.scorer import NodeScorer, NodeScoringMethod
from placer_models.cluster import Node
from placer_models.problem.problem import Problem
from placer_models.recent import RecentlyUsedCache

MOST_TABLES = 16
"""How many tables are kept at a time, each with terms of its own."""

MOST_REMEMBERED = 64
"""How many bids, bounds, states and changes a kept table may remember for each of its nodes and
of 1,000 more. Rankings are few (``MOST_RANKINGS``)."""

MOST_SCORERS = 4
"""How many scorers are kept at a time."""


class GreedyCache:
    """The tables and the scorers of earlier batches, for batches to come.

    No answer depends on it. For one thread at a time.
    """

    def __init__(self) -> None:
        """Begin with nothing."""
        self._tables: dict[Hashable, GreedyNodeTable] = {}
        self._scorers = RecentlyUsedCache[NodeScoringMethod, tuple[tuple[Node, ...], NodeScorer]](
            MOST_SCORERS
        )

    def table_of(self, problem: Problem) -> GreedyNodeTable:
        """Return the table of the problem, as good as new.

        It is out of the cache until `keep`, so that no table stays that failed half-way.
        """
        table = self._tables.pop(node_table_reuse_key(problem), None)
        if table is None:
            return GreedyNodeTable(problem)
        table.turn_to(problem)
        return table

    def keep(self, table: GreedyNodeTable) -> None:
        """Take a table back, unless it has grown too large."""
        if table.size > MOST_REMEMBERED * (len(table.problem.nodes) + 1_000):
            return
        while len(self._tables) >= MOST_TABLES:
            del self._tables[next(iter(self._tables))]
        self._tables[table.terms] = table

    def scorer_of(self, scoring: NodeScoringMethod, nodes: tuple[Node, ...]) -> NodeScorer:
        """Return the scorer for nodes, which a Scheduler keeps as one object while they stay."""
        known = self._scorers.get(scoring)
        if known is not None and known[0] is not nodes:
            del self._scorers[scoring]
        return self._scorers.of(scoring, lambda: (nodes, scoring.on(nodes)))[1]
