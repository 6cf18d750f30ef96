"""Worlds of pods that want others near or far are solved as by brute force."""

import pytest

from exact_checks import check_worlds
from features.affinity import affinity_instance, wide_instance

BATCHES, GATE_WORLDS, SLOW_WORLDS = 5, 20, 200
SLOW_START = 10_000
"""The slow suite looks at other worlds than the gate."""


@pytest.mark.parametrize("batch", range(BATCHES))
def test_worlds_with_affinity_are_solved_as_by_brute_force(batch: int) -> None:
    """
    Affinity and anti-affinity, required or not, of pods that wait or run, on 100 worlds.
    """
    check_worlds(affinity_instance, batch, BATCHES, GATE_WORLDS)


@pytest.mark.parametrize("batch", range(BATCHES))
def test_worlds_with_zones_are_solved_as_by_brute_force(batch: int) -> None:
    """
    The same by zones and racks, with expressions and namespaces, on 100 worlds.
    """
    check_worlds(wide_instance, batch, BATCHES, GATE_WORLDS)


@pytest.mark.slow
@pytest.mark.parametrize("batch", range(BATCHES))
def test_many_worlds_with_zones_are_solved_as_by_brute_force(batch: int) -> None:
    """
    The same on 1,000 other worlds.
    """
    check_worlds(wide_instance, SLOW_START + batch, BATCHES, SLOW_WORLDS)


@pytest.mark.slow
@pytest.mark.parametrize("batch", range(BATCHES))
def test_many_worlds_with_affinity_are_solved_as_by_brute_force(batch: int) -> None:
    """
    The same on 1,000 other worlds.
    """
    check_worlds(affinity_instance, SLOW_START + batch, BATCHES, SLOW_WORLDS)
