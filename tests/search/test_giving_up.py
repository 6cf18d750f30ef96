"""Work given up half-way: whenever that is, nothing is left that makes a later answer wrong."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from mixed_worlds import mixed_instance
from placer.counting.account import accounts_of
from placer.greedy.cache import GreedyCache
from placer.greedy.place import place_greedily
from placer.search.cp import replace_solver_hints
from placer.state.batch import build_problem
from placer.state.out_of_time import OutOfTimeError
from placer.state.problem_cache import ProblemCache
from placer_models.cluster import Instance
from placer_models.cpsat.batch_model import build_batch_model
from placer_models.cpsat.relaxed import build_relaxed_model
from placer_models.cpsat.stoppable import ModelStoppableWhileBuilt
from placer_models.incremental import PersistentTuple

SEEDS = range(0, 40, 4)


@dataclass
class After:
    """Says that the time is over from one look on."""

    looks: int

    def __call__(self) -> bool:
        self.looks -= 1
        return self.looks < 0


def many_looks(work: Callable[[After], object], step: int) -> list[object]:
    """Return what comes of work that is given up after more and more looks, until it is not."""
    found: list[object] = []
    for looks in range(0, 100_000, step):
        after = After(looks)
        found.append(work(after))
        if after.looks >= 0:
            return found
    raise AssertionError("it asks without end")


def given_up(work: Callable[[], object]) -> object:
    """Return what work makes, or None if its time was over."""
    try:
        return work()
    except OutOfTimeError:
        return None


@pytest.mark.parametrize("seed", SEEDS)
def test_a_problem_given_up_leaves_the_cache_right(seed: int) -> None:
    """
    What is written later, with what the cache knows by then, is what is written afresh.
    """
    instance = mixed_instance(seed)
    accounts = PersistentTuple.of(accounts_of(instance))
    cache = ProblemCache()

    def write(stop: After) -> object:
        return given_up(lambda: build_problem(instance, accounts, cache=cache, stop=stop))

    *stopped, last = many_looks(write, 1)

    assert stopped
    assert all(problem is None for problem in stopped)
    assert last == build_problem(instance, accounts)
    assert build_problem(instance, accounts, cache=cache) == last


@pytest.mark.parametrize("seed", SEEDS)
def test_places_given_up_leave_the_tables_right(seed: int) -> None:
    """
    The next batch is placed as without the one that was given up.
    """
    instance: Instance = mixed_instance(seed)
    problem = build_problem(instance, each_core=True)
    cache = GreedyCache()

    def place(stop: After) -> object:
        return given_up(lambda: place_greedily(problem, cache=cache, stop=stop))

    found = many_looks(place, 11)

    assert found[-1] == place_greedily(problem)
    assert place_greedily(problem, cache=cache) == found[-1]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_model_is_written_whole_or_not_at_all(seed: int) -> None:
    """
    Whenever the time is over; and a model that is there is asked for no more.
    """
    problem = build_problem(mixed_instance(seed))
    whole = build_batch_model(problem)
    assert whole is not None

    *stopped, last = many_looks(lambda stop: build_batch_model(problem, stop=stop), 7)

    assert all(model is None for model in stopped)
    assert str(last.model.proto) == str(whole.model.proto)
    *stopped, last = many_looks(lambda stop: build_relaxed_model(problem, stop), 1)
    assert all(model is None for model in stopped)


def test_no_rule_is_begun_once_the_time_is_over() -> None:
    """
    Not even if the one before adds nothing to the model, however long it takes.
    """
    problem = build_problem(mixed_instance(0))
    begun: list[str] = []

    def first(*_: object) -> None:
        begun.append("first")

    def second(*_: object) -> None:
        begun.append("second")

    model = build_batch_model(problem, rules=(first, second), stop=lambda: bool(begun))

    assert model is None
    assert begun == ["first"]


def test_a_model_that_is_written_asks_no_more() -> None:
    """
    What a search adds, tier by tier, is added whatever the time.
    """
    looks = After(0)
    model = ModelStoppableWhileBuilt(looks)
    model.ask_no_more()

    for number in range(1_000):
        model.add(model.new_int_var(0, 3, str(number)) <= 2)

    assert looks.looks == 0
    assert len(model.proto.constraints) == 1_000


def test_a_hint_takes_the_place_of_the_one_before() -> None:
    """
    A variable that comes twice has its last value.
    """
    model = ModelStoppableWhileBuilt(lambda: False)
    for name in "abc":
        model.new_int_var(0, 9, name)

    replace_solver_hints(model, [(0, 1), (2, 5)])
    replace_solver_hints(model, [(1, 7), (2, 3), (1, 4)])

    hints = model.proto.solution_hint
    assert dict(zip(hints.vars, hints.values, strict=True)) == {1: 4, 2: 3}
