"""Worlds of node-level CPU words are solved as by brute force."""

import pytest

from exact_checks import check_worlds
from spices_node_cpus import node_bind_instance

GATE_BATCHES, GATE_WORLDS = 4, 25
SLOW_BATCHES, SLOW_WORLDS = 20, 50
SLOW_START = 10_000
"""The slow suite looks at other worlds than the gate."""


@pytest.mark.parametrize("batch", range(GATE_BATCHES))
def test_worlds_of_node_bind_policies_are_solved_as_by_brute_force(batch: int) -> None:
    """
    On 100 worlds whose nodes have bind policies the tiers are those of brute force.
    """
    check_worlds(node_bind_instance, batch, GATE_BATCHES, GATE_WORLDS)


@pytest.mark.slow
@pytest.mark.parametrize("batch", range(SLOW_BATCHES))
def test_many_worlds_of_node_bind_policies_are_solved_as_by_brute_force(batch: int) -> None:
    """
    The same on 1,000 others.
    """
    check_worlds(node_bind_instance, SLOW_START + batch, SLOW_BATCHES, SLOW_WORLDS)
