"""A forecast over threads of capacity: how many will be free, and when."""

from collections.abc import Sequence
from typing import NamedTuple

from placer.queue.model import DispatchUnit
from placer.queue.simulation.floor import SimulatedQueueThreadPool


class SimulatedThreadsHeldUntil(NamedTuple):
    """Threads of capacity that are held.

    Attributes:
        until_us: When they should be let go; None if that is not known.
        on: Their numbers.

    """

    until_us: int | None
    on: tuple[int, ...]


class SimulatedFreeThreadsForecast:
    """What is known of the threads at one moment (`placer.queue.reservation.RunEndForecast`).

    Any thread of capacity suits any unit, so counts say it all. Capacity that comes and goes
    later is not foreseen.
    """

    def __init__(
        self,
        floor: SimulatedQueueThreadPool,
        held: Sequence[SimulatedThreadsHeldUntil],
        now_us: int,
    ) -> None:
        self._free = floor.free
        self._now_us = now_us
        self._back = sorted(
            (threads.until_us, sum(map(floor.comes_back, threads.on)))
            for threads in held
            if threads.until_us is not None
        )

    def fits(self, unit: DispatchUnit) -> bool:
        """Return whether enough threads are free now."""
        return unit.width <= self._free

    def due_us(self, unit: DispatchUnit) -> int | None:
        """Return when enough threads will be free if nothing else takes any."""
        if self.fits(unit):
            return self._now_us
        free = self._free
        for until_us, threads in self._back:
            free += threads
            if free >= unit.width:
                return until_us
        return None

    def delays(self, unit: DispatchUnit, reserved: DispatchUnit) -> bool:
        """Return whether the reserved unit would lack a thread when it is due."""
        due_us = self.due_us(reserved)
        if due_us is None:
            return False
        if unit.length_us is not None and self._now_us + unit.length_us <= due_us:
            return False
        free = self._free + sum(n for until_us, n in self._back if until_us <= due_us)
        return free - unit.width < reserved.width
