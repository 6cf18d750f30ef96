"""Clocks of a plan: wall time, or work that is counted, so that answers repeat to the last bit."""

from time import monotonic
from typing import Protocol


class PlanClock(Protocol):
    """What a plan measures its time by."""

    def now(self) -> float:
        """Return the time, in seconds or in units of work."""

    def count(self, work: float) -> None:
        """Count work that was done."""

    def wall_s(self, until: float) -> float | None:
        """Return the seconds until then; None: seconds are not what is counted."""


class PlanWallClock:
    """Wall time."""

    def now(self) -> float:
        """Return the monotonic clock, in seconds."""
        return monotonic()

    def count(self, work: float) -> None:
        """Do nothing: time passes by itself."""

    def wall_s(self, until: float) -> float | None:
        """Return the seconds until then."""
        return max(0.01, until - monotonic())


class PlanWorkClock:
    """Deterministic work, in CP-SAT's deterministic seconds, more or less."""

    def __init__(self) -> None:
        """Begin at 0."""
        self._done = 0.0

    def now(self) -> float:
        """Return the work that was done."""
        return self._done

    def count(self, work: float) -> None:
        """Count work that was done."""
        self._done += work

    def wall_s(self, until: float) -> float | None:
        """Return None."""
        return None
