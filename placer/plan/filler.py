"""The filler: many greedy fillings of bins at a time, each in an order of its own.

It keeps to the sums of a bin and to its devices one by one. Rows of arrays are bins; those of
different kinds go together, because each step costs about the same for one row and for a hundred.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from placer.plan.arrays import FloatArray, IntArray
from placer.plan.market import BinKind, Devices

Truth = NDArray[np.bool_]

_SMALL = 1e-9
_AGAIN = 4
"""How often fillings are made again from parts of the best ones."""
_ENDLESS = np.iinfo(np.int64).max


@dataclass(slots=True)
class _DeviceTables:
    """The devices of one type, kind by kind.

    Attributes:
        rooms: Kind by device by quantity; a device that a kind lacks has less than nothing.
        free: Kind by device: which may be taken whole.
        sizes: Kind by class of shares by quantity.
        whole: Kind by item: how many whole devices it takes.
        share: Kind by item by entry: the class of shares.
        count: Kind by item by entry: how many shares; 0 where an item has fewer entries.

    """

    rooms: IntArray
    free: Truth
    sizes: IntArray
    whole: IntArray
    share: IntArray
    count: IntArray


@dataclass(slots=True)
class _Bins:
    """Bins that are being filled.

    Attributes:
        kind: The kind of each.
        counts: What they hold.
        left: What is left of their sums.
        rooms: What is left of their devices, type by type.
        free: Which of their devices may be taken whole, type by type.

    """

    kind: IntArray
    counts: IntArray
    left: IntArray
    rooms: list[IntArray]
    free: list[Truth]

    def part(self, rows: IntArray) -> "_Bins":
        """Return some of the bins, as copies."""
        return _Bins(
            self.kind[rows],
            self.counts[rows],
            self.left[rows],
            [rooms[rows] for rooms in self.rooms],
            [free[rows] for free in self.free],
        )

    def put_back(self, rows: IntArray, part: "_Bins") -> None:
        """Let some of the bins be as the part says."""
        self.counts[rows], self.left[rows] = part.counts, part.left
        for mine, its in zip(self.rooms, part.rooms, strict=True):
            mine[rows] = its
        for free, its_free in zip(self.free, part.free, strict=True):
            free[rows] = its_free


@dataclass(slots=True)
class _Asks:
    """What items ask of the devices of a type, bin by bin.

    Attributes:
        whole: Bin by item: how many whole devices.
        sizes: Bin by class of shares by quantity.
        shares: For each entry, bin by item: the class of shares, and how many.

    """

    whole: IntArray
    sizes: IntArray
    shares: list[tuple[IntArray, IntArray]]


class Filler:
    """Fills bins of the kinds of a market."""

    def __init__(self, kinds: Sequence[BinKind]) -> None:
        """Write the kinds as arrays."""
        items, width = len(kinds[0].sizes), len(kinds[0].room)
        self._may: Truth = np.array([[size is not None for size in k.sizes] for k in kinds])
        self._room: IntArray = np.array([kind.room for kind in kinds], np.int64)
        sizes = [[size or (0,) * width for size in kind.sizes] for kind in kinds]
        self._sizes: IntArray = np.array(sizes, np.int64).reshape(len(kinds), items, width)
        by_type = zip(*(kind.devices for kind in kinds), strict=True)
        self._devices = [_tables(of_kinds, items) for of_kinds in by_type]
        self._parts = self._relative_sizes()

    def fill(
        self,
        kinds: Sequence[int],
        values: FloatArray,
        most: IntArray,
        rng: np.random.Generator,
        rows: int,
    ) -> tuple[IntArray, IntArray]:
        """Return fillings by greedy orders drawn at random: their kinds, and counts of items.

        Args:
            kinds: The kinds of bins.
            values: What an item of each kind is worth.
            most: How many items of each kind there are.
            rng: Draws the orders.
            rows: How many fillings of each kind at a time; some times as many come back.

        """
        kind = np.repeat(np.array(kinds, np.int64), rows)
        parts = self._parts[kind]
        weights = rng.random((len(kind), parts.shape[2])) ** 2
        noise = rng.normal(0.0, 1.0, parts.shape[:2]) * rng.random((len(kind), 1)) * 0.3
        weights[::rows], noise[::rows] = 1.0, 0.0
        value = np.maximum(values, 0.0)
        order = value / (np.einsum("bsr,br->bs", parts, weights) + _SMALL) * np.exp(noise)
        limit = np.broadcast_to(most, order.shape)
        bins = self._empty(kind)
        self._go_on(bins, order, limit)
        found = bins.counts.reshape(len(kinds), rows, -1)
        for _ in range(_AGAIN):
            # From the best so far a coin says what is kept, and the rest is filled anew.
            best = (found @ value).argsort(axis=1)[:, ::-1][:, : max(1, rows // 4)]
            found = np.concatenate([found, self._again(kind, found, best, order, limit, rng)], 1)
        return np.repeat(kind[::rows], found.shape[1]), found.reshape(-1, found.shape[2])

    def _again(
        self,
        kind: IntArray,
        found: IntArray,
        best: IntArray,
        order: FloatArray,
        limit: IntArray,
        rng: np.random.Generator,
    ) -> IntArray:
        """Return new fillings that keep parts of the best ones."""
        rows = len(kind) // len(found)
        drawn = rng.integers(0, best.shape[1], (len(best), rows))
        source = np.take_along_axis(best, drawn, axis=1)
        like = np.take_along_axis(found, source[:, :, None], axis=1).reshape(len(kind), -1)
        keep = rng.binomial(like, 0.35 + 0.6 * rng.random((len(kind), 1)))
        bins = self._empty(kind)
        self._go_on(bins, order + 1.0, keep)
        self._go_on(bins, order, limit)
        again: IntArray = bins.counts.reshape(len(found), rows, -1)
        return again

    def completed(self, kind: int, held: IntArray, values: FloatArray, most: IntArray) -> IntArray:
        """Return a filling with as much more as goes in greedily; ``held`` should fit."""
        bins = self._empty(np.array([kind]))
        order = np.maximum(values, 0.0) / (self._parts[kind].sum(axis=1) + _SMALL)
        self._go_on(bins, self._hardness(kind), held[None])
        self._go_on(bins, order[None], most[None])
        filled: IntArray = bins.counts[0]
        return filled

    def holds(self, kind: int, counts: IntArray) -> bool:
        """Return whether a bin holds so many items, as far as a greedy look says."""
        if counts[~self._may[kind]].any() or not self._sums_hold(kind, counts):
            return False
        bins = self._empty(np.array([kind]))
        self._go_on(bins, self._hardness(kind), counts[None])
        return bool((bins.counts[0] == counts).all())

    def _sums_hold(self, kind: int, counts: IntArray) -> bool:
        """Return whether the sums of a bin hold so many items, and enough devices are whole."""
        if (counts @ self._sizes[kind] > self._room[kind]).any():
            return False
        return all(
            int(counts @ table.whole[kind]) <= int(table.free[kind].sum())
            for table in self._devices
        )

    def _relative_sizes(self) -> FloatArray:
        """Return which part of a bin an item takes, by resource and type of devices."""
        parts = [self._sizes / np.maximum(self._room, 1)[:, None]]
        for table in self._devices:
            total = np.maximum(table.rooms.clip(0).sum(axis=1), 1)
            devices = np.maximum((table.rooms >= 0).all(axis=2).sum(axis=1), 1)
            whole = table.whole[:, :, None] * (total / devices[:, None])[:, None]
            shares = np.zeros_like(whole)
            kinds = np.arange(len(total))[:, None]
            for entry in range(table.share.shape[2]):
                size = table.sizes[kinds, table.share[:, :, entry]]
                shares += size * table.count[:, :, entry, None]
            parts.append((whole + shares) / total[:, None])
        return np.concatenate(parts, axis=2)

    def _hardness(self, kind: int) -> FloatArray:
        """Return an order for packing: who takes most of a device first, then most of the bin."""
        order = self._parts[kind].max(axis=1, initial=0.0)
        for table in self._devices:
            order = order + 20.0 * table.whole[kind]
            for entry in range(table.share.shape[2]):
                size = table.sizes[kind][table.share[kind, :, entry]]
                largest = np.maximum(table.rooms[kind].max(axis=0, initial=0), 1)
                part = (size / largest).max(axis=1, initial=0.0)
                order = order + 10.0 * np.where(table.count[kind, :, entry] > 0, part, 0.0)
        hardest: FloatArray = (order + _SMALL)[None]
        return hardest

    def _empty(self, kind: IntArray) -> _Bins:
        return _Bins(
            kind,
            np.zeros((len(kind), self._may.shape[1]), np.int64),
            self._room[kind],
            [table.rooms[kind] for table in self._devices],
            [table.free[kind] for table in self._devices],
        )

    def _go_on(self, bins: _Bins, order: FloatArray, most: IntArray) -> None:
        """Put items in, bin by bin the best that still fits, as long as any does."""
        open_ = (order > _SMALL) & (bins.counts < most) & self._may[bins.kind]
        rows: IntArray = np.arange(len(open_))
        part, sizes, asks = bins, self._sizes[bins.kind], self._asks(bins.kind)
        while True:
            # What did not fit once never will again: bins only get fuller.
            self._close(part, open_, sizes, asks)
            going: IntArray = np.flatnonzero(open_.any(axis=1))
            if 2 * len(going) < len(open_):
                # Bins that are full are put aside, so that the others are looked at alone.
                if part is not bins:
                    bins.put_back(rows, part)
                rows = rows[going]
                part = bins.part(rows)
                open_, order, most, sizes = open_[going], order[going], most[going], sizes[going]
                asks = self._asks(part.kind)
                going = np.arange(len(rows))
            if not len(going):
                return
            items = np.where(open_[going], order[going], -1.0).argmax(axis=1)
            placed = self._put(part, going, items, most, sizes)
            failed = going[~placed]
            open_[failed, items[~placed]] = False
            open_[going, items] &= part.counts[going, items] < most[going, items]

    def _asks(self, kind: IntArray) -> list[_Asks]:
        """Return what items ask of the devices of bins, type by type."""
        return [
            _Asks(
                table.whole[kind],
                table.sizes[kind],
                [
                    (table.share[kind, :, entry], table.count[kind, :, entry])
                    for entry in range(table.share.shape[2])
                ],
            )
            for table in self._devices
        ]

    @staticmethod
    def _close(bins: _Bins, open_: Truth, sizes: IntArray, asks: Sequence[_Asks]) -> None:
        """Close what does not fit any more."""
        for resource in range(sizes.shape[2]):
            open_ &= sizes[:, :, resource] <= bins.left[:, resource, None]
        for ask, rooms, free in zip(asks, bins.rooms, bins.free, strict=True):
            open_ &= ask.whole <= free.sum(axis=1)[:, None]
            if not ask.sizes.shape[1]:
                continue
            fits = np.ones((len(rooms), rooms.shape[1], ask.sizes.shape[1]), np.bool_)
            for quantity in range(ask.sizes.shape[2]):
                fits &= rooms[:, :, quantity, None] >= ask.sizes[:, None, :, quantity]
            places = fits.sum(axis=1)
            for share, count in ask.shares:
                open_ &= count <= np.take_along_axis(places, share, axis=1)

    def _put(
        self, bins: _Bins, rows: IntArray, items: IntArray, most: IntArray, sizes: IntArray
    ) -> Truth:
        """Put one item into each row, or as many as fit where it has no part of a device."""
        kind = bins.kind[rows]
        times = most[rows, items] - bins.counts[rows, items]
        size = sizes[rows, items]
        room = np.where(size > 0, bins.left[rows] // np.maximum(size, 1), _ENDLESS)
        times = np.minimum(times, room.min(axis=1, initial=_ENDLESS))
        placed = np.ones(len(rows), np.bool_)
        for which, table in enumerate(self._devices):
            asks = (table.whole[kind, items] > 0) | table.count[kind, items].any(axis=1)
            times = np.where(asks, np.minimum(times, 1), times)
            asking = asks.nonzero()[0]
            if len(asking):
                placed[asking] &= _take(
                    table,
                    bins.rooms[which],
                    bins.free[which],
                    rows[asking],
                    kind[asking],
                    items[asking],
                )
        times = np.where(placed, times, 0)
        bins.left[rows] -= times[:, None] * size
        bins.counts[rows, items] += times
        return placed


def _tables(of_kinds: Sequence[Devices], items: int) -> _DeviceTables:
    """Write the devices of one type as tables."""
    kinds = len(of_kinds)
    most = max(len(devices.rooms) for devices in of_kinds)
    width = max((len(room) for d in of_kinds for room in (*d.rooms, *d.sizes)), default=1)
    classes = max(len(devices.sizes) for devices in of_kinds)
    entries = max((len(ask.shares) for d in of_kinds for ask in d.asks), default=0)
    table = _DeviceTables(
        np.full((kinds, most, width), -1, np.int64),
        np.zeros((kinds, most), np.bool_),
        np.zeros((kinds, classes, width), np.int64),
        np.zeros((kinds, items), np.int64),
        np.zeros((kinds, items, entries), np.int64),
        np.zeros((kinds, items, entries), np.int64),
    )
    for kind, devices in enumerate(of_kinds):
        for device, room in enumerate(devices.rooms):
            table.rooms[kind, device] = (*room, *[0] * (width - len(room)))
        table.free[kind, : len(devices.free)] = devices.free
        for share, size in enumerate(devices.sizes):
            table.sizes[kind, share, : len(size)] = size
        for item, ask in enumerate(devices.asks):
            table.whole[kind, item] = ask.whole
            for entry, (share, count) in enumerate(ask.shares):
                table.share[kind, item, entry] = share
                table.count[kind, item, entry] = count
    return table


def _take(
    table: _DeviceTables,
    rooms: IntArray,
    free: Truth,
    rows: IntArray,
    kind: IntArray,
    items: IntArray,
) -> Truth:
    """Take what the items ask of the devices of a type; tell which rows had all of it."""
    done = np.ones(len(rows), np.bool_)
    taken = np.zeros((len(rows), rooms.shape[1]), np.bool_)
    largest = np.maximum(table.rooms.max(axis=1), 1)
    for entry in range(table.share.shape[2]):
        wanted = table.count[kind, items, entry]
        size = table.sizes[kind, table.share[kind, items, entry]]
        for step in range(int(wanted.max(initial=0))):
            which = (wanted > step).nonzero()[0]
            after = rooms[rows[which]] - size[which][:, None]
            fits = (after >= 0).all(axis=2) & ~taken[which]
            # The device with the least left is taken: free ones stay free for whole ones.
            rest = (after / largest[kind[which]][:, None]).sum(axis=2)
            best = np.where(fits, rest, np.inf).argmin(axis=1)
            found = fits[np.arange(len(which)), best]
            done[which[~found]] = False
            which, best = which[found], best[found]
            rooms[rows[which], best] -= size[which]
            free[rows[which], best] = False
            taken[which, best] = True
    wanted = table.whole[kind, items]
    if wanted.any():
        open_ = free[rows] & ~taken
        chosen = open_ & (open_.cumsum(axis=1) <= wanted[:, None])
        done &= chosen.sum(axis=1) == wanted
        chosen &= done[:, None]
        at, device = chosen.nonzero()
        free[rows[at], device] = False
        rooms[rows[at], device] = -1
    return done
