"""Diving for a good filling: what the linear program uses whole is kept, the rest solved again."""

from placer.packing.bins import Filling, PackingProblem
from placer.packing.prices import BinPatternUse, PackingProgram

_NEARLY = 1e-6


def filled_by_diving(packing: PackingProblem, pricing: PackingProgram) -> Filling:
    """Return a filling of all items, each of which fits a fresh bin.

    Where the linear program uses no pattern whole, the pattern that it uses most is kept.
    Whatever it leaves over at the end goes in by first fit.

    Raises:
        StepLimitError: The steps are spent before the end.

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
    return completed_filling(packing, filling)


def completed_filling(packing: PackingProblem, filling: Filling) -> Filling:
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
