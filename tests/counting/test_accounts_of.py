"""Accounts of all nodes of an instance: each equals the count of its node alone.

After pods have come, what is subtracted equals a fresh count.
"""

from dataclasses import replace
from random import Random

import pytest

from mixed_worlds import mixed_instance
from placer.counting.account import account_after, account_of, accounts_of
from placer.scheduling.scheduler_state import record_with_current_pools
from placer_models.cluster import RunningPod
from placer_models.illegal_running import (
    running_pod_counted_as_legal,
    with_running_pods_counted_as_legal,
)

WORLDS = 400


@pytest.mark.parametrize("batch", range(3), ids="batch {}".format)
def test_they_equal_counts_node_by_node(batch: int) -> None:
    """
    Running pods with words of all families, in places that nobody has settled: their CPUs are
    what a file says.
    """
    busy = 0
    for seed in range(WORLDS * batch, WORLDS * (batch + 1)):
        world = with_running_pods_counted_as_legal(mixed_instance(seed))
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


@pytest.mark.parametrize("batch", range(3), ids="batch {}".format)
def test_it_equals_a_fresh_count(batch: int) -> None:
    """
    Running pods with words of all families come to their nodes, one by one or two at a time, in
    any order.
    """
    looked_at = 0
    for seed in range(WORLDS * batch, WORLDS * (batch + 1)):
        rng = Random(seed)
        world = mixed_instance(seed)
        for node in world.nodes:
            here = [
                running_pod_counted_as_legal(r)
                for r in world.running
                if r.placement.node == node.name
            ]
            here = list(record_with_current_pools(node, here).counted)
            rng.shuffle(here)
            there: list[RunningPod] = []
            while here:
                came = [here.pop() for _ in range(min(len(here), rng.choice((1, 1, 2))))]
                found = account_after(node, account_of(node, there), came)
                there += came
                if found is not None:
                    looked_at += 1
                    assert found == account_of(node, there), seed
    assert looked_at > WORLDS // 20
