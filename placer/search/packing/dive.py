"""A good filling from the linear program: what it uses whole is kept, then it is asked again."""

from placer.search.packing.bins import Filling, Packing
from placer.search.packing.first_fit import completed
from placer.search.packing.prices import Pricing, Use

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
    return completed(packing, filling)


def _to_keep(uses: list[Use]) -> list[Use]:
    whole = [use for use in uses if use.times >= 1 - _NEARLY]
    return whole or sorted(uses, key=lambda use: use.times)[-1:]
