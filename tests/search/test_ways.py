"""Ways of searching: who has how much of the time, and when."""

from dataclasses import dataclass, field

import pytest

from placer.search import budget as budgets
from placer.search.budget import SolveBudget
from placer.search.options import SolveOptions
from placer.search.ways import MOST_WEIGHT, Way, search_in_turns


@dataclass
class Clock:
    """A clock that goes on only when it is told to."""

    now: float = 100.0

    def monotonic(self) -> float:
        return self.now


@dataclass
class Digging:
    """A search for a treasure by several ways; each of its turns is noted."""

    budget: SolveBudget
    clock: Clock
    needed: int = 10**9
    found: int = 0
    round: int = 0
    turns: list[tuple[str, float]] = field(default_factory=list)

    @property
    def is_settled(self) -> bool:
        return self.found >= self.needed

    @property
    def standing(self) -> int:
        return self.found

    def dig(self, name: str, gain: int, part: float = 1.0) -> None:
        """Use a part of the time of a turn."""
        seconds = part * self.budget.left
        self.turns.append((name, seconds))
        self.found += gain
        if self.budget.timed:
            self.clock.now += seconds
        else:
            self.budget.spent_work += seconds

    def time_of(self, name: str) -> list[float]:
        return [seconds for way, seconds in self.turns if way == name]


def way(name: str, gain: int, share: float = 0.25, part: float = 1.0) -> Way[Digging]:
    return Way(name, lambda s: True, lambda s: share, lambda s: s.dig(name, gain, part), again=True)


def digging(monkeypatch: pytest.MonkeyPatch, options: SolveOptions, needed: int) -> Digging:
    clock = Clock()
    monkeypatch.setattr(budgets, "time", clock)
    return Digging(SolveBudget(options), clock, needed)


def timed(monkeypatch: pytest.MonkeyPatch, needed: int = 10**9) -> Digging:
    return digging(monkeypatch, SolveOptions(time_limit_s=100), needed)


def test_first_turns_have_their_shares_of_what_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    95 s are for the search: a tenth, half of the rest, and all; no time is left unused.
    """
    search = timed(monkeypatch)
    search_in_turns([way("a", 0, 0.1), way("b", 0, 0.5), way("c", 0, 1.0)], search)

    assert [name for name, _ in search.turns] == ["a", "b", "c"]
    assert [seconds for _, seconds in search.turns] == pytest.approx([9.5, 42.75, 42.75])
    assert search.budget.left == 0


def test_who_gains_has_more_of_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Equal shares at first; round by round the way that pays has more beside the other one.
    """
    search = timed(monkeypatch)
    search_in_turns([way("idle", 0), way("pays", 1)], search)
    idle, pays = search.time_of("idle"), search.time_of("pays")

    assert search.round >= 3
    ratios = [mine / other for mine, other in zip(pays[1:4], idle[1:4], strict=True)]
    assert ratios == sorted(ratios)
    assert ratios[0] > 1.5
    assert sum(pays[1:]) > 3 * sum(idle[1:])
    assert min(idle[1:]) > 0


def test_who_has_stopped_gaining_is_not_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    A way may fall to an eighth of the first weight, and no further.
    """
    search = timed(monkeypatch)
    ways = [way("idle", 0, part=0.1), way("other", 0, part=0.1)]
    search_in_turns(ways, search)
    idle, other = search.time_of("idle")[5:], search.time_of("other")[5:]

    assert len(idle) > MOST_WEIGHT
    assert all(a == pytest.approx(b, rel=0.5) for a, b in zip(idle, other, strict=False))


def test_what_is_settled_ends_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Neither a later way nor another round begins.
    """
    search = timed(monkeypatch, needed=2)
    search_in_turns([way("a", 1, part=0.1), way("b", 1, part=0.1), way("c", 1)], search)

    assert [name for name, _ in search.turns] == ["a", "b"]
    assert search.round == 0


def test_under_a_work_limit_each_way_has_one_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Nobody waits for the end of the limit, and what was spent is counted.
    """
    search = digging(monkeypatch, SolveOptions(work_limit=8), 10**9)
    search_in_turns([way("a", 1, 0.25), way("b", 0, 0.5)], search)

    assert search.turns == [("a", 2.0), ("b", 3.0)]
    assert search.budget.spent_work == 5.0


def test_a_way_that_does_not_apply_has_no_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    It is asked before each turn, for what others found may change that.
    """
    search = timed(monkeypatch)
    late = Way[Digging](
        "late", lambda s: s.found > 1, lambda s: 0.5, lambda s: s.dig("late", 0), again=True
    )
    once = Way[Digging]("once", lambda s: True, lambda s: 0.1, lambda s: s.dig("once", 1))
    search_in_turns([late, once, way("pays", 1)], search)

    assert [name for name, _ in search.turns][:3] == ["once", "pays", "late"]
    assert len(search.time_of("once")) == 1


def test_a_way_that_fails_leaves_the_budget_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    What is caught above goes on with the time of the search, not with that of a turn.
    """

    def fail(search: Digging) -> None:
        search.budget.spent_work += 1
        raise ValueError

    search = digging(monkeypatch, SolveOptions(work_limit=8), 10**9)
    whole = search.budget
    with pytest.raises(ValueError, match=r"^$"):
        search_in_turns([Way[Digging]("bad", lambda s: True, lambda s: 0.5, fail)], search)

    assert search.budget is whole
    assert whole.spent_work == 1
