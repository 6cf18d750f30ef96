"""All patterns of small markets: every full way to fill a bin, so that none is overlooked."""

from collections.abc import Sequence

import numpy as np

from placer.packing.bins import Counts, Vector
from placer.packing.step_limit import PackingStepBudget, PackingStepLimitError
from placer.plan.device_packing import can_devices_hold_items
from placer.plan.market import BinKind, PurchaseProblem
from placer.plan.master import BinPattern

MOST_PATTERNS = 2_000
"""With more patterns than this in all, markets are not small."""

_STEPS = 200_000


def all_full_bin_patterns(market: PurchaseProblem) -> list[BinPattern] | None:
    """Return every full pattern of every kind in every block, or None if there are too many.

    A pattern is full if no further item goes in. Every way to fill a bin is a part of one.
    """
    found: list[BinPattern] = []
    steps = PackingStepBudget(_STEPS)
    try:
        for block in range(len(market.blocks)):
            for number, kind in enumerate(market.kinds):
                patterns = _full(kind, market.most_of(kind, block), steps)
                found += [BinPattern(block, number, np.array(p, np.int64)) for p in patterns]
                if len(found) > MOST_PATTERNS:
                    return None
    except PackingStepLimitError:
        return None
    return found


def _full(kind: BinKind, most: Sequence[int], steps: PackingStepBudget) -> list[Counts]:
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
            left = tuple(a - b for a, b in zip(left, kind.sizes[item] or left, strict=True))
        for room in reversed(rooms):
            choose(item + 1, room)
            chosen[item] -= 1
        chosen[item] = 0

    choose(0, kind.room)
    return found


def _goes_in(
    kind: BinKind,
    held: Sequence[int],
    most: Sequence[int],
    left: Vector,
    item: int,
    steps: PackingStepBudget,
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
    return all(can_devices_hold_items(devices, more, steps.spend) for devices in kind.devices)
