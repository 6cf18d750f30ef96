"""Place of one pod that waits alone, as the greedy engine gives it, before anything is judged."""

from placer.counting.placements import NodeIdAssignmentFailure, realise_choices
from placer.search.baseline import StartingAccounts
from placer.search.device_proximity import placement_with_nearer_devices
from placer.search.judged import RejectedPlacement, ValidPlacement, judge_placement
from placer.search.options import SolveOptions
from placer.search.scored import greedy_choices_for_problem, scorer_chooses_nodes
from placer.state.batch import build_problem
from placer_models.cluster import Instance
from placer_models.placement import PodPlacement


class RejectedLonePlaceError(Exception):
    """A place was chosen that has no ids, or that the judge rejects: a defect of ours."""


def place_of_lone_pod(
    instance: Instance, baseline: StartingAccounts, options: SolveOptions
) -> PodPlacement | None:
    """Return the place that `solve` gives the only pod of an instance, or None if it has none.

    Args:
        instance: One pod waits, and none may move.
        baseline: Its nodes, counted.
        options: How to place it.

    Raises:
        RejectedLonePlaceError: The place is no place; `solve` looks for another one.

    """
    scored = scorer_chooses_nodes(instance, options)
    cache = baseline.cache.problems
    problem = build_problem(
        instance, baseline.accounts, each_core=True, absolute=True, scored=scored, cache=cache
    )
    choices = greedy_choices_for_problem(instance, baseline, problem, options)
    placement = realise_choices(instance, baseline.accounts, problem, choices)
    if isinstance(placement, NodeIdAssignmentFailure):
        raise RejectedLonePlaceError
    if not placement.pods:
        return None
    nearer = placement_with_nearer_devices(instance, baseline.accounts, problem, placement)
    if nearer is not None:
        found = judge_placement(instance, baseline, placement)
        if isinstance(found, RejectedPlacement):
            raise RejectedLonePlaceError
        near = judge_placement(instance, baseline, nearer)
        if isinstance(near, ValidPlacement) and not found.better_than(near):
            placement = nearer
    (place,) = placement.pods
    return place
