"""Lone pods in turn, by columns or not: each has the place that a call of its own would give."""

from placer.greedy.expected.scorer import ExpectedScorer
from placer.scheduling.cluster_state import ClusterState
from placer.search.baseline import Baseline, SolveCache
from placer.search.lone_place import RejectedLonePlaceError, place_of_lone_pod
from placer.search.options import BatchOrder, Engine, SolveOptions
from placer.search.scored import scorer_of
from placer_models.cluster import Instance, RunningPod
from placer_models.left_out import LegalGangs
from placer_models.placement import Placement


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


def placed_by_columns(
    instance: Instance, baseline: Baseline, options: SolveOptions
) -> Placement | None:
    """Return the places of all pods that find one, if numbers alone can tell them, else None.

    Args:
        instance: The cluster with the pods, in the order in which they are placed.
        baseline: Its nodes, counted.
        options: How to place them.

    """
    demand = instance.demand
    if options.scoring is not None or demand is None or demand.prices is None:
        return None
    scorer = scorer_of(instance, options, baseline)
    if not isinstance(scorer, ExpectedScorer):
        return None
    cache = baseline.cache
    return cache.places.placed(instance, baseline.accounts, scorer, cache.problems)


def placed_in_turn(
    state: ClusterState, instance: Instance, options: SolveOptions, cache: SolveCache
) -> tuple[Placement, ClusterState] | None:
    """Return the places of all pods that find one, and the cluster once they are there.

    The answer is None if a place could not be realised. Places are those that the pods have in the
    end: LS and BE pods run in the pools that pods after them leave (C7). Under ``expected`` the
    demand and its prices stay what they were when the call came, where single calls would have
    learned on the way.

    Args:
        state: The cluster.
        instance: The same with the pods, in the order in which they are placed.
        options: How to place them.
        cache: What earlier batches have left.

    """
    node_of: dict[tuple[str, str], str] = {}
    try:
        for gang in instance.gangs:
            alone = LegalGangs((gang,), ())
            asked = state.asking(alone, 0, instance.strategy, instance.demand)
            place = place_of_lone_pod(asked, state.baseline(cache), options)
            if place is not None:
                node_of[place.key] = place.node
                state = state.with_pods((RunningPod(gang.pods[0], place),))
    except RejectedLonePlaceError:
        return None
    places = {
        runner.pod.key: runner.placement
        for node in set(node_of.values())
        for runner in state.of(node).pods
        if runner.pod.key in node_of
    }
    return Placement(tuple(places[key] for key in node_of)), state
