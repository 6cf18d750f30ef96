"""Offered nodes: a place on one that is not there yet opens it (F27)."""

from placer.greedy.inside import TierCosts
from placer_models.goals import OPENED

COSTS: TierCosts = {OPENED: lambda place: int(place.node.offered)}
