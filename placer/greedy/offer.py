"""A place inside a node, and what it costs."""

from collections.abc import Callable, Mapping

from placer_models.goals import IN_NODE, Tier
from placer_models.problem.node_state import NodeState
from placer_models.problem.problem import Choice, Fit, Shape
from placer_models.records import record

AT = {tier: position for position, tier in enumerate(IN_NODE)}
"""Tier -> its position in a price."""

BY_STRATEGY = len(IN_NODE)
"""The position of the tiers of a node strategy, which are priced together: the last."""

WIDTH = BY_STRATEGY + 1
"""How many parts a price has."""


class PlacePrice(tuple[int, ...]):
    """What a place costs, tier by tier, most important first. Prices compare as tuples."""

    __slots__ = ()

    def but(self, costs: Mapping[Tier, int]) -> "PlacePrice":
        """Return the price with other costs in some tiers."""
        parts = list(self)
        for tier, cost in costs.items():
            parts[AT[tier]] = cost
        return PlacePrice(parts)


NO_PRICE = PlacePrice((0,) * WIDTH)
"""What costs nothing."""


@record(frozen=True, slots=True)
class PricedChoice:
    """A place inside a node and its price."""

    price: PlacePrice
    choice: Choice


Chooser = Callable[[NodeState, Shape, Fit], PricedChoice | None]
"""Returns the cheapest place found for a pod of the shape, or None if none was found."""
