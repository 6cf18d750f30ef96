"""Preferences of nodes: what a pod would like of its node and does not get."""

from placer.greedy.inside import TierCosts
from placer_models.goals import NODE_PREFERENCE

COSTS: TierCosts = {NODE_PREFERENCE: lambda place: place.fit.weight_missed}
