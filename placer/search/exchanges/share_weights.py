"""Weights of shares: numbers by which what is on one device never counts more than the device.

Of a few sizes all fillings of a device are known. Weights by which none of them counts more than
the whole are sums that every node keeps, and the largest of them say nearly all there is to say of
shares: of 70, 50, 30 and 20 percent, three of 30 fill a device as 50, 30 and 20 do. A linear
program proposes weights; they are taken as fractions, and held against all fillings.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import lcm

import numpy as np

from placer.linear import LinearProgram
from placer_models.device_share import ShareAmounts, share_amounts_left, share_fits
from placer_models.records import record

MOST_SIZES = 8
"""The most sizes of shares that are looked at."""

MOST_FILLINGS = 2_000
"""The most fillings of a device, full or not, that are looked at."""

DIRECTIONS = 60
"""How many mixtures of shares are asked by which weights they count most."""

MOST_WEIGHTS = 6
"""The most weights: those that count most for most mixtures."""

MOST_PARTS = 60
"""The largest denominator of a weight."""

DeviceFilling = tuple[int, ...]
"""How many shares of each size are on a device."""


@record(frozen=True, slots=True)
class ExchangeDeviceShareWeights:
    """What shares count.

    Attributes:
        of: Size of a share -> what it counts.
        whole: What a whole device counts: as much as any filling of it, or more.

    """

    of: dict[ShareAmounts, int]
    whole: int

    def most(self, left: ShareAmounts) -> int:
        """Return what shares count at most that fit into what is left of a device."""
        found = device_share_fillings(list(self.of), left, MOST_FILLINGS)
        if found is None:
            return self.whole
        weights = self.of.values()
        return max(sum(n * w for n, w in zip(f, weights, strict=True)) for f in found)


def device_share_fillings(
    sizes: Sequence[ShareAmounts], left: ShareAmounts, most: int
) -> list[DeviceFilling] | None:
    """Return all ways to fill a device with shares, full or not; None: there are more than that."""
    found: list[DeviceFilling] = []
    for filling in _fillings(sizes, left):
        found.append(filling)
        if len(found) > most:
            return None
    return found


def _fillings(sizes: Sequence[ShareAmounts], left: ShareAmounts) -> Iterator[DeviceFilling]:
    if not sizes:
        yield ()
        return
    size, *others = sizes
    count = 0
    while True:
        for rest in _fillings(others, left):
            yield (count, *rest)
        if not share_fits(size, left):
            return
        left, count = share_amounts_left(left, size), count + 1


def share_capacity_cut_weights(
    sizes: Sequence[ShareAmounts], whole: ShareAmounts
) -> list[ExchangeDeviceShareWeights]:
    """Return weights of shares on devices that are alike; none if there are too many fillings.

    Args:
        sizes: What shares take of a device; of each something, and no more than it has.
        whole: What an empty device has.

    """
    if not sizes or len(sizes) > MOST_SIZES or not all(map(any, sizes)):
        return []
    found = device_share_fillings(sizes, whole, MOST_FILLINGS)
    if found is None:
        return []
    program = LinearProgram(maximise=True)
    for _ in sizes:
        program.variable(most=1.0)
    for filling in found:
        row = program.row(most=1.0)
        for number, count in enumerate(filling):
            if count:
                program.put(row, number, float(count))
    rng = np.random.default_rng(len(sizes))
    times: dict[tuple[Fraction, ...], int] = {}
    for _ in range(DIRECTIONS):
        for number, cost in enumerate(rng.integers(1, 10, len(sizes)).tolist()):
            program.set_cost(number, float(cost))
        program.solve()
        weights = tuple(
            Fraction(max(0.0, program.value(number))).limit_denominator(MOST_PARTS)
            for number in range(len(sizes))
        )
        times[weights] = times.get(weights, 0) + 1
    best = sorted(times, key=lambda weights: -times[weights])
    kept = [weights for weights in best if any(weights) and _holds(weights, found)][:MOST_WEIGHTS]
    return [_in_parts(sizes, weights) for weights in kept]


def _holds(weights: Sequence[Fraction], found: Sequence[DeviceFilling]) -> bool:
    """Return whether no filling counts more than the whole."""
    return all(sum(n * w for n, w in zip(f, weights, strict=True)) <= 1 for f in found)


def _in_parts(
    sizes: Sequence[ShareAmounts], weights: Sequence[Fraction]
) -> ExchangeDeviceShareWeights:
    """Return the weights as whole numbers."""
    parts = lcm(*(weight.denominator for weight in weights))
    return ExchangeDeviceShareWeights(
        {size: int(weight * parts) for size, weight in zip(sizes, weights, strict=True)}, parts
    )
