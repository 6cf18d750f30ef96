"""Amounts of what disks, NICs and GPUs share, on worlds against brute force (B1, B11)."""

import pytest

from exact_checks import check_worlds
from features.quantities import quantity_instance
from placer.search.options import Engine, SolveOptions
from placer.search.solver import solve
from reasons_by_trying import check_reasons

BATCHES = 4
GATE_WORLDS, CHECK_WORLDS, SLOW_WORLDS = 10, 40, 500
CHECK_START, SLOW_START = 10_000, 20_000


@pytest.mark.parametrize("batch", range(BATCHES))
def test_worlds_of_quantities_are_solved_as_by_brute_force(batch: int) -> None:
    """
    On 40 worlds the exact tiers are those of brute force; greedy's are clean and no better.
    """
    check_worlds(quantity_instance, batch, BATCHES, GATE_WORLDS)


@pytest.mark.check
@pytest.mark.parametrize("batch", range(BATCHES))
def test_more_worlds_of_quantities_are_solved_as_by_brute_force(batch: int) -> None:
    """
    The same on 160 others.
    """
    check_worlds(quantity_instance, CHECK_START + batch, BATCHES, CHECK_WORLDS)


@pytest.mark.slow
@pytest.mark.parametrize("batch", range(BATCHES))
def test_many_worlds_of_quantities_are_solved_as_by_brute_force(batch: int) -> None:
    """
    The same on 2,000 others.
    """
    check_worlds(quantity_instance, SLOW_START + batch, BATCHES, SLOW_WORLDS)


def test_no_reason_of_a_quantity_says_what_is_not_so() -> None:
    """
    Never, not now and outvoted are so, on 10 worlds.
    """
    checked = 0
    for seed in range(10):
        instance = quantity_instance(seed)
        answer = solve(instance, SolveOptions(engine=Engine.GREEDY, workers=1))
        checked += check_reasons(instance, answer)
    assert checked > 5
