"""Answer made of a placement that was given: its tiers measured, its reasons found anew."""

from dataclasses import replace

from placer.judge.breaches import breaches
from placer.judge.measure import measure
from placer.search.baseline import starting_accounts_of
from placer.search.budget import SolveBudget
from placer.search.options import SolveOptions
from placer.search.reasons.unplaced import why_unplaced
from placer_models.cluster import Instance
from placer_models.placement import PartlyPlaced, Placed, Placement, TierValue


class InvalidGivenPlacementError(ValueError):
    """A placement is no answer to the instance: it breaks a rule there, or moves running pods."""


def answer_from_placement(
    instance: Instance, placement: Placement, seconds: float
) -> Placed | PartlyPlaced:
    """Return the answer that a placement is to an instance; nothing is proven of its tiers.

    Args:
        instance: The instance.
        placement: Places for some of the pods that wait.
        seconds: How long reasons are looked for.

    Raises:
        InvalidGivenPlacementError: It is no answer to this instance.

    """
    running = {one.pod.key for one in instance.running}
    moved = [place.name for place in placement.pods if place.key in running]
    if moved:
        raise InvalidGivenPlacementError(
            f"the answer moves the running pod '{moved[0]}'; leave the answer out to have one found"
        )
    stays = replace(instance, move_budget=0)
    for breach in breaches(stays, placement):
        raise InvalidGivenPlacementError(
            f"the answer does not fit the instance: {breach.rule}: {breach.message}; "
            "solve again, or leave the answer out"
        )
    baseline = starting_accounts_of(stays)
    budget = SolveBudget(SolveOptions(time_limit_s=seconds))
    left_out = why_unplaced(stays, stays, baseline, placement, budget)
    tiers = tuple(TierValue(tier, value, None, False) for tier, value in measure(stays, placement))
    if left_out:
        return PartlyPlaced(placement, tiers, left_out)
    return Placed(placement, tiers)
