"""All patterns of small markets: every full way to fill a bin, so that none is overlooked."""

from collections.abc import Callable, Sequence

import numpy as np

from placer.packing.bins import Counts, Vector
from placer.plan.market import BinKind, Devices, Market
from placer.plan.master import Pattern

MOST_PATTERNS = 2_000
"""With more patterns than this in all, markets are not small."""

_STEPS = 200_000


class _TooManyError(Exception):
    """There are too many patterns, or it takes too long to find them."""


def all_patterns(market: Market) -> list[Pattern] | None:
    """Return every full pattern of every kind in every block, or None if there are too many.

    A pattern is full if no further item goes in. Every way to fill a bin is a part of one.
    """
    found: list[Pattern] = []
    steps = _Steps(_STEPS)
    try:
        for block in range(len(market.blocks)):
            for number, kind in enumerate(market.kinds):
                patterns = _full(kind, market.most_of(kind, block), steps)
                found += [Pattern(block, number, np.array(p, np.int64)) for p in patterns]
                if len(found) > MOST_PATTERNS:
                    return None
    except _TooManyError:
        return None
    return found


class _Steps:
    """Steps that may still be taken."""

    def __init__(self, left: int) -> None:
        self._left = left

    def spend(self) -> None:
        """Take a step.

        Raises:
            _TooManyError: None is left.

        """
        self._left -= 1
        if self._left < 0:
            raise _TooManyError


def _full(kind: BinKind, most: Sequence[int], steps: _Steps) -> list[Counts]:
    found: list[Counts] = []
    chosen: list[int] = [0] * len(most)

    def choose(item: int, left: Vector) -> None:
        if item == len(most):
            if not any(
                _goes_in(kind, chosen, most, left, other, steps) for other in range(len(most))
            ):
                found.append(tuple(chosen))
            return
        rooms = []
        while True:
            rooms.append(left)
            if not _goes_in(kind, chosen, most, left, item, steps):
                break
            chosen[item] += 1
            left = _less(left, kind.sizes[item])
        for room in reversed(rooms):
            choose(item + 1, room)
            chosen[item] -= 1
        chosen[item] = 0

    choose(0, kind.room)
    return found


def _less(left: Vector, size: Vector | None) -> Vector:
    return tuple(a - b for a, b in zip(left, size or left, strict=True))


def _goes_in(
    kind: BinKind,
    held: Sequence[int],
    most: Sequence[int],
    left: Vector,
    item: int,
    steps: _Steps,
) -> bool:
    """Return whether one more item goes into a bin that holds some already."""
    size = kind.sizes[item]
    steps.spend()
    if held[item] >= most[item] or size is None:
        return False
    if any(a > b for a, b in zip(size, left, strict=True)):
        return False
    more = list(held)
    more[item] += 1
    return all(devices_hold(devices, more, steps.spend) for devices in kind.devices)


def devices_hold(
    devices: Devices, counts: Sequence[int], spend: Callable[[], None] = lambda: None
) -> bool:
    """Return whether the devices give all items what they ask, each share of another device.

    It tries everything, so it is for few items.
    """
    wholes = sum(n * ask.whole for n, ask in zip(counts, devices.asks, strict=True))
    wants = [
        tuple(share for share, count in ask.shares for _ in range(count))
        for n, ask in zip(counts, devices.asks, strict=True)
        for _ in range(n)
        if ask.shares
    ]
    rooms = list(devices.rooms)
    touched = [not free for free in devices.free]

    def give(which: int, part: int, used: frozenset[int]) -> bool:
        spend()
        if which == len(wants):
            return touched.count(False) >= wholes
        if part == len(wants[which]):
            return give(which + 1, 0, frozenset())
        size = devices.sizes[wants[which][part]]
        tried: set[tuple[Vector, bool]] = set()
        for at, room in enumerate(rooms):
            rest = tuple(a - b for a, b in zip(room, size, strict=True))
            if at in used or min(rest) < 0 or (room, touched[at]) in tried:
                continue
            tried.add((room, touched[at]))
            before = touched[at]
            rooms[at], touched[at] = rest, True
            if give(which, part + 1, used | {at}):
                return True
            rooms[at], touched[at] = room, before
        return False

    return give(0, 0, frozenset())
