"""Worlds in which the words of NUMA alignment are always on, against brute force."""

import pytest

from brute_force import best_placement
from exact_checks import MakeWorld, check_worlds
from features.numa import container_instance, paged_instance
from plain_enumeration import best_vector_plainly

MAKERS = (paged_instance, container_instance)

GATE_BATCHES, GATE_WORLDS = 10, 10
SLOW_BATCHES, SLOW_WORLDS = 10, 100
SLOW_START = 10_000

each_maker = pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__name__)


@each_maker
@pytest.mark.parametrize("batch", range(GATE_BATCHES))
def test_worlds_are_solved_as_by_brute_force(make: MakeWorld, batch: int) -> None:
    """
    On 100 worlds of each kind the exact tiers are those of brute force, each one proven.
    """
    check_worlds(make, batch, GATE_BATCHES, GATE_WORLDS)


@pytest.mark.slow
@each_maker
@pytest.mark.parametrize("batch", range(SLOW_BATCHES))
def test_many_worlds_are_solved_as_by_brute_force(make: MakeWorld, batch: int) -> None:
    """
    The same on 1,000 others of them.
    """
    check_worlds(make, SLOW_START + batch, SLOW_BATCHES, SLOW_WORLDS)


def test_brute_force_is_right_about_hugepages() -> None:
    """
    Where the plainest enumeration can be done, the shortcuts of brute force change nothing.
    """
    compared = 0
    for instance in map(paged_instance, range(150)):
        plainly = best_vector_plainly(instance, most_leaves=300)
        if plainly is not None:
            assert best_placement(instance).vector == plainly, instance.name
            compared += 1

    assert compared > 15
