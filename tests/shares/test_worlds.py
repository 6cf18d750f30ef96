"""Worlds in which shares of devices are always asked for, against brute force (D5)."""

import pytest

from brute_force import best_placement
from exact_checks import check_worlds
from features.shares import sharing_instance
from plain_enumeration import best_vector_plainly

BATCHES = 10
GATE_WORLDS, SLOW_WORLDS = 10, 100
SLOW_START = 20_000


@pytest.mark.parametrize("batch", range(BATCHES))
def test_worlds_of_shares_are_solved_as_by_brute_force(batch: int) -> None:
    """
    On 100 worlds the exact tiers are those of brute force; greedy's are clean and no better.
    """
    check_worlds(sharing_instance, batch, BATCHES, GATE_WORLDS)


@pytest.mark.slow
@pytest.mark.parametrize("batch", range(BATCHES))
def test_many_worlds_of_shares_are_solved_as_by_brute_force(batch: int) -> None:
    """
    The same on 1,000 others.
    """
    check_worlds(sharing_instance, SLOW_START + batch, BATCHES, SLOW_WORLDS)


def test_brute_force_is_right_about_shares() -> None:
    """
    The plainest enumeration finds the same.
    """
    compared = 0
    for seed in range(120):
        instance = sharing_instance(seed)
        plainly = best_vector_plainly(instance, most_leaves=500)
        if plainly is not None:
            assert best_placement(instance).vector == plainly, instance.name
            compared += 1
    assert compared > 20
