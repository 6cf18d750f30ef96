"""Places of simple pods on simple nodes, one after the other, by columns alone.

The greedy path writes a Problem for each pod, looks into nodes, and turns counts into ids. Where
pods, nodes and what runs there are simple, all of that follows from a few numbers: the places are
the same to the last id, at a fraction of the cost. Where anything is not simple there is no answer
from here, and the greedy path gives it. The judge looks at these places as at all others.
"""

from collections.abc import Callable, Iterable
from functools import partial

import numpy as np

from placer.counting.account import Account
from placer.greedy.columns import Mask
from placer.greedy.expected.scorer import ExpectedScorer
from placer.search.by_columns.ask_ranking import AskRanking
from placer.search.by_columns.simple_asks import SimpleAsk, simple_ask
from placer.search.by_columns.simple_columns import SimpleColumns
from placer.search.by_columns.simple_words import SimpleWords
from placer.state.fits import best_pair_minimum_of, fit_of
from placer.state.problem_cache import ProblemCache
from placer.state.requirements import PodRequirements, relevant_facts_of
from placer_models.cluster import Node, Nodes
from placer_models.incremental import PersistentTuple
from placer_models.placement import NamespacedName, Placement, PodPlacement
from placer_models.pod import Gang, PodSpec
from placer_models.policy import AlignmentPolicy
from placer_models.problem.problem import Fit

MOST_RANKINGS, MOST_RANKED = 1_000, 8_000_000
"""How many rankings are kept at most, and how many nodes they have together, at 16 bytes each."""

MOST_CHANGES = 8
"""How many changes of each node are noted before all that is kept begins anew."""

ScorerFor = Callable[[NamespacedName], ExpectedScorer]
"""Returns what chooses among nodes for the pod of the key."""


class PlacesByColumns:
    """Finds places, and keeps what it knows of nodes from call to call. For one thread at a time.

    No answer depends on what is kept.
    """

    def __init__(self) -> None:
        """Begin with no nodes."""
        self._nodes: tuple[Node, ...] = Nodes()
        self._columns = SimpleColumns(Nodes(), PersistentTuple(()))
        self._words = SimpleWords(())
        self._scorer: ExpectedScorer | None = None
        self._rankings: dict[PodSpec, AskRanking | None] = {}

    def columns_of(self, nodes: Nodes, accounts: PersistentTuple[Account]) -> SimpleColumns:
        """Return the columns of the nodes as they are now."""
        most = MOST_CHANGES * (len(nodes) + 1_000)
        if self._nodes is not nodes or len(self._columns.changed) > most:
            self._nodes = nodes
            self._columns = SimpleColumns(nodes, accounts)
            self._words = SimpleWords(nodes)
            self._rankings.clear()
        else:
            self._columns.turn_to(accounts)
        return self._columns

    def placed(
        self,
        gangs: Iterable[Gang],
        accounts: PersistentTuple[Account],
        scorer_for: ScorerFor,
        cache: ProblemCache,
    ) -> Placement | None:
        """Return the places of all pods that find one, each as a call of its own would give it.

        The answer is None if something is not simple.

        Args:
            gangs: Lone pods, which are placed in their order on the nodes of `columns_of`.
            accounts: What was left on each node then.
            scorer_for: Returns what chooses among nodes for the next pod, once all before it have
                their places.
            cache: What was worked out for earlier Problems.

        """
        columns = self._columns
        if not columns.are_simple:
            return None
        wanted = []
        for gang in gangs:
            ask = simple_ask(gang.pods[0].spec)
            if ask is None:
                return None
            wanted.append((gang, ask))
        places: list[PodPlacement] = []
        for gang, ask in wanted:
            (pod,) = gang.pods
            scorer = scorer_for(pod.key)
            if scorer is not self._scorer:
                self._scorer = scorer
                for known in filter(None, self._rankings.values()):
                    known.forget()
            ranking = self._ranking(pod.spec, ask, cache)
            if ranking is None:
                return None
            at = ranking.best(columns, scorer)
            if at is not None:
                gpus = ranking.gpus_on(at, columns)
                places.append(self._words.place(gang, ask, at, accounts[at], gpus))
                columns.take(at, ask, gpus)
        return Placement(tuple(places))

    def _ranking(self, spec: PodSpec, ask: SimpleAsk, cache: ProblemCache) -> AskRanking | None:
        """Return the ranking for pods of a spec; None if more than numbers decides."""
        if spec in self._rankings:
            ranking = self._rankings.pop(spec)
        else:
            most = min(MOST_RANKINGS, MOST_RANKED // max(1, len(self._nodes)))
            if len(self._rankings) >= max(1, most):
                del self._rankings[next(iter(self._rankings))]  # least recently used
            may = self._may_come(spec, cache)
            ranking = None if may is None else AskRanking(ask, may)
        self._rankings[spec] = ranking
        return ranking

    def _may_come(self, spec: PodSpec, cache: ProblemCache) -> Mask | None:
        """Return to which nodes the pods may come at all; None if they would rather have some."""
        relevant = relevant_facts_of((PodRequirements(spec, (), ""),))
        kinds, numbers = cache.kinds_of(self._nodes, relevant)
        fits = [cache.memo((fit_of, spec), (kind,), partial(fit_of, spec, kind)) for kind in kinds]
        if best_pair_minimum_of(spec, kinds) or not all(map(_says_nothing, fits)):
            return None
        may = np.array([isinstance(fit, Fit) for fit in fits], dtype=np.bool_)
        return may[np.array(numbers, dtype=np.intp)]


def _says_nothing(fit: object) -> bool:
    """Return whether a fit makes no place on a node better than another, and rules none out."""
    return not isinstance(fit, Fit) or (
        fit.alignment is AlignmentPolicy.NONE
        and fit.cell_limit is None
        and fit.joint is None
        and not fit.containers
        and fit.locality is None
        and not fit.weight_missed
        and not fit.best_pair_sum
    )
