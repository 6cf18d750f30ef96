"""Whole PCIe switches in tier ``usable``: the exact engine finds what trying everything finds."""

import pytest

from exact_checks import check_worlds
from features.switches import switch_instance

BATCHES, WORLDS = 20, 5
SLOW_BATCHES, SLOW_WORLDS = 10, 100
SLOW_START = 10_000


@pytest.mark.parametrize("batch", range(BATCHES))
def test_worlds_with_switches_are_solved_as_by_brute_force(batch: int) -> None:
    """
    On 100 worlds the exact tiers are those of brute force, each one proven (D7, D9).
    """
    check_worlds(switch_instance, batch, BATCHES, WORLDS)


@pytest.mark.slow
@pytest.mark.parametrize("batch", range(SLOW_BATCHES))
def test_many_worlds_with_switches_are_solved_as_by_brute_force(batch: int) -> None:
    """
    The same on 1,000 others of them.
    """
    check_worlds(switch_instance, SLOW_START + batch, SLOW_BATCHES, SLOW_WORLDS)
