"""Worlds of pods that spread over zones are solved as by brute force."""

import pytest

from exact_checks import check_worlds
from features.topology_spread import spread_instance

BATCHES, GATE_WORLDS, SLOW_WORLDS = 5, 12, 200
SLOW_START = 10_000
"""The slow suite looks at other worlds than the gate."""


@pytest.mark.parametrize("batch", range(BATCHES))
def test_worlds_with_spread_are_solved_as_by_brute_force(batch: int) -> None:
    """
    Over zones, racks and nodes, required or not, of pods that wait or run, on 60 worlds.
    """
    check_worlds(spread_instance, batch, BATCHES, GATE_WORLDS)


@pytest.mark.slow
@pytest.mark.parametrize("batch", range(BATCHES))
def test_many_worlds_with_spread_are_solved_as_by_brute_force(batch: int) -> None:
    """
    The same on 1,000 other worlds.
    """
    check_worlds(spread_instance, SLOW_START + batch, BATCHES, SLOW_WORLDS)
