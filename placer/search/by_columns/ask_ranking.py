"""Rankings of nodes for one ask: what a place costs on each, looked at where it changed."""

from collections.abc import Hashable

import numpy as np

from placer.greedy.columns import Indices, Mask, Numbers
from placer.greedy.free_nodes import MILLI_PER_PERCENT
from placer.greedy.node_rows import first_node_of_each_code
from placer.greedy.scorer import NodeScorer, NodeScorerWithKinds, NodeScores, ScorerPodAsk
from placer.search.by_columns.simple_asks import SimplePodAsk
from placer.search.by_columns.simple_columns import SimpleNodeColumns
from placer_models.demand import WHOLE_MILLI

_NO_PLACE = np.iinfo(np.int64).max

MANY = 256
"""From so many nodes on those that are alike are scored once."""


class SimpleNodeRanking:
    """All nodes as pods with one ask see them.

    Of nodes that cost as little the first one is the best.
    """

    def __init__(self, ask: SimplePodAsk, may: Mask) -> None:
        """Begin with nothing known.

        Args:
            ask: What the pods ask for.
            may: On which nodes they may be at all.

        """
        self._ask, self._may = ask, may
        self._milli = MILLI_PER_PERCENT * ask.gpu_percent
        self._asked = ScorerPodAsk(ask.cpu_milli, ask.memory_bytes, ask.gpus, self._milli)
        self._everywhere: Indices = np.arange(len(may))
        self._keys: Numbers = np.full(len(may), _NO_PLACE, dtype=np.int64)
        self._gpus: Numbers = np.zeros(len(may), dtype=np.int64)
        self.forget()

    def forget(self) -> None:
        """Forget what is known of nodes: another scorer chooses among them."""
        self._epoch: Hashable = None
        self._seen = -1

    def best(self, columns: SimpleNodeColumns, scorer: NodeScorer) -> int | None:
        """Return the index of the best node for one more pod, or None if there is none.

        Args:
            columns: What the nodes have left.
            scorer: Scores places on them.

        """
        if not len(self._keys):
            return None
        changed, epoch = columns.changed, scorer.epoch(columns.free)
        if self._seen < 0 or epoch != self._epoch:
            self._look(self._everywhere, columns, scorer)
        elif self._seen < len(changed):
            some = sorted(set(changed[self._seen :]))
            self._look(np.array(some, dtype=np.intp), columns, scorer)
        self._epoch, self._seen = epoch, len(changed)
        best = int(self._keys.argmin())
        return None if self._keys[best] == _NO_PLACE else best

    def gpus_on(self, at: int, columns: SimpleNodeColumns) -> list[int]:
        """Return which GPUs of the best node a pod has, as positions in the node's row."""
        if self._milli < WHOLE_MILLI and self._ask.gpus:
            return [int(self._gpus[at])]
        free = (i for i, milli in enumerate(columns.rows[at].gpu_milli) if milli == WHOLE_MILLI)
        return [gpu for gpu, _ in zip(free, range(self._ask.gpus), strict=False)]

    def _look(self, nodes: Indices, columns: SimpleNodeColumns, scorer: NodeScorer) -> None:
        """Find out what places on nodes cost."""
        free, ask = columns.free, self._ask
        fits = self._may[nodes] & (columns.pods[nodes] > 0)
        fits &= free.cpu_milli[nodes] >= ask.cpu_milli
        fits &= free.memory_bytes[nodes] >= ask.memory_bytes
        if ask.gpus:
            enough = free.gpu_milli[nodes] >= self._milli
            fits &= np.add.reduce(enough, axis=1) >= ask.gpus
        self._keys[nodes] = _NO_PLACE
        there = nodes[fits]
        if there.size:
            found = self._scores(there, columns, scorer)
            self._keys[there] = there - len(self._may) * found.scores
            if found.gpus is not None:
                self._gpus[there] = found.gpus

    def _scores(self, nodes: Indices, columns: SimpleNodeColumns, scorer: NodeScorer) -> NodeScores:
        """Return the scores of places on nodes."""
        if len(nodes) < MANY or not isinstance(scorer, NodeScorerWithKinds):
            return scorer.score(self._asked, columns.free, nodes)
        kinds = scorer.kinds
        codes = columns.alike[nodes] * (int(kinds.max()) + 1) + kinds[nodes]
        firsts, of = first_node_of_each_code(codes)
        found = scorer.score(self._asked, columns.free, nodes[firsts])
        return NodeScores(found.scores[of], None if found.gpus is None else found.gpus[of])
