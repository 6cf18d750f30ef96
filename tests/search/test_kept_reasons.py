"""Reasons of pods that are refused again: only nodes that have changed are looked at once more."""

from collections import Counter
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from mixed_worlds import mixed_instance
from placer.scheduler import Scheduler
from placer.scheduling.decision import Batch, Decision
from placer.scheduling.errors import SchedulerError
from placer.search.options import Engine, SolveOptions
from placer.search.reasons import stages
from placer.search.reasons.question import PodOnNode
from placer_models.cluster import Node
from placer_models.placement import Unplaced
from placer_models.pod import Container, Pod, PodSpec, Resources, lone_gang, pods_of_gangs
from placer_models.policy import QosClass
from worlds import tiny_instance

GREEDY = SolveOptions(Engine.GREEDY, workers=1, seed=1)
NODES = 12


def left_out(decision: Decision) -> tuple[Unplaced, ...]:
    return getattr(decision.answer, "unplaced", ())


def place(scheduler: Scheduler, pod: Pod, *, dry_run: bool = False) -> Decision:
    return scheduler.place(Batch((lone_gang(pod),)), 60.0, dry_run, GREEDY)


@pytest.mark.parametrize("seed", range(30))
def test_reasons_are_those_of_a_scheduler_that_knows_nothing(seed: int) -> None:
    """
    Pods come again and again, some end, and nodes change; asked anew, all is said the same.
    """
    rng = Random(seed)
    instance = mixed_instance(seed)
    try:
        scheduler = Scheduler(instance.nodes, tuple(instance.running))
    except SchedulerError:
        pytest.skip("this world is none that a Scheduler takes")
    specs = [(pod.namespace, pod.spec) for pod in pods_of_gangs(instance.gangs)]
    placed: list[Pod] = []
    for step in range(5):
        namespace, spec = rng.choice(specs)
        pod = Pod(f"again-{step}", namespace, spec)
        fresh = Scheduler.restore(scheduler.snapshot())
        try:
            expected = left_out(place(fresh, pod, dry_run=True))
        except SchedulerError:
            continue  # an illegal pod
        decision = place(scheduler, pod)
        assert left_out(decision) == expected
        placed += [pod] if decision.placement.pods else []
        if placed and rng.random() < 0.3:
            scheduler.release([placed.pop(rng.randrange(len(placed))).key])
        if rng.random() < 0.3:
            node = rng.choice(scheduler.snapshot().instance.nodes)
            scheduler.update_node(replace(node, cordoned=not node.cordoned))


@pytest.fixture
def looked_at(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Count how often each node is looked into beside what runs there."""
    found: Counter[str] = Counter()

    def counted(*parts: Any) -> PodOnNode:
        asked = PodOnNode(*parts)
        found[asked.node.name if asked.crowd else "empty"] += 1
        return asked

    monkeypatch.setattr(stages, "PodOnNode", counted)
    return found


def fleet() -> list[Node]:
    node = tiny_instance(0).nodes[0]
    return [replace(node, name=f"n{i}") for i in range(NODES)]


def owner(name: str, cpus: int) -> Pod:
    return Pod(name, "default", PodSpec((Container("app", Resources(1000 * cpus)),), QosClass.LSR))


def test_only_nodes_that_changed_are_looked_at_again(looked_at: Counter[str]) -> None:
    """
    A pod that is refused twice costs a look at each kind of node, and at one node between.
    """
    nodes = fleet()
    cpus = len(nodes[0].machine.topology.online)
    scheduler = Scheduler(nodes)
    for i in range(NODES):
        place(scheduler, owner(f"small-{i}", cpus // 2 + 1))
    large = owner("large", cpus)

    first = left_out(place(scheduler, large))
    assert "not now" in first[0].reasons[0]
    assert len(looked_at - Counter({"empty": looked_at["empty"]})) == NODES
    assert looked_at["empty"] == 1
    looked_at.clear()

    assert left_out(place(scheduler, large)) == first
    assert not looked_at
    scheduler.release([("default", "small-3")])
    assert place(scheduler, owner("other", cpus // 2 + 1)).placement.pods
    assert left_out(place(scheduler, large)) == first
    assert looked_at.total() == 1
