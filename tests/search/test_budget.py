"""One deadline for a whole solve: what its parts are told of it."""

import pytest

from placer.search import budget as module
from placer.search.budget import Budget
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


def budget(clock: Clock, options: SolveOptions) -> Budget:
    return Budget(options, started_s=clock.now_s)


def test_the_greedy_path_gets_half_of_what_is_left(clock: Clock) -> None:
    """
    Of 10 s, of which 2 are gone, 0.5 are kept for the end: it has to stop after 3.75 more.
    """
    time = budget(clock, SolveOptions(time_limit_s=10))
    clock.now_s += 2
    is_gone = time.half()

    clock.now_s += 3.7
    assert not is_gone()
    clock.now_s += 0.1
    assert is_gone()


def test_work_is_not_timed(clock: Clock) -> None:
    """
    Under a work limit answers may not depend on the clock.
    """
    is_gone = budget(clock, SolveOptions(time_limit_s=1, work_limit=5)).half()

    clock.now_s += 1_000

    assert not is_gone()


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
    assert not whole.past_deadline
    clock.now_s += 1.5
    assert whole.past_deadline
