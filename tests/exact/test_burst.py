"""Worlds with pods under ConstrainedBurst, against brute force (C8)."""

import pytest

from brute_force import best_placement
from exact_checks import check_worlds
from features.burst import burst_instance
from plain_enumeration import best_vector_plainly

GATE_BATCHES, GATE_WORLDS = 10, 10
SLOW_BATCHES, SLOW_WORLDS = 10, 100
SLOW_START = 10_000


@pytest.mark.parametrize("batch", range(GATE_BATCHES))
def test_worlds_are_solved_as_by_brute_force(batch: int) -> None:
    """
    On 100 worlds the exact tiers are those of brute force, each one proven.
    """
    check_worlds(burst_instance, batch, GATE_BATCHES, GATE_WORLDS)


@pytest.mark.slow
@pytest.mark.parametrize("batch", range(SLOW_BATCHES))
def test_many_worlds_are_solved_as_by_brute_force(batch: int) -> None:
    """
    The same on 1,000 others of them.
    """
    check_worlds(burst_instance, SLOW_START + batch, SLOW_BATCHES, SLOW_WORLDS)


@pytest.mark.check
def test_brute_force_is_right_about_pools_of_numa_nodes() -> None:
    """
    Where the plainest enumeration can be done, the shortcuts of brute force change nothing.
    """
    compared = 0
    for instance in map(burst_instance, range(150)):
        plainly = best_vector_plainly(instance, most_leaves=300)
        if plainly is not None:
            assert best_placement(instance).vector == plainly, instance.name
            compared += 1

    assert compared > 15
