"""The exact engine finds what trying everything finds, and greedy never more."""

import pytest

from brute_force import best_placement
from exact_checks import check_worlds
from mixed_worlds import mixed_instance
from plain_enumeration import best_vector_plainly
from worlds import tiny_instance

GATE_BATCHES, GATE_WORLDS = 10, 30
SLOW_BATCHES, SLOW_WORLDS = 20, 100
SLOW_START = 10_000
"""The slow suite looks at other worlds than the gate."""


@pytest.mark.parametrize("batch", range(GATE_BATCHES))
def test_tiny_worlds_are_solved_as_by_brute_force(batch: int) -> None:
    """
    On 300 worlds the exact tiers are those of brute force, each one proven; greedy's are
    clean and no better.
    """
    check_worlds(tiny_instance, batch, GATE_BATCHES, GATE_WORLDS)


@pytest.mark.slow
@pytest.mark.parametrize("batch", range(SLOW_BATCHES))
def test_many_tiny_worlds_are_solved_as_by_brute_force(batch: int) -> None:
    """
    The same on 2,000 other worlds.
    """
    check_worlds(tiny_instance, SLOW_START + batch, SLOW_BATCHES, SLOW_WORLDS)


@pytest.mark.parametrize("batch", range(GATE_BATCHES))
def test_worlds_of_all_rules_mixed_are_solved_as_by_brute_force(batch: int) -> None:
    """
    The same on 300 worlds in which the words of all families of rules mix.
    """
    check_worlds(mixed_instance, batch, GATE_BATCHES, GATE_WORLDS)


@pytest.mark.slow
@pytest.mark.parametrize("batch", range(SLOW_BATCHES))
def test_many_worlds_of_all_rules_mixed_are_solved_as_by_brute_force(batch: int) -> None:
    """
    The same on 2,000 others of them.
    """
    check_worlds(mixed_instance, SLOW_START + batch, SLOW_BATCHES, SLOW_WORLDS)


def check_brute_force(seeds: range, most_leaves: int) -> int:
    """Compare brute force with the plainest enumeration; return how many worlds it could."""
    compared = 0
    for seed in seeds:
        instance = tiny_instance(seed)
        plainly = best_vector_plainly(instance, most_leaves)
        if plainly is not None:
            assert best_placement(instance).vector == plainly, instance.name
            compared += 1
    return compared


@pytest.mark.check
def test_brute_force_is_right() -> None:
    """
    Where the plainest enumeration can be done, its shortcuts change nothing.
    """
    assert check_brute_force(range(200), most_leaves=500) > 30


@pytest.mark.slow
def test_brute_force_is_right_on_larger_worlds() -> None:
    """
    The same with more leaves.
    """
    assert check_brute_force(range(600), most_leaves=10_000) > 200
