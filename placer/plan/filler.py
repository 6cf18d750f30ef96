"""The filler: many greedy fillings of bins at a time, each in an order of its own."""

from collections.abc import Callable, Sequence
from contextlib import suppress

import numpy as np

from placer.compiled import compiled_or_plain
from placer.packing.step_limit import PackingStepBudget, PackingStepLimitError
from placer.plan.arrays import FloatArray, IntArray
from placer.plan.bin_tables import BinKindArrays, bin_kind_arrays_of
from placer.plan.device_packing import item_order_filling_devices
from placer.plan.filling import SMALL, Pass, fill_bins_in_passes
from placer.plan.market import BinKind

_AGAIN = 4
"""How often fillings are made again from parts of the best ones."""

_STEPS = 5_000
"""So many steps are taken to find devices for the items of a bin where best fit finds none."""

_Fill = Callable[[BinKindArrays, IntArray, Sequence[Pass]], IntArray]
"""`filling.fill_bins_in_passes`, or what gives the same."""

_COMPILED = "placer.plan.compiled_filling"

_WORTH_COMPILING = 4.0
"""Time that has to be left before the compiled loop is loaded: the first time on a machine takes
some seconds, later ones a third of a second."""


def compiled_or_plain_bin_fill(left: float) -> _Fill:
    """Return the compiled loop if `placer[fast]` is there and so much time makes it worth."""
    plain: _Fill = fill_bins_in_passes
    return compiled_or_plain(
        plain, _COMPILED, "fill_bins_compiled", is_worth_loading=left >= _WORTH_COMPILING
    )


class BinFiller:
    """Fills bins of the kinds of a market."""

    def __init__(self, kinds: Sequence[BinKind], left: float = 0.0) -> None:
        """Write the kinds as arrays.

        Args:
            kinds: The kinds of bins.
            left: How much time is left, for which the compiled loop may be worth it.

        """
        self._tables = bin_kind_arrays_of(kinds)
        self._filled = compiled_or_plain_bin_fill(left)
        self._parts = self._relative_sizes()
        self._kinds = kinds
        self._hardnesses: dict[int, FloatArray] = {}
        self._orders: dict[tuple[int, bytes], list[int] | None] = {}

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
        order = value / (np.einsum("bsr,br->bs", parts, weights) + SMALL) * np.exp(noise)
        limit = np.broadcast_to(most, order.shape)
        found = self._filled(self._tables, kind, [(order, limit)]).reshape(len(kinds), rows, -1)
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
        again = self._filled(self._tables, kind, [(order + 1.0, keep), (order, limit)])
        return again.reshape(len(found), rows, -1)

    def completed(self, kind: int, held: IntArray, values: FloatArray, most: IntArray) -> IntArray:
        """Return a filling with as much more as goes in greedily; ``held`` should fit."""
        order = np.maximum(values, 0.0) / (self._parts[kind].sum(axis=1) + SMALL)
        passes = [(self._hardness(kind), held[None]), (order[None], most[None])]
        counts = self._one(kind, passes)
        # Where best fit does not find room for all that is held, that is all there is.
        return counts if (counts >= held).all() or not self.holds(kind, held) else held

    def holds(self, kind: int, counts: IntArray) -> bool:
        """Return whether a bin holds so many items, as far as a short look says."""
        if counts[~self._tables.may[kind]].any() or not self._sums_hold(kind, counts):
            return False
        return self._by_hardness(kind, counts) or self.by_device(kind, counts) is not None

    def by_device(self, kind: int, counts: IntArray) -> list[int] | None:
        """Return an order of the items by which best fit finds devices for all of them.

        None: it is the plain order, the hardest first, or there is none as far as so many steps
        say.
        """
        key = kind, counts.tobytes()
        if key not in self._orders:
            order = None
            if not self._by_hardness(kind, counts):
                with suppress(PackingStepLimitError):
                    steps = PackingStepBudget(_STEPS)
                    order = item_order_filling_devices(
                        self._kinds[kind], counts.tolist(), steps.spend
                    )
            self._orders[key] = order
        return self._orders[key]

    def _by_hardness(self, kind: int, counts: IntArray) -> bool:
        return bool((self._one(kind, [(self._hardness(kind), counts[None])]) == counts).all())

    def _one(self, kind: int, passes: Sequence[Pass]) -> IntArray:
        """Return what one bin holds."""
        held: IntArray = self._filled(self._tables, np.array([kind]), passes)[0]
        return held

    def _sums_hold(self, kind: int, counts: IntArray) -> bool:
        """Return whether the sums of a bin hold so many items, and enough devices are whole."""
        tables = self._tables
        if (counts @ tables.sizes[kind] > tables.room[kind]).any():
            return False
        return bool((tables.whole[:, kind] @ counts <= tables.free[:, kind].sum(axis=1)).all())

    def _relative_sizes(self) -> FloatArray:
        """Return which part of a bin an item takes, by resource and type of devices."""
        tables = self._tables
        parts = [tables.sizes / np.maximum(tables.room, 1)[:, None]]
        for which in range(tables.types):
            rooms = tables.rooms[which]
            total = np.maximum(rooms.clip(0).sum(axis=1), 1)
            devices = np.maximum((rooms >= 0).all(axis=2).sum(axis=1), 1)
            taken = tables.whole[which, :, :, None] * (total / devices[:, None])[:, None]
            kinds = np.arange(len(total))[:, None]
            for entry in range(tables.share.shape[3]):
                size = tables.shares[which, kinds, tables.share[which, :, :, entry]]
                taken += size * tables.count[which, :, :, entry, None]
            parts.append(taken / total[:, None])
        return np.concatenate(parts, axis=2)

    def _hardness(self, kind: int) -> FloatArray:
        """Return an order for packing: who takes most of a device first, then most of the bin."""
        if kind in self._hardnesses:
            return self._hardnesses[kind]
        tables = self._tables
        order = self._parts[kind].max(axis=1, initial=0.0)
        for which in range(tables.types):
            order = order + 20.0 * tables.whole[which, kind]
            for entry in range(tables.share.shape[3]):
                size = tables.shares[which, kind, tables.share[which, kind, :, entry]]
                part = (size / tables.largest[which, kind]).max(axis=1, initial=0.0)
                asked = tables.count[which, kind, :, entry] > 0
                order = order + 10.0 * np.where(asked, part, 0.0)
        hardest: FloatArray = (order + SMALL)[None]
        self._hardnesses[kind] = hardest
        return hardest
