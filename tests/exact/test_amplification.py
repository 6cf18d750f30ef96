"""Amplified CPUs: pools hold more requests, and who owns a CPU takes as much of them."""

from random import Random

import pytest

from exact_checks import check_worlds
from placer_models.cluster import Instance
from spices_amplification import amplified
from worlds import tiny_instance

BATCHES = 10


def amplified_world(seed: int) -> Instance:
    """Draw a tiny instance whose CPUs are amplified."""
    return amplified(Random(f"amplified-{seed}"), tiny_instance(seed))


@pytest.mark.parametrize("batch", range(BATCHES))
def test_worlds_of_amplified_cpus_are_solved_as_by_brute_force(batch: int) -> None:
    """
    On 100 worlds both engines keep the rules of pools, and the exact one proves the best.
    """
    check_worlds(amplified_world, batch, BATCHES, 10)


@pytest.mark.slow
@pytest.mark.parametrize("batch", range(BATCHES))
def test_many_worlds_of_amplified_cpus(batch: int) -> None:
    """
    The same on 1,000 others.
    """
    check_worlds(amplified_world, 10_000 + batch, BATCHES, 100)
