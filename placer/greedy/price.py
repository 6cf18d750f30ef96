"""Prices of places inside a node: what each family counts in its tiers."""

from placer.greedy import (
    alignment,
    cores,
    joint,
    links,
    localities,
    node_preference,
    numa_strategy,
    opened,
    shares,
)
from placer.greedy.inside import CandidatePlace
from placer.greedy.node_strategy import node_strategy_cost
from placer.greedy.offer import AT, BY_STRATEGY, NO_PRICE, PlacePrice

FAMILIES = (
    opened,
    alignment,
    node_preference,
    cores,
    localities,
    joint,
    links,
    numa_strategy,
    shares,
)
"""Where a tier is told what a place costs in it.

Families that hide from a pod what it may not have (`exclusivity`, `in_node_affinity`) price a place
themselves, by what is there behind it.
"""

_COSTS = tuple((AT[tier], cost) for family in FAMILIES for tier, cost in family.COSTS.items())


def price_of_place(place: CandidatePlace) -> PlacePrice:
    """Return what a place costs, before other pods there are looked at."""
    parts = list(NO_PRICE)
    for position, cost in _COSTS:
        parts[position] = cost(place)
    parts[BY_STRATEGY] = node_strategy_cost(place)
    return PlacePrice(parts)
