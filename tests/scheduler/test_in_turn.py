"""Batches without gangs: each pod gets the place that a call of its own would give it."""

from collections.abc import Sequence
from random import Random

import pytest

from greedy import roomy
from mixed_worlds import mixed_instance
from placer.greedy.scorer import NodeScoringMethod
from placer.greedy.scorers.best_fit import BestFitScoring
from placer.greedy.scorers.fragmentation import FragmentationScoring
from placer.scheduler import Scheduler
from placer.scheduling.decision import Batch
from placer.search.options import BatchOrder, Engine, SolveOptions
from placer_models.cluster import Instance, Node
from placer_models.node_strategy import NodeStrategy
from placer_models.placement import NamespacedName, PodPlacement
from placer_models.pod import Gang, Pod, pods_of_gangs
from placer_models.reach import without_asks_beyond_node
from scheduler.cluster import batch, machine, pod

WORLDS = 15
"""How many worlds one test looks at."""


def lone(pods: Sequence[Pod]) -> tuple[Gang, ...]:
    return tuple(Gang(one.name, one.namespace, (one,), 1, lone=True) for one in pods)


def options_for(rng: Random, pods: Sequence[Pod]) -> SolveOptions:
    """Return one of all strategies and scorers."""
    scorings: tuple[NodeScoringMethod, ...] = (
        BestFitScoring(),
        FragmentationScoring.of(pod.spec for pod in pods),
    )
    chosen = rng.choice((*NodeStrategy, *scorings))
    if isinstance(chosen, NodeStrategy):
        return SolveOptions(Engine.GREEDY, strategy=chosen)
    return SolveOptions(Engine.GREEDY, scoring=chosen)


def places(scheduler: Scheduler, pods: Sequence[Pod]) -> dict[NamespacedName, PodPlacement]:
    there = {runner.pod.key for runner in scheduler.snapshot().instance.running}
    return {pod.key: scheduler.placement_of(pod.key) for pod in pods if pod.key in there}


def both(
    world: Instance, pods: Sequence[Pod], options: SolveOptions
) -> tuple[dict[NamespacedName, PodPlacement], dict[NamespacedName, PodPlacement]]:
    """Return the places of pods in one batch, and one by one."""
    together = Scheduler(world.nodes, world.running)
    decision = together.place(Batch(lone(pods)), 600.0, options=options, skip_illegal=True)
    assert {place.key for place in decision.placement.pods} == places(together, pods).keys()
    alone = Scheduler(world.nodes, world.running)
    for gang in lone(pods):
        alone.place(Batch((gang,)), 600.0, options=options, skip_illegal=True)
    return places(together, pods), places(alone, pods)


@pytest.mark.parametrize("batch", range(6), ids="batch {}".format)
def test_a_batch_gets_the_places_of_single_calls(batch: int) -> None:
    """
    Pods with many of the words there are on three real machines, under every strategy and with
    scorers: the same nodes, CPUs, devices and bytes, to the last one, and the same are left out.
    """
    for seed in range(4 * batch, 4 * batch + 4):
        rng = Random(seed)
        world = roomy.instance(seed)
        pods = list(pods_of_gangs(world.gangs))
        together, alone = both(world, pods, options_for(rng, pods))
        assert together == alone, seed
        assert len(together) > 1


@pytest.mark.parametrize("batch", range(6), ids="batch {}".format)
def test_that_is_so_whatever_words_pods_and_nodes_have(batch: int) -> None:
    """
    In tiny worlds with words of all families, but for what pods ask of pods beyond their node: a
    batch has to keep that in the end, single calls keep it in turn.
    """
    looked_at = 0
    for seed in range(1000 * batch, 1000 * batch + WORLDS):
        rng = Random(seed)
        world = mixed_instance(seed)
        pods = list(map(without_asks_beyond_node, pods_of_gangs(world.gangs)))
        rng.shuffle(pods)
        together, alone = both(world, pods, options_for(rng, pods))
        assert together == alone, seed
        looked_at += len(together) > 0
    assert looked_at


def test_other_orders_are_taken_on_request_only() -> None:
    """
    A small pod that comes first takes the room of a large one; largest first, that one has it.
    """
    node = Node("n", machine(cores=2, numa_nodes=1))
    small, large = pod("small", cpus=2), pod("large", cpus=4)
    found = []
    for order in BatchOrder:
        options = SolveOptions(Engine.GREEDY, order=order)
        decision = Scheduler([node]).place(batch(small, large), 60.0, options=options)
        found.append([place.name for place in decision.placement.pods])
    assert found == [["small"], ["large"]]
