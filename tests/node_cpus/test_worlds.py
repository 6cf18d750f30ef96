"""Worlds of node-level CPU words are solved as by brute force."""

import pytest

from exact_checks import MakeWorld, check_worlds
from features.core_kinds import kinds_instance
from features.localities import locality_instance
from features.node_binds import node_bind_instance
from features.numa_strategy import even_instance, strategy_instance

MAKERS = (
    node_bind_instance,
    locality_instance,
    strategy_instance,
    even_instance,
    kinds_instance,
)

GATE_BATCHES, GATE_WORLDS = 10, 10
SLOW_BATCHES, SLOW_WORLDS = 20, 50
SLOW_START = 10_000
"""The slow suite looks at other worlds than the gate."""


@pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__name__)
@pytest.mark.parametrize("batch", range(GATE_BATCHES))
def test_worlds_of_one_family_are_solved_as_by_brute_force(make: MakeWorld, batch: int) -> None:
    """
    On 100 worlds of each, in which its words are always on, the tiers are those of brute force.
    """
    check_worlds(make, batch, GATE_BATCHES, GATE_WORLDS)


@pytest.mark.slow
@pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__name__)
@pytest.mark.parametrize("batch", range(SLOW_BATCHES))
def test_many_worlds_of_one_family_are_solved_as_by_brute_force(
    make: MakeWorld, batch: int
) -> None:
    """
    The same on 1,000 others of each.
    """
    check_worlds(make, SLOW_START + batch, SLOW_BATCHES, SLOW_WORLDS)
