"""Expectation: the demand that a Scheduler keeps room for, given or learned, and its prices."""

from collections import Counter
from collections.abc import Callable, Iterable
from copy import copy
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice
from threading import Lock

from placer.counting.account import Account
from placer.counting.left import node_left
from placer.scheduling.expectation import Expectation
from placer.scheduling.scheduler_state import NodesAndPods
from placer.search.scored import expected_shape_prices_on_accounts
from placer_models.cluster import NodesWithCachedFacts
from placer_models.demand import ExpectedDemand, ExpectedShape
from placer_models.expected import REFRESH_PERCENT
from placer_models.forecast import expected_shape_of, learned_demand
from placer_models.incremental import PersistentTuple, changed_indices
from placer_models.placement import NamespacedName
from placer_models.pod import Pod

FIRST_COUNT = 64
"""How many pods arrive before what was learned is counted again: at first, later as many as
arrived so far, up to half of `MOST_ARRIVED`."""

MOST_ARRIVED = 16_384
"""The last so many arrivals are the demand; older ones are forgotten."""

PricesOf = Callable[[ExpectedDemand], tuple[int, ...]]
"""Returns the prices of a demand on some nodes."""


@dataclass(slots=True)
class _Learned:
    """What has been learned so far.

    Attributes:
        demand: What room is kept for, with prices; None before the first look.
        pods: The shapes of the pods that are remembered, by key, oldest first.
        is_shared: Whether others have the same pods, so that who learns more makes a copy.
        arrivals: How many pods were seen.
        next_count: Once so many were seen, what was learned is counted again.
        idle_milli: Thousandths of GPUs that were left when prices were found last.
        forked_at: How many pods had been seen when this was forked from another one.

    """

    demand: ExpectedDemand | None
    pods: dict[NamespacedName, ExpectedShape | None]
    is_shared: bool
    arrivals: int
    next_count: int
    idle_milli: int
    forked_at: int = 0


