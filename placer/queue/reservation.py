"""Reservations: by when a unit that did not fit will start, so that nothing puts it off.

A unit that does not fit when its turn comes gets one, and there is one at a time. It is due
as soon as enough of what runs has ended, as far as lengths are known. Until then others may
start only where they cannot make it later (Q12): those that end before, and those that it
has no need of. Nothing is kept for a unit of which nobody can tell when it is due.
"""

from typing import NamedTuple, Protocol

from placer.queue.model import DispatchUnit


class RunEndForecast(Protocol):
    """What is known of the time to come: when what runs will end, by the lengths that were told.

    Something of unknown length does not end, as far as a forecast can tell. What has run for
    longer than it should may end at any moment.
    """

    def due_us(self, unit: DispatchUnit) -> int | None:
        """Return when the unit fits if nothing else starts; None if that cannot be told."""

    def delays(self, unit: DispatchUnit, reserved: DispatchUnit) -> bool:
        """Return whether a unit that fits could make another one due later by starting now."""


class UnitReservation(NamedTuple):
    """What is known of a unit that did not fit when its turn came, and still waits.

    Attributes:
        since_us: When its turn came.
        due_us: By when it starts: the earliest that was ever foretold. None if nobody can tell.

    """

    job: str
    unit: DispatchUnit
    since_us: int
    due_us: int | None
