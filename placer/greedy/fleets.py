"""Fleets that outlast their batch."""

from collections.abc import Hashable

from placer.greedy.columns import Columns
from placer.greedy.fleet import Fleet
from placer_models.problem import Problem

MOST_FLEETS = 16
"""Fleets that are kept at a time; each is in terms of its own."""

MOST_REMEMBERED = 64
"""Bids, outlooks, states and changes that a kept fleet may remember for each node, and for
1,000 nodes more; rankings are few (``fleet.MOST_RANKINGS``)."""


def terms_of(problem: Problem) -> Hashable:
    """Return what Problems have to agree in so that a fleet can turn from one to the other."""
    return len(problem.nodes), Columns.of(problem), problem.terms


class Fleets:
    """Fleets of earlier batches, for batches to come. For one thread at a time."""

    def __init__(self) -> None:
        """Begin with none."""
        self._fleets: dict[Hashable, Fleet] = {}

    def of(self, problem: Problem) -> Fleet:
        """Return the fleet of the problem, as good as new.

        It is out of here until `keep`, so that none stays that failed in the middle.
        """
        fleet = self._fleets.pop(terms_of(problem), None)
        if fleet is None:
            return Fleet(problem)
        fleet.turn_to(problem)
        return fleet

    def keep(self, fleet: Fleet) -> None:
        """Take a fleet back, unless it has grown too large."""
        if fleet.size > MOST_REMEMBERED * (len(fleet.problem.nodes) + 1_000):
            return
        while len(self._fleets) >= MOST_FLEETS:
            del self._fleets[next(iter(self._fleets))]
        self._fleets[terms_of(fleet.problem)] = fleet
