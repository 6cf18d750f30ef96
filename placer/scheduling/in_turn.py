"""Lone pods in turn, by columns or not: each has the place that a call of its own would give."""

from itertools import starmap
from typing import NamedTuple

from placer.greedy.expected.scorer import ExpectedScorer
from placer.scheduling.arriving import BatchArrivals
from placer.scheduling.expecting import ExpectationTracker
from placer.scheduling.scheduler_state import NodesAndPods
from placer.search.baseline import CacheBetweenSolves
from placer.search.by_columns.simple_columns import SimpleNodeColumns
from placer.search.lone_place import RejectedLonePlaceError, place_of_lone_pod
from placer.search.options import BatchOrder, Engine, SolveOptions
from placer.search.scored import expected_scorer
from placer_models.cluster import Instance, RunningPod
from placer_models.demand import ExpectedDemand
from placer_models.left_out import GangsWithoutIllegalPods
from placer_models.node_strategy import NodeStrategy
from placer_models.placement import Placement, PodPlacement
from placer_models.pod import Gang, Pod


class InTurnPlacementResult(NamedTuple):
    """Places of pods that were placed in turn.

    Attributes:
        placement: Those of all pods that find one.
        state: The cluster once they are there; None where nobody had to work that out.

    """

    placement: Placement
    state: NodesAndPods | None


def are_pods_placed_in_turn(instance: Instance, options: SolveOptions) -> bool:
    """Return whether pods are placed one after the other, in the order in which they stand.

    That is so under the greedy engine, unless the options ask for another order, if there is no
    gang, no other priority, and no running pod that moves. Where pods look at each other, places
    taken in turn may break in the end what held before (a spread, say): then the judge
    rejects them, and the batch is placed as a whole.
    """
    return (
        options.engine is Engine.GREEDY
        and options.order is BatchOrder.ARRIVAL
        and bool(instance.gangs)
        and not instance.groups
        and not instance.move_budget
        and len({gang.priority for gang in instance.gangs}) == 1
        and all(
            len(gang.pods) == gang.minimum == 1 and gang.gather is None and not gang.levels
            for gang in instance.gangs
        )
    )


def place_pods_in_turn(
    state: NodesAndPods,
    instance: Instance,
    options: SolveOptions,
    cache: CacheBetweenSolves,
    arriving: BatchArrivals | None,
) -> InTurnPlacementResult | None:
    """Return the places of all pods that find one, or None: then `solve` has to find them.

    Where numbers alone tell the place of a pod, nobody looks into nodes; where they do not, the
    greedy path does, on the cluster with all pods so far.

    Args:
        state: The cluster.
        instance: The same with the pods, in the order in which they are placed.
        options: How to place them.
        cache: What earlier batches have left.
        arriving: The pods as they come, under strategy ``expected``; None under others.

    """
    is_one = len(instance.gangs) == 1 and (arriving is None or arriving.is_one)
    turn = _Turn(state, instance.strategy, options, cache, arriving)
    try:
        for gang in instance.gangs:
            # With one pod `solve` goes the same way.
            if not turn.place_by_numbers(gang):
                if is_one:
                    return None
                turn.place_by_greedy_path(gang)
    except RejectedLonePlaceError:
        return None
    return turn.finished()


class _Turn:
    """Pods as they are placed one after the other."""

    def __init__(
        self,
        state: NodesAndPods,
        strategy: NodeStrategy,
        options: SolveOptions,
        cache: CacheBetweenSolves,
        arriving: BatchArrivals | None,
    ) -> None:
        """Begin with no pod placed; the arguments are those of `place_pods_in_turn`."""
        self._state, self._cache = state, cache
        self._strategy, self._options = strategy, options
        self._arriving = arriving
        self._may_go_by_numbers = arriving is not None and options.scoring is None
        self._columns = self._columns_now()
        self._demand: ExpectedDemand | None = None
        self._scorer: ExpectedScorer | None = None
        self._places: list[PodPlacement] = []
        self._not_in_state: list[tuple[Pod, PodPlacement]] = []
        self._has_looked = False

    def place_by_numbers(self, gang: Gang) -> bool:
        """Place the next pod, if numbers alone tell its place or that it has none."""
        (pod,) = gang.pods
        demand = None
        if self._arriving is not None:
            demand = self._arriving.until(pod.key, self._look_at_demand)
        known, self._demand = self._demand, demand
        if self._columns is None or demand is None:
            return False
        scorer, cache = self._scorer, self._cache
        if scorer is None or demand is not known:
            nodes = self._state.nodes
            scorer = expected_scorer(demand, nodes, self._options, cache.greedy)
            self._scorer = scorer
        found = cache.places.find(gang, scorer, cache.problems)
        if found is None:
            return False
        if found.place is not None:
            self._places.append(found.place)
            self._not_in_state.append((pod, found.place))
        return True

    def place_by_greedy_path(self, gang: Gang) -> None:
        """Place the same pod by a look into nodes, if it has a place.

        Raises:
            RejectedLonePlaceError: What was found is no place.

        """
        state, cache = self._with_all(), self._cache
        self._has_looked = True
        asked = state.asking(GangsWithoutIllegalPods((gang,), ()), 0, self._strategy, self._demand)
        place = place_of_lone_pod(asked, state.baseline(cache), self._options)
        if place is not None:
            self._places.append(place)
            self._state = state.with_pods((RunningPod(gang.pods[0], place),))
        if self._state.nodes is not state.nodes:
            self._scorer = None  # A node has changed by the pod: CPUs of former pods are its own.
        self._columns = self._columns_now()

    def finished(self) -> InTurnPlacementResult:
        """Return the places of all.

        LS and BE pods run in the pools that pods after them leave (C7).
        """
        if self._arriving is not None:
            self._arriving.all(self._look_at_demand)
        if not self._has_looked:
            return InTurnPlacementResult(Placement(tuple(self._places)), None)
        state = self._with_all()
        return InTurnPlacementResult(Placement(state.places_now(self._places)), state)

    def _columns_now(self) -> SimpleNodeColumns | None:
        """Return columns of the cluster as it is, if they may be asked."""
        if not self._may_go_by_numbers:
            return None
        columns = self._cache.places.columns_of(self._state.nodes, self._state.accounts)
        return columns if columns.are_numbered else None

    def _with_all(self) -> NodesAndPods:
        """Return the cluster with all pods that have a place."""
        if self._not_in_state:
            self._state = self._state.with_pods(starmap(RunningPod, self._not_in_state))
            self._not_in_state = []
        return self._state

    def _look_at_demand(self, expecting: ExpectationTracker) -> ExpectedDemand:
        columns = self._columns
        if columns is None:
            return expecting.demand_on(self._state)
        return expecting.demand_with(self._state.nodes, columns.idle_milli, columns.prices)