class ExpectationTracker:
    """What a Scheduler expects, as it changes. Every method may be called from any thread.

    Attributes:
        learned: What it has learned, or was given. Nobody but forks and those forked looks at it.

    """

    def __init__(self, start: Expectation) -> None:
        """Begin with what is expected at the start."""
        self._lock = Lock()
        self._is_given = start.is_given
        self.learned = _Learned(
            start.demand,
            dict(start.arrived),
            is_shared=False,
            arrivals=start.arrivals,
            next_count=start.next_count,
            idle_milli=start.idle_milli,
        )
        self._idle = LeftGpuTotalCache()

    def forked(self) -> "ExpectationTracker":
        """Return one that has learned the same, and goes its own way."""
        found = ExpectationTracker(Expectation(is_given=self._is_given))
        with self._lock:
            self.learned.is_shared = True
            found.learned = replace(self.learned, forked_at=self.learned.arrivals)
            found._idle = copy(self._idle)
        return found

    def follow(self, fork: "ExpectationTracker", pods: Iterable[Pod]) -> None:
        """Go on from where a fork has got to, which nobody uses any more.

        Args:
            fork: It was forked from this one.
            pods: The pods that have arrived there since. Those that have arrived here meanwhile,
                in dry runs, are not forgotten.

        """
        with self._lock:
            alone = self.learned.arrivals == fork.learned.forked_at
            if alone:
                self.learned = fork.learned
            else:
                self.learned = replace(
                    fork.learned,
                    pods=self.learned.pods,
                    is_shared=self.learned.is_shared,
                    arrivals=self.learned.arrivals,
                )
        if not alone:
            self.arrive(pods)

    @property
    def now(self) -> Expectation:
        """What is expected now."""
        with self._lock:
            found = self.learned
            return Expectation(
                found.demand,
                self._is_given,
                tuple(found.pods.items()),
                found.arrivals,
                found.next_count,
                found.idle_milli,
            )

    def arrive(self, pods: Iterable[Pod]) -> None:
        """Learn from pods that have arrived; one that is known by its key counts once."""
        if self._is_given:
            return
        with self._lock:
            found = self.learned
            for pod in pods:
                if pod.key in found.pods:
                    continue
                if found.is_shared:
                    found.pods, found.is_shared = dict(found.pods), False
                found.pods[pod.key] = _known_shape(pod.spec)
                found.arrivals += 1
                if len(found.pods) > MOST_ARRIVED:
                    del found.pods[next(iter(found.pods))]

    def demand_on(self, state: NodesAndPods) -> ExpectedDemand:
        """Return the demand to place by, with prices as the state is now, or was a while ago."""
        with self._lock:
            idle_milli = self._idle.total(state.accounts)
            return self._renewed(
                state.nodes,
                idle_milli,
                lambda demand: expected_shape_prices_on_accounts(
                    demand, state.nodes, state.accounts
                ),
            )

    def demand_with(
        self, nodes: NodesWithCachedFacts, idle_milli: int, prices_of: PricesOf
    ) -> ExpectedDemand:
        """Return the same on nodes of which the caller knows what is left.

        Args:
            nodes: The nodes.
            idle_milli: What is left of all their GPUs, in 1/1000.
            prices_of: Returns the prices of a demand on them.

        """
        with self._lock:
            return self._renewed(nodes, idle_milli, prices_of)

    def _renewed(
        self, nodes: NodesWithCachedFacts, idle_milli: int, prices_of: PricesOf
    ) -> ExpectedDemand:
        found = self.learned
        demand = found.demand
        if demand is None:
            demand = self._count(found.arrivals, nodes, None)
        while not self._is_given and found.arrivals >= found.next_count:
            demand = self._count(found.next_count, nodes, demand)
        had = found.idle_milli
        fewer = 100 * idle_milli < REFRESH_PERCENT * had
        more = 100 * had < REFRESH_PERCENT * idle_milli
        if demand.prices is None or fewer or more:
            demand = demand.priced(prices_of(demand))
            found.idle_milli = idle_milli
        found.demand = demand
        return demand

    def _count(
        self, arrivals: int, nodes: NodesWithCachedFacts, known: ExpectedDemand | None
    ) -> ExpectedDemand:
        """Return what the first so many arrivals teach.

        However many arrive at a time, it is counted after as many of them: so pods that arrive
        in batches teach the same as pods that arrive one by one.
        """
        found = self.learned
        count = max(0, len(found.pods) - (found.arrivals - arrivals))
        first = islice(found.pods.values(), count)
        found.next_count = arrivals + arrivals_until_next_count(arrivals)
        shapes = Counter(shape for shape in first if shape is not None)
        return learned_demand(shapes, count, nodes, known)


def arrivals_until_next_count(arrivals: int) -> int:
    """Return how many pods more arrive before what was learned is counted again."""
    return min(max(FIRST_COUNT, arrivals), MOST_ARRIVED // 2)


_known_shape = lru_cache(maxsize=4_096)(expected_shape_of)


class LeftGpuTotalCache:
    """What is left of the GPUs of all nodes, counted anew only where nodes have changed."""

    def __init__(self) -> None:
        """Begin with no node."""
        self._accounts: PersistentTuple[Account] = PersistentTuple(())
        self._milli: PersistentTuple[int] = PersistentTuple(())
        self._total = 0

    def total(self, accounts: PersistentTuple[Account]) -> int:
        """Return what is left on all nodes, in thousandths of a GPU."""
        if len(accounts) != len(self._accounts):
            # Idle nodes that are alike share their account.
            known = {id(account): account for account in accounts}
            left = {number: _left(account) for number, account in known.items()}
            self._milli = PersistentTuple.of(left[id(account)] for account in accounts)
            self._total = sum(self._milli)
        elif changed := changed_indices(self._accounts, accounts):
            new = {at: _left(accounts[at]) for at in changed}
            self._total += sum(milli - self._milli[at] for at, milli in new.items())
            self._milli = self._milli.changed(new)
        self._accounts = accounts
        return self._total


def _left(account: Account) -> int:
    return sum(node_left(account).gpu_milli)
