"""Slots placed one by one, in the order of the requests: fast, and blind to later ones."""

import heapq
from collections.abc import Iterable
from fractions import Fraction

from placer.packing.bins import Filling, Vector
from placer.packing.knapsack import item_count_that_fits
from placer.slots.workers.model import WorkerMatchingStrategy
from placer.slots.workers.packing import SlotPackingProblem


class InOrderSlotPacker:
    """Bins that are filled while things come in.

    Args:
        packing: The bins; its counts are not looked at.
        running: How many of the bins are workers that run; the others are pending.

    """

    def __init__(self, packing: SlotPackingProblem, running: int) -> None:
        self._packing = packing
        self._running = running
        self._rooms = [bin.room for bin in packing.bins]
        self.filling: Filling = [[0] * len(packing.fresh.sizes) for _ in packing.bins]

    @property
    def new_bins(self) -> int:
        """The number of fresh bins so far."""
        return len(self.filling) - len(self._packing.bins)

    def put(self, number: int, item: int, count: int) -> int:
        """Put as many of the things into a bin as fit, and return how many did."""
        bin, room = self._packing.bin(number), self._rooms[number]
        done = item_count_that_fits(bin, room, item, count)
        self._rooms[number] = bin.without(room, item, done)
        self.filling[number][item] += done
        return done

    def onto_running(self, item: int, count: int, matching: WorkerMatchingStrategy) -> int:
        """Put things onto workers that run; return how many are left over."""
        if matching is WorkerMatchingStrategy.FIRST_FIT:
            return self._first_fit(range(self._running), item, count)
        sign = 1 if matching is WorkerMatchingStrategy.LEAST_UTILIZED else -1
        queue = [(sign * self._utilization(i), i) for i in range(self._running)]
        heapq.heapify(queue)
        while count and queue:
            _, number = heapq.heappop(queue)
            # Who cannot take it now cannot later: it is not asked again.
            if self.put(number, item, 1):
                count -= 1
                heapq.heappush(queue, (sign * self._utilization(number), number))
        return count

    def onto_pending(self, item: int, count: int) -> int:
        """Put things onto pending and fresh workers; return how many fit nowhere."""
        count = self._first_fit(range(self._running, len(self.filling)), item, count)
        fresh = self._packing.fresh
        if not fresh.fits(fresh.room, item):
            return count
        while count:
            self._rooms.append(fresh.room)
            self.filling.append([0] * len(fresh.sizes))
            count -= self.put(len(self.filling) - 1, item, count)
        return 0

    def _first_fit(self, numbers: Iterable[int], item: int, count: int) -> int:
        for number in numbers:
            count -= self.put(number, item, count)
        return count

    def _utilization(self, number: int) -> Fraction:
        """Return the larger share in use, of CPUs and of memory; nothing else counts."""
        total, room = self._packing.total(number), self._rooms[number]
        return max(
            _used(total[:1], room[:1]),
            _used(total[1:_MEMORIES_END], room[1:_MEMORIES_END]),
        )


_MEMORIES_END = 6
"""A vector is CPUs, five memories, then extended resources."""


def _used(total: Vector, room: Vector) -> Fraction:
    whole = sum(total)
    return Fraction(whole - sum(room), whole) if whole else Fraction(0)
