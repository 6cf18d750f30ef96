"""Knapsack problems of one bin, solved exactly: its dearest filling, and every way to fill it."""

from collections.abc import Sequence

from placer.packing.bins import Counts, PackingBin, Vector
from placer.packing.step_limit import PackingStepBudget

_Rate = tuple[int, int] | None
"""Price and size, the ratio of which is what a unit of a dimension is worth; None if size is 0."""


def most_valuable_item_counts(
    bin: PackingBin, counts: Sequence[int], prices: Sequence[int], limit: PackingStepBudget
) -> Counts:
    """Return the choice out of the counts that is worth most among those that fit.

    This is branch and bound. The items still to come are worth no more than all of them
    together, and no more than the room in any dimension, filled at their best rate there.

    Raises:
        PackingStepLimitError: The steps are spent before the choice is known to be best.

    """
    order = sorted(
        (t for t, count in enumerate(counts) if count and prices[t] and bin.fits(bin.room, t)),
        key=lambda item: -prices[item] / _share(bin, item),
    )
    hopes = _hopes(bin, counts, prices, order)
    best: list[int] = []
    best_worth = 0
    chosen: list[int] = []

    def choose(at: int, room: Vector, worth: int) -> None:
        nonlocal best, best_worth
        limit.spend()
        if worth > best_worth:
            best, best_worth = chosen.copy(), worth
        if at == len(order) or worth + _hope(hopes[at], room) <= best_worth:
            return
        item = order[at]
        for times in range(item_count_that_fits(bin, room, item, counts[item]), -1, -1):
            chosen.append(times)
            choose(at + 1, bin.without(room, item, times), worth + times * prices[item])
            chosen.pop()

    choose(0, bin.room, 0)
    found = [0] * len(counts)
    for item, times in zip(order, best, strict=False):
        found[item] = times
    return tuple(found)


def full_bin_patterns(
    bin: PackingBin, counts: Sequence[int], limit: PackingStepBudget
) -> list[Counts]:
    """Return every choice out of the counts that fills the bin, so that nothing more goes in.

    Raises:
        PackingStepLimitError: There are too many.

    """
    found: list[Counts] = []
    chosen: list[int] = []
    last = len(counts)

    def choose(item: int, room: Vector) -> None:
        limit.spend()
        if item == last:
            if not any(chosen[t] < counts[t] and bin.fits(room, t) for t in range(last)):
                found.append(tuple(chosen))
            return
        for times in range(item_count_that_fits(bin, room, item, counts[item]), -1, -1):
            chosen.append(times)
            choose(item + 1, bin.without(room, item, times))
            chosen.pop()

    choose(0, bin.room)
    return found


def item_count_that_fits(bin: PackingBin, room: Vector, item: int, count: int) -> int:
    """Return how many items of a type go into the room, up to `count`."""
    sizes = zip(bin.sizes[item], room, strict=True)
    return min([count, *(space // size for size, space in sizes if size)])


def _share(bin: PackingBin, item: int) -> float:
    """Return the part of the bin that an item takes, summed over all dimensions."""
    sizes = zip(bin.sizes[item], bin.room, strict=True)
    return sum(size / space for size, space in sizes if space) or 1e-9


def _hopes(
    bin: PackingBin, counts: Sequence[int], prices: Sequence[int], order: Sequence[int]
) -> list[tuple[int, tuple[_Rate, ...]]]:
    """Return, for each step of the order, the worth and best rates of all items from there on."""
    worth = 0
    rates: list[_Rate] = [(0, 1)] * len(bin.room)
    hopes = []
    for item in reversed(order):
        worth += counts[item] * prices[item]
        rates = [
            _better(rate, (prices[item], size) if size else None)
            for rate, size in zip(rates, bin.sizes[item], strict=True)
        ]
        hopes.append((worth, tuple(rates)))
    return hopes[::-1]


def _better(a: _Rate, b: _Rate) -> _Rate:
    if a is None or b is None:
        return None
    return a if a[0] * b[1] >= b[0] * a[1] else b


def _hope(hope: tuple[int, tuple[_Rate, ...]], room: Vector) -> int:
    worth, rates = hope
    by_room = (
        space * rate[0] // rate[1]
        for space, rate in zip(room, rates, strict=True)
        if rate is not None
    )
    return min([worth, *by_room])
