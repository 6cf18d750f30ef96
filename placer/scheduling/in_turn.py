"""Lone pods in turn, by columns or not: each has the place that a call of its own would give."""

from typing import NamedTuple

from placer.greedy.expected.scorer import ExpectedScorer
from placer.scheduling.arriving import ArrivingPods
from placer.scheduling.cluster_state import ClusterState
from placer.scheduling.expecting import Expecting
from placer.search.baseline import SolveCache
from placer.search.lone_place import RejectedLonePlaceError, place_of_lone_pod
from placer.search.options import BatchOrder, Engine, SolveOptions
from placer.search.scored import expected_scorer
from placer_models.cluster import Instance, RunningPod
from placer_models.demand import ExpectedDemand
from placer_models.left_out import LegalGangs
from placer_models.placement import NamespacedName, Placement


class PlacedInTurn(NamedTuple):
    """Places of pods that were placed in turn.

    Attributes:
        placement: Those of all pods that find one.
        state: The cluster once they are there; None where nobody had to work that out.

    """

    placement: Placement
    state: ClusterState | None


def goes_in_turn(instance: Instance, options: SolveOptions) -> bool:
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


def placed_in_turn(
    state: ClusterState,
    instance: Instance,
    options: SolveOptions,
    cache: SolveCache,
    arriving: ArrivingPods | None,
) -> PlacedInTurn | None:
    """Return the places of all pods that find one, or None: then `solve` has to find them.

    Args:
        state: The cluster.
        instance: The same with the pods, in the order in which they are placed.
        options: How to place them.
        cache: What earlier batches have left.
        arriving: The pods as they come, under strategy ``expected``; None under others.

    """
    if arriving is not None and options.scoring is None:
        placement = placed_by_columns(state, instance, options, cache, arriving)
        if placement is not None:
            return PlacedInTurn(placement, None)
        arriving.restart()
    if len(instance.gangs) == 1 and (arriving is None or arriving.is_one):
        return None  # `solve` goes the same way.
    return placed_by_greedy_path(state, instance, options, cache, arriving)


def placed_by_columns(
    state: ClusterState,
    instance: Instance,
    options: SolveOptions,
    cache: SolveCache,
    arriving: ArrivingPods,
) -> Placement | None:
    """Return the places of all pods that find one, if numbers alone can tell them, else None."""
    nodes, known = state.nodes, arriving.demand
    scorer = expected_scorer(known, nodes, options, cache.greedy)
    columns = cache.places.columns_of(nodes, state.accounts)

    def look(expecting: Expecting) -> ExpectedDemand:
        return expecting.demand_with(nodes, columns.idle_milli, columns.prices)

    def scorer_for(pod: NamespacedName) -> ExpectedScorer:
        nonlocal known, scorer
        demand = arriving.until(pod, look)
        if demand is not known:
            known, scorer = demand, expected_scorer(demand, nodes, options, cache.greedy)
        return scorer

    placement = cache.places.placed(instance.gangs, state.accounts, scorer_for, cache.problems)
    if placement is not None:
        arriving.all(look)
    return placement


def placed_by_greedy_path(
    state: ClusterState,
    instance: Instance,
    options: SolveOptions,
    cache: SolveCache,
    arriving: ArrivingPods | None,
) -> PlacedInTurn | None:
    """Return the places of all pods that find one, or None if a place could not be realised.

    Places are those that the pods have in the end: LS and BE pods run in the pools that pods after
    them leave (C7).
    """
    node_of: dict[NamespacedName, str] = {}
    demand = instance.demand

    def look(expecting: Expecting) -> ExpectedDemand:
        return expecting.demand_on(state)

    try:
        for gang in instance.gangs:
            if arriving is not None:
                demand = arriving.until(gang.pods[0].key, look)
            asked = state.asking(LegalGangs((gang,), ()), 0, instance.strategy, demand)
            place = place_of_lone_pod(asked, state.baseline(cache), options)
            if place is not None:
                node_of[place.key] = place.node
                state = state.with_pods((RunningPod(gang.pods[0], place),))
    except RejectedLonePlaceError:
        return None
    if arriving is not None:
        arriving.all(look)
    places = {
        runner.pod.key: runner.placement
        for node in set(node_of.values())
        for runner in state.of(node).pods
        if runner.pod.key in node_of
    }
    return PlacedInTurn(Placement(tuple(places[key] for key in node_of)), state)
