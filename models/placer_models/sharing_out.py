"""Requests shared out over places, each over its own, by a flow that finds them room."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

Asked = tuple[Collection[int], int]
"""Places, and the amount that is to be shared out over them."""


def can_distribute_over_places(room: Mapping[int, int], asked: Iterable[Asked]) -> bool:
    """Return whether all requests can be shared out, each within its own places."""
    return distribute_over_places(room, list(asked)) is not None


def distribute_over_places(
    room: Mapping[int, int], asked: Sequence[Asked]
) -> list[Counter[int]] | None:
    """Return how to share every request out over its own places, or None if room is lacking.

    Requests for the same places count as one. A request that finds no room moves others over,
    along the shortest chain.

    Args:
        room: Place -> what it holds.
        asked: (places, amount) of each request.

    """
    total: Counter[frozenset[int]] = Counter()
    for places, amount in asked:
        total[frozenset(places)] += amount
    wants = [(sorted(places), amount) for places, amount in total.items()]
    left = dict(room)
    given: list[Counter[int]] = [Counter() for _ in wants]
    for index, (_, amount) in enumerate(wants):
        while missing := amount - given[index].total():
            if not _move(index, missing, wants, left, given):
                return None
    of_places = dict(zip(total, given, strict=True))
    return [_dealt(of_places[frozenset(places)], amount) for places, amount in asked]


def _dealt(given: Counter[int], amount: int) -> Counter[int]:
    """Take an amount out of what requests for the same places have together."""
    taken: Counter[int] = Counter()
    for place in sorted(given):
        taken[place] = min(given[place], amount)
        given[place] -= taken[place]
        amount -= taken[place]
    return taken


def _move(
    start: int,
    missing: int,
    wants: Sequence[tuple[list[int], int]],
    left: dict[int, int],
    given: list[Counter[int]],
) -> bool:
    """Find more room for a request along the shortest chain. Return whether there is any."""
    came: dict[int, tuple[int, int | None]] = dict.fromkeys(wants[start][0], (start, None))
    queue = list(came)
    for place in queue:
        if left.get(place, 0) > 0:
            chain = [place]
            while (before := came[chain[-1]][1]) is not None:
                chain.append(before)
            movers = [came[at][0] for at in chain]
            freed = [given[mover][at] for mover, at in zip(movers, chain[1:], strict=False)]
            amount = min(missing, left[place], *freed)
            left[place] -= amount
            for mover, at in zip(movers, chain, strict=True):
                given[mover][at] += amount
            for mover, at in zip(movers, chain[1:], strict=False):
                given[mover][at] -= amount
            return True
        for other, held in enumerate(given):
            if held[place] > 0:
                fresh = [into for into in wants[other][0] if into not in came]
                came.update(dict.fromkeys(fresh, (other, place)))
                queue += fresh
    return False
