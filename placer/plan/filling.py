"""Filling: bins are filled item by item in given orders, row by row, by NumPy.

It keeps to the sums of a bin and to its devices one by one. Rows of arrays are bins; those of
different kinds go together, because each step costs about the same for one row and for a hundred.
`placer[fast]` brings a compiled loop that gives the same (`compiled_filling`).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from placer.plan.arrays import FloatArray, IntArray
from placer.plan.bin_tables import BinKindArrays, Truth

SMALL = 1e-9
"""Items with a lower place in the order than this are left out."""

_ENDLESS = np.iinfo(np.int64).max

Pass = tuple[FloatArray, IntArray]
"""For each row and item: its place in the order, the highest first; how many are let in at most,
those of earlier passes included."""


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


def fill_bins_in_passes(tables: BinKindArrays, kind: IntArray, passes: Sequence[Pass]) -> IntArray:
    """Return what bins hold that were filled in passes, each in its order.

    Args:
        tables: The kinds of bins.
        kind: The kind of each row.
        passes: One after the other, into the same bins.

    """
    bins = _Bins(
        kind,
        np.zeros((len(kind), tables.may.shape[1]), np.int64),
        tables.room[kind],
        [rooms[kind] for rooms in tables.rooms],
        [free[kind] for free in tables.free],
    )
    for order, most in passes:
        _go_on(tables, bins, order, most)
    return bins.counts


def _go_on(tables: BinKindArrays, bins: _Bins, order: FloatArray, most: IntArray) -> None:
    """Put items in, bin by bin the best that still fits, as long as any does."""
    open_ = (order > SMALL) & (bins.counts < most) & tables.may[bins.kind]
    rows: IntArray = np.arange(len(open_))
    part, sizes, asks = bins, tables.sizes[bins.kind], _asks(tables, bins.kind)
    while True:
        # What did not fit once never will again: bins only get fuller.
        _close(part, open_, sizes, asks)
        going: IntArray = np.flatnonzero(open_.any(axis=1))
        if 2 * len(going) < len(open_):
            # Bins that are full are put aside, so that the others are looked at alone.
            if part is not bins:
                bins.put_back(rows, part)
            rows = rows[going]
            part = bins.part(rows)
            open_, order, most, sizes = open_[going], order[going], most[going], sizes[going]
            asks = _asks(tables, part.kind)
            going = np.arange(len(rows))
        if not len(going):
            return
        items = np.where(open_[going], order[going], -1.0).argmax(axis=1)
        placed = _put(tables, part, going, items, most, sizes)
        failed = going[~placed]
        open_[failed, items[~placed]] = False
        open_[going, items] &= part.counts[going, items] < most[going, items]


def _asks(tables: BinKindArrays, kind: IntArray) -> list[_Asks]:
    """Return what items ask of the devices of bins, type by type."""
    return [
        _Asks(
            tables.whole[which, kind],
            tables.shares[which, kind],
            [
                (tables.share[which, kind, :, entry], tables.count[which, kind, :, entry])
                for entry in range(tables.share.shape[3])
            ],
        )
        for which in range(tables.types)
    ]


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
    tables: BinKindArrays,
    bins: _Bins,
    rows: IntArray,
    items: IntArray,
    most: IntArray,
    sizes: IntArray,
) -> Truth:
    """Put one item into each row, or as many as fit where it has no part of a device."""
    kind = bins.kind[rows]
    times = most[rows, items] - bins.counts[rows, items]
    size = sizes[rows, items]
    room = np.where(size > 0, bins.left[rows] // np.maximum(size, 1), _ENDLESS)
    times = np.minimum(times, room.min(axis=1, initial=_ENDLESS))
    placed = np.ones(len(rows), np.bool_)
    before = [(rooms[rows], free[rows]) for rooms, free in zip(bins.rooms, bins.free, strict=True)]
    for which in range(tables.types):
        wholes = tables.whole[which, kind, items]
        asks = (wholes > 0) | tables.count[which, kind, items].any(axis=1)
        times = np.where(asks, np.minimum(times, 1), times)
        asking = asks.nonzero()[0]
        if len(asking):
            placed[asking] &= _take(tables, bins, which, rows[asking], kind[asking], items[asking])
    times = np.where(placed, times, 0)
    bins.left[rows] -= times[:, None] * size
    bins.counts[rows, items] += times
    if not placed.all():
        for rooms, free, (room, whole) in zip(bins.rooms, bins.free, before, strict=True):
            rooms[rows[~placed]], free[rows[~placed]] = room[~placed], whole[~placed]
    return placed


def _take(
    tables: BinKindArrays, bins: _Bins, which: int, rows: IntArray, kind: IntArray, items: IntArray
) -> Truth:
    """Take what the items ask of the devices of a type; tell which rows had all of it."""
    rooms, free = bins.rooms[which], bins.free[which]
    done = np.ones(len(rows), np.bool_)
    taken = np.zeros((len(rows), rooms.shape[1]), np.bool_)
    for entry in range(tables.share.shape[3]):
        wanted = tables.count[which, kind, items, entry]
        size = tables.shares[which, kind, tables.share[which, kind, items, entry]]
        for step in range(int(wanted.max(initial=0))):
            some = (wanted > step).nonzero()[0]
            after = rooms[rows[some]] - size[some][:, None]
            fits = (after >= 0).all(axis=2) & ~taken[some]
            # The device with the least left is taken: free ones stay free for whole ones.
            rest = (after / tables.largest[which, kind[some]][:, None]).sum(axis=2)
            best = np.where(fits, rest, np.inf).argmin(axis=1)
            found = fits[np.arange(len(some)), best]
            done[some[~found]] = False
            some, best = some[found], best[found]
            rooms[rows[some], best] -= size[some]
            free[rows[some], best] = False
            taken[some, best] = True
    wanted = tables.whole[which, kind, items]
    if wanted.any():
        open_ = free[rows] & ~taken
        chosen = open_ & (open_.cumsum(axis=1) <= wanted[:, None])
        done &= chosen.sum(axis=1) == wanted
        chosen &= done[:, None]
        at, device = chosen.nonzero()
        free[rows[at], device] = False
        rooms[rows[at], device] = -1
    return done
