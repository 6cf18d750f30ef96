"""Partition tables and scopes, always on, against brute force (D10)."""

import pytest

from exact_checks import check_worlds
from features.partitions import partitioned


@pytest.mark.parametrize("batch", range(4))
def test_partitions_are_solved_as_by_brute_force(batch: int) -> None:
    """
    On 100 worlds with partition tables and scopes the exact tiers are those of brute force.
    """
    check_worlds(partitioned, batch, 4, 25)


@pytest.mark.slow
@pytest.mark.parametrize("batch", range(10))
def test_many_partitions_are_solved_as_by_brute_force(batch: int) -> None:
    """
    The same on 1,000 other worlds.
    """
    check_worlds(partitioned, 10_000 + batch, 10, 100)
