"""One deadline for a whole solve, dealt out to its parts."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from placer.search.options import SolveOptions

KEPT_SHARE = 0.05
"""Of the time: kept for realising and judging the answer, at least."""

FIRST_TIER_SHARE = 0.4
"""Of the time: guaranteed to tier 1 (DESIGN 5)."""


@dataclass(slots=True)
class Budget:
    """What is left of the time, or of the deterministic work in its place.

    Attributes:
        total: All that parts of the search may spend, in seconds of time or of work.
        spent_work: Deterministic seconds that CP-SAT has reported.

    """

    options: SolveOptions
    total: float = field(init=False)
    started_s: float = field(default_factory=time.monotonic)
    spent_work: float = 0.0

    def __post_init__(self) -> None:
        work = self.options.work_limit
        self.total = self.options.time_limit_s * (1 - KEPT_SHARE) if work is None else float(work)

    def keep(self, seconds: float) -> None:
        """Keep at least so much of the time for what comes after the search."""
        if self.options.work_limit is None:
            self.total = max(0.0, min(self.total, self.options.time_limit_s - seconds))

    def part(self, most: float) -> "Budget":
        """Return a budget of its own for a part of the search; `spend` it afterwards."""
        part = Budget(self.options)
        part.total = min(most, self.left)
        return part

    def spend(self, part: "Budget") -> None:
        """Count what a part has spent; wall time has gone by anyway."""
        self.spent_work += part.spent_work

    @property
    def left(self) -> float:
        """What parts of the search may still spend."""
        return max(0.0, self.total - self.spent)

    @property
    def spent(self) -> float:
        """What is gone of the total."""
        return self.elapsed_s if self.options.work_limit is None else self.spent_work

    @property
    def elapsed_s(self) -> float:
        """Wall-clock seconds since the solve began."""
        return time.monotonic() - self.started_s

    @property
    def over(self) -> bool:
        """Whether nothing is left that is worth starting a solver for."""
        return self.left <= min(0.005, 0.01 * self.total)

    @property
    def past_deadline(self) -> bool:
        """Whether the caller's time is over; never so under a work limit."""
        return self.options.work_limit is None and self.elapsed_s > self.options.time_limit_s

    def half(self) -> Callable[[], bool]:
        """Return whether half of what is left now will be gone; asked later."""
        end = self.elapsed_s + self.left / 2
        timed = self.options.work_limit is None
        return lambda: self.over or (timed and self.elapsed_s > end)

    def first_tier_slice(self) -> float:
        """Return what one sub-tier of tier 1 may spend."""
        return max(FIRST_TIER_SHARE * self.total, self.left / 2) if not self.over else 0.0

    def slice(self, parts_left: int) -> float:
        """Return an even share of what is left; what it leaves rolls on."""
        return self.left / max(1, parts_left)
