"""Place of one pod that waits alone, as the greedy engine gives it, before anything is judged."""

from placer.counting.placements import Unrealisable, realise
from placer.search.baseline import Baseline
from placer.search.device_proximity import with_nearer_devices
from placer.search.judged import Rejected, look_at
from placer.search.options import SolveOptions
from placer.search.scored import greedy_choices, is_scored
from placer.state.batch import build_problem
from placer_models.cluster import Instance
from placer_models.placement import PodPlacement


class RejectedLonePlaceError(Exception):
    """A place was chosen that has no ids, or that the judge rejects: a defect of ours."""


def place_of_lone_pod(
    instance: Instance, baseline: Baseline, options: SolveOptions
) -> PodPlacement | None:
    """Return the place that `solve` gives the only pod of an instance, or None if it has none.

    Args:
        instance: One pod waits, and none may move.
        baseline: Its nodes, counted.
        options: How to place it.

    Raises:
        RejectedLonePlaceError: The place is no place; `solve` looks for another one.

    """
    scored = is_scored(instance, options)
    cache = baseline.cache.problems
    problem = build_problem(
        instance, baseline.accounts, each_core=True, absolute=True, scored=scored, cache=cache
    )
    choices = greedy_choices(instance, baseline, problem, options)
    placement = realise(instance, baseline.accounts, problem, choices)
    if isinstance(placement, Unrealisable):
        raise RejectedLonePlaceError
    if not placement.pods:
        return None
    (place,) = placement.pods
    if len(place.devices) > 1:
        found = look_at(instance, baseline, placement)
        if isinstance(found, Rejected):
            raise RejectedLonePlaceError
        (place,) = with_nearer_devices(instance, baseline, problem, found).placement.pods
    return place
