"""Threads of capacity: which are free, which are held, which have to leave."""

import heapq
from collections.abc import Iterable

from placer.queue.model import ONE_MILLI
from placer.queue.simulation.scenario import QueueThreadCountOverTime


class SimulatedQueueThreadPool:
    """Threads of capacity by number, from 1; the lowest free numbers are taken first."""

    def __init__(self, capacity: QueueThreadCountOverTime) -> None:
        self._slow = dict(capacity.slow)
        self._target = capacity.threads
        self._free = list(range(1, capacity.threads + 1))
        self._away = set(range(capacity.threads + 1, capacity.most + 1))
        self._held = 0

    @property
    def free(self) -> int:
        """How many threads can be taken now."""
        return len(self._free)

    @property
    def present(self) -> int:
        """How many threads are there, including those that leave once their work has ended."""
        return len(self._free) + self._held

    def comes_back(self, number: int) -> bool:
        """Return whether a thread that is held is free again once it is let go."""
        return number <= self._target

    def take(self, count: int) -> tuple[int, ...]:
        """Hold the free threads with the lowest numbers, and return the numbers."""
        self._held += count
        return tuple(heapq.heappop(self._free) for _ in range(count))

    def take_these(self, numbers: Iterable[int]) -> tuple[int, ...]:
        """Hold exactly the threads with these numbers, and return the numbers."""
        taken = tuple(numbers)
        self._free = sorted(set(self._free) - set(taken))
        self._held += len(taken)
        return taken

    def give(self, numbers: Iterable[int]) -> None:
        """Let threads of capacity go; those above the target leave."""
        for number in numbers:
            self._held -= 1
            if number <= self._target:
                heapq.heappush(self._free, number)
            else:
                self._away.add(number)

    def resize(self, threads: int) -> None:
        """Let threads of capacity leave or come back; held ones leave when they are let go."""
        self._target = threads
        idle = self._away.union(self._free)
        self._free = sorted(number for number in idle if number <= threads)
        self._away = {number for number in idle if number > threads}

    def duration_us(self, length_us: int, on: Iterable[int]) -> int:
        """Return how long a thread of work takes on these threads, by the slowest of them."""
        milli = max(self._slow.get(number, ONE_MILLI) for number in on)
        return -(-length_us * milli // ONE_MILLI)
