"""Accounts after pods have come: what is subtracted equals a fresh count."""

from random import Random

import pytest

from mixed_worlds import mixed_instance
from placer.counting.account import account_after, account_of
from placer.scheduling.cluster_state import settled_node_record
from placer_models.cluster import RunningPod
from placer_models.illegal_running import counted_as_legal

WORLDS = 400


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
            here = [counted_as_legal(r) for r in world.running if r.placement.node == node.name]
            here = list(settled_node_record(node, here).counted)
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
