"""Preferences of nodes: what a pod would like of its node and does not get."""

from placer.greedy.inside import PlaceInside, TierCosts
from placer_models.goals import NODE_PREFERENCE


def _weight_missed(place: PlaceInside) -> int:
    return place.fit.weight_missed


COSTS: TierCosts = {NODE_PREFERENCE: _weight_missed}
