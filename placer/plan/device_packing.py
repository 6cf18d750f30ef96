"""Packing of devices: which share comes to which device, where best fit alone does not do."""

from collections.abc import Callable, Sequence

from placer.packing.bins import Vector
from placer.plan.market import BinDevicesOfOneType, BinKind


def can_devices_hold_items(
    devices: BinDevicesOfOneType, counts: Sequence[int], spend: Callable[[], None] = lambda: None
) -> bool:
    """Return whether the devices give all items what they ask, each share of another device.

    It tries everything, so it is for few items.
    """
    return _packed(devices, counts, spend) is not None


def item_order_filling_devices(
    kind: BinKind, counts: Sequence[int], spend: Callable[[], None] = lambda: None
) -> list[int] | None:
    """Return the items in an order in which they fill one device after the other, or None.

    Items that take whole devices come first. In this order best fit finds a place for each of
    them. None: the devices do not hold them.

    Args:
        kind: The kind of bin.
        counts: How many items of each kind are in it.
        spend: Called for each step, of which there may be many.

    """
    order: list[int] = []
    listed = [0] * len(counts)
    for devices in kind.devices:
        found = _packed(devices, counts, spend)
        if found is None:
            return None
        wholes = [i for i, ask in enumerate(devices.asks) for _ in range(counts[i]) if ask.whole]
        by_device = [item for _, item in sorted((used[0], item) for item, used in found)]
        now = [0] * len(counts)
        for item in wholes + by_device:
            now[item] += 1
            if listed[item] < min(now[item], counts[item]):
                listed[item] += 1
                order.append(item)
    rest = zip(counts, listed, strict=True)
    return order + [item for item, (n, done) in enumerate(rest) for _ in range(n - done)]


def _packed(
    devices: BinDevicesOfOneType, counts: Sequence[int], spend: Callable[[], None]
) -> list[tuple[int, tuple[int, ...]]] | None:
    """Return the devices of each item that asks for shares, or None if there is no way."""
    wholes = sum(n * ask.whole for n, ask in zip(counts, devices.asks, strict=True))
    largest = [max(1, *part) for part in zip(*devices.rooms, strict=True)] or [1]

    def size_of(share: int) -> float:
        return float(max(a / b for a, b in zip(devices.sizes[share], largest, strict=True)))

    wants = [
        (item, sorted((s for s, times in ask.shares for _ in range(times)), key=size_of))
        for item, (n, ask) in enumerate(zip(counts, devices.asks, strict=True))
        for _ in range(n)
        if ask.shares
    ]
    wants.sort(key=lambda want: sum(map(size_of, want[1])), reverse=True)
    rooms = list(devices.rooms)
    touched = [not free for free in devices.free]
    given: list[tuple[int, ...]] = []

    def give(which: int, used: tuple[int, ...]) -> bool:
        spend()
        if which == len(wants):
            return touched.count(False) >= wholes
        shares = wants[which][1]
        if len(used) == len(shares):
            given.append(used)
            if give(which + 1, ()):
                return True
            given.pop()
            return False
        size = devices.sizes[shares[len(used)]]
        tried: set[tuple[Vector, bool]] = set()
        # Fullest first: a free device may be wanted whole.
        for at in sorted(range(len(rooms)), key=lambda at: (not touched[at], sum(rooms[at]), at)):
            room = rooms[at]
            rest = tuple(a - b for a, b in zip(room, size, strict=True))
            if at in used or min(rest, default=0) < 0 or (room, touched[at]) in tried:
                continue
            tried.add((room, touched[at]))
            before = touched[at]
            rooms[at], touched[at] = rest, True
            if give(which, (*used, at)):
                return True
            rooms[at], touched[at] = room, before
        return False

    if not give(0, ()):
        return None
    return [(item, used) for (item, _), used in zip(wants, given, strict=True)]
