"""The fewest new bins for all items, with proof: bins are filled one after another.

A good filling is found by diving: what the linear program uses whole is kept, and the rest solved
again.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from placer.packing.bins import Counts, Filling, PackingProblem
from placer.packing.knapsack import full_bin_patterns
from placer.packing.prices import BinPatternUse, PackingItemPrices, PackingLinearProgram
from placer.packing.step_limit import PackingStepBudget, PackingStepLimitError


@dataclass(frozen=True, slots=True)
class FewestBinsFilling:
    """A filling, and how good it is.

    Attributes:
        filling: All bins that are there, and after them the new ones.
        bound: No filling has fewer new bins.

    """

    filling: Filling
    bound: int


def pack_into_fewest_bins(
    packing: PackingProblem, start: Filling, limit: PackingStepBudget
) -> FewestBinsFilling:
    """Return a filling with the fewest new bins that the limit allows, and a bound.

    Args:
        packing: The problem; a type that does not fit a fresh bin has to be held by the start.
        start: A filling of all items; the answer is never worse than this.
        limit: Steps that may be spent; equal limits give equal answers.

    """
    if not any(packing.counts):
        return FewestBinsFilling(start, 0)
    there, fresh = len(packing.bins), packing.fresh
    best, bound = start, _volume_bound(packing)
    try:
        pricing = PackingLinearProgram(packing, limit)
        prices, _ = pricing.best(packing.counts, range(there))
        bound = max(bound, prices.bound(packing.counts))
        items = [item for item, count in enumerate(packing.counts) if count]
        if bound < len(best) - there and all(fresh.fits(fresh.room, item) for item in items):
            best = min(best, filled_by_diving(packing, pricing), key=len)
        while bound < len(best) - there:
            found = filling_with_given_bin_count(packing, there + bound, limit, prices)
            if found is not None:
                return FewestBinsFilling(found, bound)
            bound += 1
    except PackingStepLimitError:
        pass
    return FewestBinsFilling(best, bound)


def filling_with_given_bin_count(
    packing: PackingProblem,
    bins: int,
    limit: PackingStepBudget,
    prices: PackingItemPrices | None = None,
) -> Filling | None:
    """Return a filling with that many bins in all, or None if there is none.

    Only full bins are tried, because putting more into a bin never hurts the others. Each
    new bin holds an item of the first type that is left, because some new bin must.

    Raises:
        PackingStepLimitError: The steps are spent before that is known.

    """
    if not any(packing.counts):
        return _padded([], bins, len(packing.counts))
    there = len(packing.bins)
    if prices is None:
        prices, _ = PackingLinearProgram(packing, limit).best(packing.counts, range(there))
    worth = [*prices.bins, *[prices.fresh] * (bins - there)]
    ahead = [sum(worth[i:]) for i in range(bins + 1)]
    dead: set[tuple[int, Counts]] = set()

    def ways(number: int, counts: Counts) -> Iterator[Counts]:
        if number == bins or prices.worth(counts) > ahead[number] or (number, counts) in dead:
            return iter(())
        patterns = full_bin_patterns(packing.bin(number), counts, limit)
        if number >= there:
            first = next(item for item, count in enumerate(counts) if count)
            patterns = [pattern for pattern in patterns if pattern[first]]
        return iter(sorted(patterns, key=prices.worth, reverse=True))

    chosen: list[Counts] = []
    left = [packing.counts]
    open_ways = [ways(0, packing.counts)]
    while open_ways:
        pattern = next(open_ways[-1], None)
        if pattern is None:
            dead.add((len(chosen), left.pop()))
            open_ways.pop()
            if chosen:
                chosen.pop()
            continue
        counts = tuple(a - b for a, b in zip(left[-1], pattern, strict=True))
        chosen.append(pattern)
        if not any(counts):
            return _padded(chosen, bins, len(counts))
        left.append(counts)
        open_ways.append(ways(len(chosen), counts))
    return None


def _padded(chosen: Sequence[Counts], bins: int, types: int) -> Filling:
    return [list(pattern) for pattern in chosen] + [[0] * types for _ in range(bins - len(chosen))]


def _volume_bound(packing: PackingProblem) -> int:
    """Return how many new bins the items need by volume, in the worst dimension.

    Each item is counted at the smallest of its sizes over all bins.
    """
    most = 0
    for dimension, room in enumerate(packing.fresh.room):
        needed = -sum(bin.room[dimension] for bin in packing.bins)
        for item, count in enumerate(packing.counts):
            sizes = (bin.sizes[item][dimension] for bin in (*packing.bins, packing.fresh))
            needed += count * min(sizes)
        if room and needed > 0:
            most = max(most, -(-needed // room))
    return most


_NEARLY = 1e-6


def filled_by_diving(packing: PackingProblem, pricing: PackingLinearProgram) -> Filling:
    """Return a filling of all items, each of which fits a fresh bin.

    Where the linear program uses no pattern whole, the pattern that it uses most is kept.
    Whatever it leaves over at the end goes in by first fit.

    Raises:
        PackingStepLimitError: The steps are spent before the end.

    """
    waiting = list(range(len(packing.bins)))
    filling: Filling = [[0] * len(packing.counts) for _ in packing.bins]
    left = packing.counts
    while any(left):
        _, uses = pricing.best(left, waiting)
        before = left
        for use in _to_keep(uses):
            for _ in range(max(1, int(use.times + _NEARLY))):
                pattern = tuple(map(min, use.pattern, left))
                left = tuple(a - b for a, b in zip(left, pattern, strict=True))
                if use.bin is not None:
                    filling[use.bin] = list(pattern)
                    waiting.remove(use.bin)
                elif any(pattern):
                    filling.append(list(pattern))
        if left == before:
            break
    return with_all_items_packed(packing, filling)


def with_all_items_packed(packing: PackingProblem, filling: Filling) -> Filling:
    """Return the filling with all items of the packing; each of them fits a fresh bin."""
    rooms = []
    for number, items in enumerate(filling):
        bin = packing.bin(number)
        room = bin.room
        for item, count in enumerate(items):
            room = bin.without(room, item, count)
        rooms.append(room)
    filling = [list(items) for items in filling]
    for item, wanted in enumerate(packing.counts):
        left = wanted - sum(items[item] for items in filling)
        number = 0
        while left:
            if number == len(filling):
                rooms.append(packing.fresh.room)
                filling.append([0] * len(packing.counts))
            bin = packing.bin(number)
            while left and bin.fits(rooms[number], item):
                rooms[number] = bin.without(rooms[number], item)
                filling[number][item] += 1
                left -= 1
            number += 1
    return filling


def _to_keep(uses: list[BinPatternUse]) -> list[BinPatternUse]:
    whole = [use for use in uses if use.times >= 1 - _NEARLY]
    return whole or sorted(uses, key=lambda use: use.times)[-1:]
