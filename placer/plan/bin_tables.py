"""Tables: kinds of bins, and what items take of them, as arrays that have one row a kind."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from placer.plan.arrays import IntArray
from placer.plan.market import BinKind

Truth = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class BinKindArrays:
    """Kinds of bins as arrays; types of devices are padded to the largest of them.

    Attributes:
        may: Kind by item: whether the item can be there.
        room: Kind by resource.
        sizes: Kind by item by resource.
        rooms: Type by kind by device by quantity; a device that a kind lacks has less than nothing.
        free: Type by kind by device: which may be taken whole.
        shares: Type by kind by class of shares by quantity.
        whole: Type by kind by item: how many whole devices it takes.
        share: Type by kind by item by entry: the class of shares.
        count: Type by kind by item by entry: how many shares; 0 where an item has fewer entries.
        largest: Type by kind by quantity: what a whole device has, and 1 at least.

    """

    may: Truth
    room: IntArray
    sizes: IntArray
    rooms: IntArray
    free: Truth
    shares: IntArray
    whole: IntArray
    share: IntArray
    count: IntArray
    largest: IntArray

    @property
    def types(self) -> int:
        """How many types of devices there are."""
        return len(self.rooms)


def bin_kind_arrays_of(kinds: Sequence[BinKind]) -> BinKindArrays:
    """Write kinds as tables."""
    items, width, many = len(kinds[0].sizes), len(kinds[0].room), len(kinds)
    types = len(kinds[0].devices)
    every = [devices for kind in kinds for devices in kind.devices]
    most = max((len(devices.rooms) for devices in every), default=1)
    wide = max((len(part) for d in every for part in (*d.rooms, *d.sizes)), default=1)
    classes = max((len(devices.sizes) for devices in every), default=0)
    entries = max((len(ask.shares) for d in every for ask in d.asks), default=0)
    sizes = [[size or (0,) * width for size in kind.sizes] for kind in kinds]
    rooms = np.full((types, many, most, wide), -1, np.int64)
    free = np.zeros((types, many, most), np.bool_)
    shares = np.zeros((types, many, classes, wide), np.int64)
    whole = np.zeros((types, many, items), np.int64)
    share = np.zeros((types, many, items, entries), np.int64)
    count = np.zeros((types, many, items, entries), np.int64)
    for number, kind in enumerate(kinds):
        for which, devices in enumerate(kind.devices):
            for device, room in enumerate(devices.rooms):
                rooms[which, number, device] = (*room, *[0] * (wide - len(room)))
            free[which, number, : len(devices.free)] = devices.free
            for of_class, size in enumerate(devices.sizes):
                shares[which, number, of_class, : len(size)] = size
            for item, ask in enumerate(devices.asks):
                whole[which, number, item] = ask.whole
                for entry, (of_class, times) in enumerate(ask.shares):
                    share[which, number, item, entry] = of_class
                    count[which, number, item, entry] = times
    return BinKindArrays(
        np.array([[size is not None for size in kind.sizes] for kind in kinds]),
        np.array([kind.room for kind in kinds], np.int64).reshape(many, width),
        np.array(sizes, np.int64).reshape(many, items, width),
        rooms,
        free,
        shares,
        whole,
        share,
        count,
        np.maximum(rooms.max(axis=2, initial=0), 1),
    )
