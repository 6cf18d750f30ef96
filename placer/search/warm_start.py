"""A warm start: places that an earlier answer had for pods that wait, as far as they are right.

Gangs that are whole in it keep their places, unless the judge finds fault with them; all others
are placed greedily beside them. What comes of it is one more placement to begin a search with.
"""

from collections.abc import Collection, Iterable
from dataclasses import replace

from placer.counting.placements import NodeIdAssignmentFailure, realise_choices
from placer.counting.pools import placement_with_pool_cpus
from placer.greedy.place import place_greedily
from placer.search.baseline import StartingAccounts, placed_pods_as_running, starting_accounts_of
from placer.search.judged import RejectedPlacement, ValidPlacement, judge_placement
from placer.state.batch import build_problem
from placer.state.out_of_time import OutOfTimeError, Stop
from placer_models.cluster import Instance
from placer_models.placement import NamespacedName, Placement, PodPlacement
from placer_models.pod import Gang

MOST_LOOKS = 4
"""How often the judge looks at what is kept, with fewer gangs each time."""


def placement_from_earlier(
    instance: Instance, baseline: StartingAccounts, earlier: Placement, stop: Stop
) -> ValidPlacement | None:
    """Return a placement that the judge lets pass and that keeps earlier places, or None.

    Args:
        instance: What waits now.
        baseline: Its nodes before anything is placed.
        earlier: Places of any pods on any nodes; those that mean nothing here are passed over.
        stop: Asked now and then whether the time is over; then what was found last is returned.

    """
    known = _known_places(instance, earlier)
    gangs = _whole(instance, [gang for gang in instance.gangs if _is_met(gang, known)])
    for _ in range(MOST_LOOKS):
        if not gangs or stop():
            return None
        kept = judge_placement(instance, baseline, _places(instance, gangs, known))
        if not isinstance(kept, RejectedPlacement):
            return _filled_up(instance, baseline, kept, gangs, stop)
        blamed = {fault.subject for fault in kept.faults}
        fine = [gang for gang in gangs if not _is_meant(gang, known, blamed)]
        gangs = _whole(instance, fine if len(fine) < len(gangs) else [])
    return None


def _known_places(instance: Instance, earlier: Placement) -> dict[NamespacedName, PodPlacement]:
    """Return the places of pods that wait, on nodes that there are, under their gangs of now."""
    nodes = {node.name for node in instance.nodes}
    places = {place.key: place for place in earlier.pods if place.node in nodes}
    return {
        pod.key: replace(places[pod.key], gang=None if gang.lone else gang.name)
        for gang in instance.gangs
        for pod in gang.pods
        if pod.key in places
    }


def _is_met(gang: Gang, known: Collection[NamespacedName]) -> bool:
    return sum(pod.key in known for pod in gang.pods) >= max(1, gang.minimum)


def _whole(instance: Instance, gangs: Iterable[Gang]) -> list[Gang]:
    """Return the gangs without those whose group lacks another one."""
    found = {gang.key: gang for gang in gangs}
    for group in instance.groups:
        if not found.keys() >= set(group.gangs):
            for key in group.gangs:
                found.pop(key, None)
    return list(found.values())


def _is_meant(
    gang: Gang, known: dict[NamespacedName, PodPlacement], subjects: Collection[str]
) -> bool:
    """Return whether a fault is about the gang, one of its pods, or a node that it is on."""
    pods = [pod for pod in gang.pods if pod.key in known]
    titles = {gang.title, *(pod.title for pod in pods)}
    return not titles.union(known[pod.key].node for pod in pods).isdisjoint(subjects)


def _places(
    instance: Instance, gangs: Iterable[Gang], known: dict[NamespacedName, PodPlacement]
) -> Placement:
    there = (known[pod.key] for gang in gangs for pod in gang.pods if pod.key in known)
    return placement_with_pool_cpus(instance, Placement(tuple(there)))


def _filled_up(
    instance: Instance,
    baseline: StartingAccounts,
    kept: ValidPlacement,
    gangs: Collection[Gang],
    stop: Stop,
) -> ValidPlacement:
    """Place the other gangs greedily beside those that are kept, if that makes it better."""
    done = {gang.key for gang in gangs}
    place_of = {place.key: place for place in kept.placement.pods}
    rest = replace(
        instance,
        gangs=tuple(gang for gang in instance.gangs if gang.key not in done),
        groups=tuple(group for group in instance.groups if done.isdisjoint(group.gangs)),
        running=(*instance.running, *placed_pods_as_running(gangs, place_of)),
    )
    if not rest.gangs or stop():
        return kept
    accounts = starting_accounts_of(rest).accounts
    try:
        problem = build_problem(rest, accounts, each_core=True, stop=stop)
        choices = place_greedily(problem, stop=stop)
    except OutOfTimeError:
        return kept
    more = realise_choices(rest, accounts, problem, choices)
    if isinstance(more, NodeIdAssignmentFailure) or not more.pods:
        return kept
    places = Placement((*kept.placement.pods, *more.pods))
    filled = judge_placement(instance, baseline, placement_with_pool_cpus(instance, places))
    if isinstance(filled, RejectedPlacement) or not filled.better_than(kept):
        return kept
    return filled
