"""One deadline for a whole solve: what its parts are told of it."""

import pytest

from placer.search import budget as module
from placer.search.budget import SolveBudget
from placer.search.options import SolveOptions


class Clock:
    """A clock that goes on when it is told to."""

    def __init__(self) -> None:
        """Begin at some time."""
        self.now_s = 100.0

    def monotonic(self) -> float:
        return self.now_s


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(module, "time", clock)
    return clock


def budget(clock: Clock, options: SolveOptions) -> SolveBudget:
    return SolveBudget(options, started_s=clock.now_s)


def overdue(time: SolveBudget) -> bool:
    return time.until_overdue_s is not None and time.until_overdue_s < 0


def test_reasons_may_take_a_little_longer_than_the_limit(clock: Clock) -> None:
    """
    Half of what an answer may be late: of 10 s that is half a second and 25 ms.
    """
    time = budget(clock, SolveOptions(time_limit_s=10))

    clock.now_s += 10.5
    assert not overdue(time)
    clock.now_s += 0.05
    assert overdue(time)


def test_a_late_greedy_answer_has_its_reasons(clock: Clock) -> None:
    """
    It came after 4 s instead of 1: its reasons may take 0.225 s more.
    """
    time = budget(clock, SolveOptions(time_limit_s=1))
    clock.now_s += 4
    time.greedy_s = time.elapsed_s

    clock.now_s += 0.2
    assert not overdue(time)
    clock.now_s += 0.05
    assert overdue(time)


def test_a_halt_is_a_deadline_that_comes_early(clock: Clock) -> None:
    """
    Called after 2 of 60 s: parts are over at once, reasons after 0.125 s more.
    """
    time = budget(clock, SolveOptions(time_limit_s=60))
    part = time.part(30)
    clock.now_s += 2
    assert not part.over

    time.halt.called_s = clock.now_s

    assert part.over
    clock.now_s += 0.1
    assert not overdue(time)
    clock.now_s += 0.05
    assert overdue(time)


def test_work_is_not_timed(clock: Clock) -> None:
    """
    Under a work limit answers may not depend on the clock.
    """
    time = budget(clock, SolveOptions(time_limit_s=1, work_limit=5))

    clock.now_s += 1_000

    assert not time.over
    assert not overdue(time)


def test_a_part_has_no_more_than_is_left(clock: Clock) -> None:
    """
    It asked for 30 s where the whole has 9.5; what has gone by is gone for both.
    """
    whole = budget(clock, SolveOptions(time_limit_s=10))
    part = whole.part(30)
    assert part.total == pytest.approx(9.5)

    clock.now_s += 9
    whole.keep(4)

    assert whole.over
