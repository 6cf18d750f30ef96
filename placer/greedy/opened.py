"""Offered nodes: a place on one that is not there yet opens it (F27)."""

from placer.greedy.inside import PlaceInside, TierCosts
from placer_models.goals import OPENED


def _opened(place: PlaceInside) -> int:
    return int(place.node.offered)


COSTS: TierCosts = {OPENED: _opened}
