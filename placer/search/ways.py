"""Ways of searching, and the time that each of them gets: the more, the more it has gained.

All ways go through their turns once, in order. While time is left and something is open, those
that may find more by other draws begin again. A way whose last turn gained something then gets
twice as large a share as before, any other half as large a one.
"""

from collections.abc import Callable, Sequence
from typing import Generic, Protocol, TypeVar

from placer.search.budget import SolveBudget
from placer_models.records import record

MOST_WEIGHT = 8.0
"""How far a way can rise above, or fall below, one that has just begun."""

SHARE_OF_ROUND = 0.5
"""The share of the time that is left for a way's turn after the first one, were it the last."""


class TurnTakingSearch(Protocol):
    """A search that goes on by several ways."""

    budget: SolveBudget
    round: int

    @property
    def is_settled(self) -> bool:
        """Whether nothing is left to find or to prove."""

    @property
    def standing(self) -> object:
        """What is known: another value than before says that something was gained."""


GoingOn = TypeVar("GoingOn", bound=TurnTakingSearch)


@record(frozen=True, slots=True)
class Way(Generic[GoingOn]):
    """One way of searching.

    Attributes:
        name: What it is called.
        applies: Whether it has anything to do, as things stand.
        share: The share of the time that is left for its first turn, asked when that comes.
        run: Goes on with the search, within its budget.
        again: Whether another turn may find more, by other draws.

    """

    name: str
    applies: Callable[[GoingOn], bool]
    share: Callable[[GoingOn], float]
    run: Callable[[GoingOn], None]
    again: bool = False


def search_in_turns(ways: Sequence[Way[GoingOn]], search: GoingOn) -> None:
    """Search by all ways until all is settled, or the time is over.

    Under a work limit each way has one turn.
    """
    weights = {way.name: _weight_after(1.0, _has_gained(way, search, None)) for way in ways}
    while search.budget.timed and not search.budget.over and not search.is_settled:
        search.round += 1
        now = [way for way in ways if way.again and way.applies(search)]
        to_come = sum(weights[way.name] for way in now)
        for way in now:
            weight = weights[way.name]
            gained = _has_gained(way, search, SHARE_OF_ROUND * weight / to_come)
            weights[way.name] = _weight_after(weight, gained)
            to_come -= weight


def _weight_after(weight: float, gained: bool) -> float:
    """Return the weight of a way after a turn."""
    return min(MOST_WEIGHT, 2 * weight) if gained else max(1 / MOST_WEIGHT, weight / 2)


def _has_gained(way: Way[GoingOn], search: GoingOn, share: float | None) -> bool:
    """Let a way have its turn; return whether anything is better than before.

    Args:
        way: The way.
        search: What it goes on with.
        share: Its share of the time that is left; None: that of its first turn.

    """
    budget, before = search.budget, search.standing
    if budget.over or search.is_settled or not way.applies(search):
        return False
    share = way.share(search) if share is None else share
    # All that is left is no part: what one tier may spend is measured by the whole.
    search.budget = budget if share >= 1.0 else budget.part(share * budget.left)
    try:
        way.run(search)
    finally:
        if search.budget is not budget:
            budget.spend(search.budget)
        search.budget = budget
    return search.standing != before
