"""The aggregate program: bins bought by sums alone, rounded up where items are large.

It knows no patterns, so it is solved at once, and its values are good ones to begin with. A
dual feasible function f_k turns parts of a bin into parts of a bin, so that what fits still fits:
f_k(x) = x if (k + 1) x is whole, else the whole part of (k + 1) x, divided by k. Items just over
half a bin count as half a bin or more.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from placer.linear import LinearProgram
from placer.plan.market import (
    BinDevicesOfOneType,
    BinKind,
    PurchaseProblem,
    max_item_count_in_empty_bin,
)

SHORT = 50.0
"""An item without a place costs so many times as much as the dearest bin."""

FUNCTIONS = 12
"""How many dual feasible functions there are."""


@dataclass(frozen=True, slots=True)
class AggregateProgramRowKey:
    """What a row of the program is about.

    Attributes:
        devices: The index of the type of devices, or None for a resource of the bin itself.
        number: The index of the resource or of the quantity of a device; -1 for devices as such.

    """

    devices: int | None
    number: int


@dataclass(frozen=True, slots=True)
class AggregateProgramDuals:
    """The answer of the aggregate program.

    Attributes:
        values: Block by item: what one more item would cost.
        rents: For each kind of bins: what of its price is paid for each of its subjects.

    """

    values: NDArray[np.float64]
    rents: tuple[dict[AggregateProgramRowKey, float], ...]


def dual_feasible_function(size: int, room: int, k: int) -> float:
    """Return f_k of the part of the room; f_0 is the part itself."""
    if not room:
        return 0.0
    return size / room if k == 0 else scaled_dual_feasible_function(size, room, k) / (k * room)


def scaled_dual_feasible_function(size: int, room: int, k: int) -> int:
    """Return f_k of the part of the room, as a whole number of which the room has k * room."""
    if (k + 1) * size % room == 0:
        return k * size
    return (k + 1) * size // room * room


def solve_aggregate_lp_for_duals(market: PurchaseProblem) -> AggregateProgramDuals:
    """Solve the aggregate program."""
    program = LinearProgram()
    bins = [
        program.variable(float(kind.price), None if kind.buyable is None else float(kind.buyable))
        for kind in market.kinds
    ]
    dearest = float(max(kind.price for kind in market.kinds) or 1)
    demand: list[list[int]] = []
    rows: list[list[tuple[AggregateProgramRowKey, int]]] = [[] for _ in market.kinds]
    for counts in market.blocks:
        demand.append([program.row(least=float(count)) for count in counts])
        for row in demand[-1]:
            program.put(row, program.variable(SHORT * dearest), 1.0)
        for number, kind in enumerate(market.kinds):
            here = [
                i
                for i, count in enumerate(counts)
                if count and max_item_count_in_empty_bin(kind, i, count)
            ]
            places = {item: program.variable() for item in here}
            for item, place in places.items():
                program.put(demand[-1][item], place, 1.0)
            for subject, sizes in _rows(kind, here):
                row = program.row(most=0.0)
                program.put(row, bins[number], -1.0)
                for item, size in sizes.items():
                    program.put(row, places[item], size)
                rows[number].append((subject, row))
    program.solve()
    rents: list[dict[AggregateProgramRowKey, float]] = []
    for mine in rows:
        rent: dict[AggregateProgramRowKey, float] = {}
        for subject, row in mine:
            rent[subject] = rent.get(subject, 0.0) + max(0.0, -program.dual(row))
        rents.append(rent)
    values = [[program.dual(row) for row in block] for block in demand]
    return AggregateProgramDuals(np.array(values, np.float64).clip(0.0), tuple(rents))


def _rows(
    kind: BinKind, here: list[int]
) -> Iterator[tuple[AggregateProgramRowKey, dict[int, float]]]:
    """Yield rows: what each item takes, where a bin has 1. Equal rows come once."""
    seen: set[tuple[float, ...]] = set()
    for k in range(FUNCTIONS + 1):
        for subject, sizes in _of_function(kind, here, k):
            key = tuple(sizes)
            if any(key) and key not in seen:
                seen.add(key)
                yield subject, {i: size for i, size in zip(here, sizes, strict=True) if size}


def _of_function(
    kind: BinKind, here: list[int], k: int
) -> Iterator[tuple[AggregateProgramRowKey, list[float]]]:
    sizes = [kind.sizes[item] or kind.room for item in here]
    for number, room in enumerate(kind.room):
        yield (
            AggregateProgramRowKey(None, number),
            [dual_feasible_function(size[number], room, k) for size in sizes],
        )
    for which, devices in enumerate(kind.devices):
        yield from _of_devices(which, devices, here, k)


def _of_devices(
    which: int, devices: BinDevicesOfOneType, here: list[int], k: int
) -> Iterator[tuple[AggregateProgramRowKey, list[float]]]:
    """Yield what items take of devices: of their number, and of the inside of one device."""
    number = len(devices.rooms)
    if not number:
        return
    asks = [devices.asks[item] for item in here]
    free = sum(devices.free)
    yield (
        AggregateProgramRowKey(which, -1),
        [dual_feasible_function(ask.whole, free, k) for ask in asks],
    )
    for quantity in range(len(devices.rooms[0])):
        # By the largest device: a part of it is a part at least as large of any other.
        room = max(room[quantity] for room in devices.rooms)
        yield (
            AggregateProgramRowKey(which, quantity),
            [
                ask.whole / number
                + sum(
                    n * dual_feasible_function(devices.sizes[s][quantity], room, k) / number
                    for s, n in ask.shares
                )
                for ask in asks
            ],
        )
