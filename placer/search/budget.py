"""The budget of a whole solve: one deadline, dealt out to its parts."""

import time
from dataclasses import dataclass, field, replace

from placer.search.halt import SearchHalt
from placer.search.options import SolveOptions

KEPT_SHARE = 0.05
"""The share of the time kept for realising and judging the answer, at least."""

FIRST_TIER_SHARE = 0.4
"""The share of the time guaranteed to tier 1."""

OVERTIME_SHARE = 0.05
OVERTIME_S = 0.025
"""How far beyond its time the last words of an answer, its reasons, may go: share and seconds."""


@dataclass(slots=True)
class SolveBudget:
    """The time that is left, or the deterministic work in its place.

    Attributes:
        halt: Ends it early.
        total: All that parts of the search may spend, in seconds of time or of work.
        spent_work: Deterministic seconds that CP-SAT has reported.
        greedy_s: When the greedy answer was there, in seconds since the solve began; it is
            given however late that is.

    """

    options: SolveOptions
    halt: SearchHalt = field(init=False)
    total: float = field(init=False)
    started_s: float = field(default_factory=lambda: time.monotonic())
    spent_work: float = 0.0
    greedy_s: float = 0.0

    def __post_init__(self) -> None:
        self.halt = self.options.halt or SearchHalt()
        work = self.options.work_limit
        self.total = self.options.time_limit_s * (1 - KEPT_SHARE) if work is None else float(work)

    def keep(self, seconds: float) -> None:
        """Keep at least this many seconds for what comes after the search."""
        if self.timed:
            self.total = max(0.0, min(self.total, self.options.time_limit_s - seconds))

    def part(self, most: float) -> "SolveBudget":
        """Return a separate budget for a part of the search; `spend` it afterwards."""
        part = SolveBudget(replace(self.options, halt=self.halt))
        part.total = min(most, self.left)
        return part

    def spend(self, part: "SolveBudget") -> None:
        """Count what a part has spent; wall time has gone by anyway."""
        self.spent_work += part.spent_work

    @property
    def left(self) -> float:
        """What parts of the search may still spend."""
        return 0.0 if self.halt.called_s is not None else max(0.0, self.total - self.spent)

    @property
    def spent(self) -> float:
        """How much of the total has been spent."""
        return self.elapsed_s if self.timed else self.spent_work

    @property
    def timed(self) -> bool:
        """Whether the limit is one of time. Nobody waits for the end of a work limit."""
        return self.options.work_limit is None

    @property
    def elapsed_s(self) -> float:
        """Wall-clock seconds since the solve began."""
        return time.monotonic() - self.started_s

    @property
    def over(self) -> bool:
        """Whether nothing is left that is worth starting a solver for."""
        return self.left <= min(0.005, 0.01 * self.total)

    @property
    def until_overdue_s(self) -> float | None:
        """How many seconds the last words may still take, or None if they have no limit."""
        return self._left_until(1.0)

    @property
    def is_late(self) -> bool:
        """Whether half the time is over that an answer may be late: the rest is for reasons."""
        left_s = self._left_until(0.5)
        return left_s is not None and left_s <= 0

    def _left_until(self, share: float) -> float | None:
        """Return the seconds until a share of the overtime is over, or None without a limit.

        There is none under a work limit that is not halted. Otherwise the time is the caller's, or
        that of the greedy answer if it took longer.
        """
        ends = [self.options.time_limit_s] if self.timed else []
        if self.halt.called_s is not None:
            ends.append(self.halt.called_s - self.started_s)
        if not ends:
            return None
        end_s = max(min(ends), self.greedy_s)
        return end_s + share * (end_s * OVERTIME_SHARE + OVERTIME_S) - self.elapsed_s

    def first_tier_slice(self) -> float:
        """Return what one sub-tier of tier 1 may spend."""
        return max(FIRST_TIER_SHARE * self.total, self.left / 2) if not self.over else 0.0

    def slice(self, parts_left: int) -> float:
        """Return an even share of what is left; what one part leaves goes to the later ones."""
        return self.left / max(1, parts_left)
