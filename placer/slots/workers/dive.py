"""A good filling from the linear program: what it uses whole is kept, then it is asked again."""

from placer.slots.workers.in_order import InOrder
from placer.slots.workers.packing import Filling, Packing
from placer.slots.workers.prices import Pricing, Use
from placer.slots.workers.words import Matching

_NEARLY = 1e-6


def dive(packing: Packing, pricing: Pricing) -> Filling:
    """Return a filling of all things, each of which fits a fresh bin.

    Where the linear program uses no pattern whole, the one it uses most is taken. What
    it leaves at the end goes in first fit.

    Raises:
        WorkLimitError: The work is done before.

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
    return _completed(packing, filling)


def _to_keep(uses: list[Use]) -> list[Use]:
    whole = [use for use in uses if use.times >= 1 - _NEARLY]
    return whole or sorted(uses, key=lambda use: use.times)[-1:]


def _completed(packing: Packing, filling: Filling) -> Filling:
    """Return the filling with what it lacks, put where there is room."""
    state = InOrder(packing, len(packing.bins))
    for number, things in enumerate(filling):
        state.open(number)
        for thing, count in enumerate(things):
            state.put(number, thing, count)
    for thing, count in enumerate(packing.counts):
        left = count - sum(things[thing] for things in filling)
        state.onto_pending(thing, state.onto_running(thing, left, Matching.FIRST_FIT))
    return state.filling
