"""Accounts of all nodes of an instance: each equals the count of its node alone."""

from dataclasses import replace

import pytest

from mixed_worlds import mixed_instance
from placer.counting.account import account_of, accounts_of
from placer_models.illegal_running import with_running_as_counted

WORLDS = 400


@pytest.mark.parametrize("batch", range(3), ids="batch {}".format)
def test_they_equal_counts_node_by_node(batch: int) -> None:
    """
    Running pods with words of all families, in places that nobody has settled: their CPUs are
    what a file says.
    """
    busy = 0
    for seed in range(WORLDS * batch, WORLDS * (batch + 1)):
        world = with_running_as_counted(mixed_instance(seed))
        twice = [replace(node, name=f"{node.name} too") for node in world.nodes]
        world = replace(world, nodes=(*world.nodes, *twice))
        for node, found in zip(world.nodes, accounts_of(world), strict=True):
            here = [runner for runner in world.running if runner.placement.node == node.name]
            busy += bool(here)
            assert found == account_of(node, here), (seed, node.name)
    assert busy > WORLDS // 2


def test_idle_nodes_that_are_alike_share_their_account() -> None:
    """
    Ten thousand of them cost one count.
    """
    world = replace(mixed_instance(1), running=())
    node = world.nodes[0]
    world = replace(world, nodes=(node, replace(node, name="other")))

    one, other = accounts_of(world)

    assert one is other
