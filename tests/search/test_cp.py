"""Two calls of CP-SAT for one tier: the second goes on from what the first found."""

import pytest

from placer.search.cp import Solved
from placer_models.goals import Sense

NOTHING = Solved(None, None, None, infeasible=False)


def found(value: int, bound: int | None) -> Solved:
    return Solved(None, value, bound, infeasible=False)


@pytest.mark.parametrize(
    ("sense", "first", "second", "value", "bound"),
    [
        (Sense.MAXIMISE, found(5, 9), found(7, 8), 7, 8),
        (Sense.MAXIMISE, found(7, 8), found(5, 9), 7, 8),
        (Sense.MAXIMISE, found(7, 9), found(5, 8), 7, 8),
        (Sense.MINIMISE, found(7, 3), found(5, 4), 5, 4),
        (Sense.MINIMISE, found(5, 4), found(7, 3), 5, 4),
        (Sense.MINIMISE, found(5, None), NOTHING, 5, None),
        (Sense.MAXIMISE, NOTHING, found(0, 3), 0, 3),
        (Sense.MAXIMISE, NOTHING, NOTHING, None, None),
    ],
)
def test_the_better_value_and_the_narrower_bound_are_kept(
    sense: Sense, first: Solved, second: Solved, value: int | None, bound: int | None
) -> None:
    both = first.with_more(second, sense)
    assert (both.value, both.bound) == (value, bound)


def test_a_second_call_without_solution_is_told_as_such() -> None:
    second = Solved(None, None, None, infeasible=True)
    assert found(3, 4).with_more(second, Sense.MAXIMISE).infeasible
