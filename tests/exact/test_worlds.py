"""The tiny worlds are worth testing on: small, repeatable, balanced, and all goals bind."""

from collections import Counter

import pytest
from hypothesis import given

import brute_force
import insides
from brute_force import best_placement
from placer.judge.measure import Worth, measure
from placer_models.cluster import Instance
from placer_models.goals import (
    ALIGNMENT,
    BIND,
    GANG_PAIR_SUM,
    POD_PAIR_MINIMUM,
    POD_PAIR_SUM,
    USABLE,
    Tier,
)
from placer_models.placement import Placement
from worlds import tiny_instance, tiny_instances

MOST_WORLDS = 400


@given(tiny_instances())
def test_worlds_are_tiny(instance: Instance) -> None:
    """
    At most 2 nodes of 8 CPUs, 4 NUMA nodes and 4 GPUs, and 4 pods that wait.
    """
    assert 1 <= len(instance.nodes) <= 2
    assert 1 <= sum(len(gang.pods) for gang in instance.gangs) <= 4
    for node in instance.nodes:
        assert len(node.machine.topology.cpus) <= 8
        assert len(node.machine.topology.numa_nodes) <= 4
        assert sum(device.type == "gpu" for device in node.machine.devices) <= 4


def test_a_seed_gives_one_world() -> None:
    """
    A world that fails can be built again from its name.
    """
    assert tiny_instance(7) == tiny_instance(7)
    assert tiny_instance(7).name == "tiny-7"


@pytest.mark.check
def test_worlds_are_balanced() -> None:
    """
    All pods placed, some, none: each is at least a fifth of the worlds.
    """
    outcomes: Counter[str] = Counter()
    for seed in range(200):
        instance = tiny_instance(seed)
        placed = len(best_placement(instance).placement.pods)
        waiting = sum(len(gang.pods) for gang in instance.gangs)
        outcomes["all" if placed == waiting else "some" if placed else "none"] += 1

    assert min(outcomes[word] for word in ("all", "some", "none")) >= 40, outcomes


@pytest.mark.check
@pytest.mark.parametrize(
    "tier",
    [ALIGNMENT, BIND, POD_PAIR_MINIMUM, POD_PAIR_SUM, GANG_PAIR_SUM, USABLE],
    ids=lambda tier: tier.name,
)
def test_every_tier_decides_some_world(tier: Tier, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Who does not look at the tier places some world worse.
    """

    def blind(instance: Instance, placement: Placement) -> Worth:
        vector = measure(instance, placement)
        return tuple((t, 0 if t == tier else value) for t, value in vector)

    for seed in range(MOST_WORLDS):
        instance = tiny_instance(seed)
        best = best_placement(instance).vector
        with monkeypatch.context() as patch:
            patch.setattr(brute_force, "measure", blind)
            patch.setattr(insides, "measure", blind)
            placement = best_placement(instance).placement
        if measure(instance, placement) != best:
            return
    pytest.fail(f"{MOST_WORLDS} worlds are placed as well without {tier.name}")
