"""Worlds with levels of the network are solved as by brute force (G4)."""

import pytest

from exact_checks import check_worlds
from features.network import network_instance

BATCHES, GATE_WORLDS, SLOW_WORLDS = 5, 20, 200
SLOW_START = 10_000
"""The slow suite looks at other worlds than the gate."""


@pytest.mark.parametrize("batch", range(BATCHES))
def test_worlds_with_levels_are_solved_as_by_brute_force(batch: int) -> None:
    """
    Gangs that gather, spread or come in multiples, required or not, on 100 worlds.
    """
    check_worlds(network_instance, batch, BATCHES, GATE_WORLDS)


@pytest.mark.slow
@pytest.mark.parametrize("batch", range(BATCHES))
def test_many_worlds_with_levels_are_solved_as_by_brute_force(batch: int) -> None:
    """
    The same on 1,000 other worlds.
    """
    check_worlds(network_instance, SLOW_START + batch, BATCHES, SLOW_WORLDS)
