"""Random refusals: each change that is named would do, and none that is smaller does (G7)."""

from dataclasses import replace

import pytest

from explain.refusal_checks import fits, untrue
from refusal_worlds import refusals

WORLDS_EACH = 5
"""How many worlds a batch has; they come to about ten refusals."""

BATCHES = 92
"""`python tests/explain/random_refusals.py` goes through as many as one likes."""


@pytest.mark.parametrize("batch", range(BATCHES))
def test_what_is_said_of_random_refusals_is_so(batch: int) -> None:
    """
    Each change that is named would do; no smaller one of its kind does where that is said, and
    none of a kind that is said to have none; and funnels add up.
    """
    numbers = range(1 + batch * WORLDS_EACH, 1 + (batch + 1) * WORLDS_EACH)

    assert [fault for one in refusals(numbers) for fault in untrue(one)] == []


def test_each_world_is_drawn_by_its_number_alone() -> None:
    first, again = ([r.explanation for r in refusals(range(1, 4))] for _ in range(2))

    assert first == again
    assert first


def test_a_change_too_few_is_noticed() -> None:
    """
    The trial of a change asks the judge: with nothing changed nobody fits.
    """
    one = next(refusals(range(1, 4)))

    assert not fits(replace(one.state, move_budget=0), [])
