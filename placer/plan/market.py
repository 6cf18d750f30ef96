"""The market: kinds of bins with prices, and counts of items, all in whole numbers.

Items stand for pods of one shape, bins for nodes. What a bin is here is a relaxation of a node:
its sums, and its devices one by one.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from placer.packing.bins import Counts, Vector

DeviceSizes = tuple[Vector, ...]
"""For each class of shares, what one share takes of a device."""


@dataclass(frozen=True, slots=True)
class ItemDeviceAsk:
    """What an item asks of the devices of one type.

    Attributes:
        whole: How many devices that nobody else has a part of.
        shares: (class of shares, how many of them, each of another device).

    """

    whole: int = 0
    shares: tuple[tuple[int, int], ...] = ()

    @property
    def devices(self) -> int:
        """How many devices it is on."""
        return self.whole + sum(count for _, count in self.shares)


@dataclass(frozen=True, slots=True)
class BinDevicesOfOneType:
    """The devices of one type in a bin, and what items ask of them.

    Attributes:
        rooms: What is left of each device.
        free: Whether each device may be taken whole.
        sizes: What a share of each class takes.
        asks: What each item asks.

    """

    rooms: tuple[Vector, ...]
    free: tuple[bool, ...]
    sizes: DeviceSizes
    asks: tuple[ItemDeviceAsk, ...]


@dataclass(frozen=True, slots=True)
class BinKind:
    """Bins that are alike: an offer, or nodes that are there.

    Attributes:
        room: What one bin has of each resource.
        sizes: What one item takes here; None: it can never be here.
        devices: Its devices, type by type.
        price: What one bin costs, in the market's unit; 0 if it is there.
        most: How many there are at most; None: any number.
        pack: Bins are bought in multiples of this.

    """

    room: Vector
    sizes: tuple[Vector | None, ...]
    devices: tuple[BinDevicesOfOneType, ...] = ()
    price: int = 0
    most: int | None = None
    pack: int = 1

    @property
    def buyable(self) -> int | None:
        """How many can be had, in whole packs; None: any number."""
        return None if self.most is None else self.most - self.most % self.pack


@dataclass(frozen=True, slots=True)
class PurchaseProblem:
    """What is to be placed, and what can be had for it.

    Attributes:
        kinds: Kinds of bins: those that are there have a price of 0.
        blocks: How many items of each kind there are, once for each scenario. All
            scenarios share what is bought; in each, all bins are empty at first.

    """

    kinds: tuple[BinKind, ...]
    blocks: tuple[Counts, ...]

    @property
    def items(self) -> int:
        """How many kinds of items there are."""
        return len(self.blocks[0])

    def most_of(self, kind: BinKind, block: int) -> list[int]:
        """Return how many items of each kind a bin may hold, looking at each kind alone."""
        return [
            max_item_count_in_empty_bin(kind, item, count) if count else 0
            for item, count in enumerate(self.blocks[block])
        ]


def max_item_count_in_empty_bin(kind: BinKind, item: int, count: int) -> int:
    """Return an upper bound of how many items of a kind an empty bin holds, up to ``count``."""
    size = kind.sizes[item]
    if size is None:
        return 0
    limits = [count]
    limits += [room // part for room, part in zip(kind.room, size, strict=True) if part]
    for devices in kind.devices:
        limits += _most_by_devices(devices, item)
    return min(limits)


def _most_by_devices(devices: BinDevicesOfOneType, item: int) -> Iterator[int]:
    ask = devices.asks[item]
    if ask.whole:
        yield sum(devices.free) // ask.whole
    for share, count in ask.shares:
        size = devices.sizes[share]
        places = sum(
            min((room // part for room, part in zip(rooms, size, strict=True) if part), default=1)
            for rooms in devices.rooms
        )
        yield places // count
    if ask.devices > len(devices.rooms):
        yield 0


def value_of_items(values: Sequence[int], counts: Sequence[int]) -> int:
    """Return what so many items of each kind are worth."""
    return sum(value * count for value, count in zip(values, counts, strict=True) if count)
