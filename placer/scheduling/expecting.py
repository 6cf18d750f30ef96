"""Expecting: the demand that a Scheduler keeps room for, given or learned, and its prices."""

from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from itertools import islice
from threading import Lock

from placer.counting.account import Account
from placer.counting.left import node_left
from placer.greedy.expected.arrays import array_prices
from placer.scheduling.cluster_state import ClusterState, NodeRecord
from placer.scheduling.expectation import Expectation
from placer_models.demand import ExpectedDemand
from placer_models.expected import REFRESH_PERCENT, NodeLeft, alike_counted_together, open_on_each
from placer_models.forecast import learned_demand, shape_of
from placer_models.incremental import PersistentTuple, changed_indices
from placer_models.pod import Pod

FIRST_COUNT = 64
"""How many pods arrive before what was learned is counted again: at first, later as many as
arrived so far, up to half of `MOST_ARRIVED`."""

MOST_ARRIVED = 16_384
"""The last so many arrivals are the demand; older ones are forgotten."""


class Expecting:
    """What a Scheduler expects, as it changes. Every method may be called from any thread."""

    def __init__(self, start: Expectation) -> None:
        """Begin with what is expected at the start."""
        self._lock = Lock()
        self._is_given, self._demand = start.is_given, start.demand
        self._pods = dict(start.arrived)
        self._is_shared = False
        self._arrivals, self._next_count = start.arrivals, start.next_count
        self._idle_then = start.idle_milli
        self._idle = IdleGpus()

    def forked(self) -> "Expecting":
        """Return one that knows the same, and goes its own way."""
        with self._lock:
            found = Expecting(Expectation(self._demand, self._is_given))
            self._is_shared = found._is_shared = True  # Who learns first makes a copy.
            found._pods = self._pods
            found._arrivals, found._next_count = self._arrivals, self._next_count
            found._idle_then = self._idle_then
        return found

    @property
    def now(self) -> Expectation:
        """What is expected now."""
        with self._lock:
            return Expectation(
                self._demand,
                self._is_given,
                tuple(self._pods.items()),
                self._arrivals,
                self._next_count,
                self._idle_then,
            )

    def arrive(self, pods: Iterable[Pod]) -> None:
        """Learn from pods that have arrived; one that is known by its key counts once."""
        if self._is_given:
            return
        with self._lock:
            new = [pod for pod in pods if pod.key not in self._pods]
            if not new:
                return
            if self._is_shared:
                self._pods, self._is_shared = dict(self._pods), False
            for pod in new:
                self._pods[pod.key] = _known_shape(pod.spec)
                self._arrivals += 1
                if len(self._pods) > MOST_ARRIVED:
                    del self._pods[next(iter(self._pods))]

    def demand_on(self, state: ClusterState) -> ExpectedDemand:
        """Return the demand to place by, with prices as the state is now, or was a while ago."""
        with self._lock:
            demand = self._demand
            if demand is None:
                demand = self._learned(self._arrivals, state, None)
            while not self._is_given and self._arrivals >= self._next_count:
                demand = self._learned(self._next_count, state, demand)
            idle, then = self._idle.total(state.records), self._idle_then
            fewer, more = 100 * idle < REFRESH_PERCENT * then, 100 * then < REFRESH_PERCENT * idle
            if demand.prices is None or fewer or more:
                demand = demand.priced(_prices(demand, state))
                self._idle_then = idle
            self._demand = demand
            return demand

    def _learned(
        self, arrivals: int, state: ClusterState, known: ExpectedDemand | None
    ) -> ExpectedDemand:
        """Return what the first so many arrivals teach.

        However many arrive at a time, it is counted after as many of them: so pods that arrive
        in batches teach the same as pods that arrive one by one.
        """
        count = max(0, len(self._pods) - (self._arrivals - arrivals))
        first = islice(self._pods.values(), count)
        self._next_count = arrivals + until_next_count(arrivals)
        shapes = Counter(shape for shape in first if shape is not None)
        return learned_demand(shapes, count, state.nodes, known)


def until_next_count(arrivals: int) -> int:
    """Return how many pods more arrive before what was learned is counted again."""
    return min(max(FIRST_COUNT, arrivals), MOST_ARRIVED // 2)


_known_shape = lru_cache(maxsize=4_096)(shape_of)


def _prices(demand: ExpectedDemand, state: ClusterState) -> tuple[int, ...]:
    """Return the prices on the nodes of a state, the same as the judge finds for them."""
    known: dict[int, NodeLeft] = {}
    rows = []
    for record, may in zip(state.records, open_on_each(demand, state.nodes), strict=True):
        left = known.get(id(record.account))
        if left is None:
            left = node_left(record.account, with_memory=demand.looks_at_memory)
            known[id(record.account)] = left
        rows.append((may, left))
    return array_prices(demand, alike_counted_together(rows))


class IdleGpus:
    """What is left of the GPUs of all nodes, counted anew only where nodes have changed."""

    def __init__(self) -> None:
        """Begin with no node."""
        self._records: PersistentTuple[NodeRecord] = PersistentTuple(())
        self._milli: list[int] = []
        self._total = 0

    def total(self, records: PersistentTuple[NodeRecord]) -> int:
        """Return what is left on all nodes, in thousandths of a GPU."""
        if len(records) != len(self._records):
            known = {id(record.account): record.account for record in records}
            left = {number: _left(account) for number, account in known.items()}
            self._milli = [left[id(record.account)] for record in records]
            self._total = sum(self._milli)
        else:
            for at in changed_indices(self._records, records):
                milli = _left(records[at].account)
                self._total += milli - self._milli[at]
                self._milli[at] = milli
        self._records = records
        return self._total


def _left(account: Account) -> int:
    return sum(node_left(account).gpu_milli)
