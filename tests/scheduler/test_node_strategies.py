"""Strategies of a Scheduler's calls: each has its own, and none is left over for the next."""

from dataclasses import replace
from random import Random

import pytest

from answers import expect
from placer.judge.breaches import Breach, breaches_in_scene
from placer.judge.measure import measure
from placer.judge.scene import InstanceWithPlacement
from placer.scheduler import Scheduler
from placer.scheduling.decision import Batch
from placer.search.options import SolveOptions
from placer.search.solver import solve
from placer_models.cluster import Node
from placer_models.goals import TIERS_OF
from placer_models.node_strategy import NodeStrategy
from placer_models.placement import Placed
from placer_models.pod import lone_gang
from placer_models.policy import QosClass
from scheduler.cluster import BOX, DEADLINE_S, EXACT, QUICK, check_fresh_count, machine, pod

OPTIONS = pytest.mark.parametrize("options", [QUICK, EXACT], ids=["greedy", "auto"])


def batch_of(count: int, prefix: str) -> Batch:
    """Return equal LS pods."""
    pods = (pod(f"{prefix}-{i}", 2, QosClass.LS, gib=1) for i in range(count))
    return Batch(tuple(map(lone_gang, pods)))


def nodes_of(scheduler: Scheduler) -> list[int]:
    """Return how many pods each node has, the most first."""
    nodes = [r.placement.node for r in scheduler.snapshot().instance.running]
    return sorted((nodes.count(name) for name in set(nodes)), reverse=True)


@OPTIONS
def test_one_call_packs_and_the_next_spreads(options: SolveOptions) -> None:
    """
    Three pods come to one node; then three to the other three, one each.
    """
    scheduler = Scheduler([Node(f"n{i}", BOX) for i in range(4)])

    for strategy, prefix in ((NodeStrategy.PACK, "a"), (NodeStrategy.SPREAD, "b")):
        asked = replace(options, strategy=strategy)
        decision = scheduler.place(batch_of(3, prefix), DEADLINE_S, options=asked)
        assert isinstance(decision.answer, Placed)
        assert decision.answer.tiers[-1].tier in TIERS_OF[strategy]

    assert nodes_of(scheduler) == [3, 1, 1, 1]
    check_fresh_count(scheduler)


@OPTIONS
@pytest.mark.parametrize("strategy", list(NodeStrategy))
def test_what_is_kept_changes_no_answer(strategy: NodeStrategy, options: SolveOptions) -> None:
    """
    After calls with other strategies, a call decides as a solve that knows nothing.
    """
    scheduler = Scheduler([Node(f"n{i}", BOX) for i in range(4)])
    for i, other in enumerate(NodeStrategy):
        asked = replace(options, strategy=other)
        scheduler.place(batch_of(2, f"old-{i}"), DEADLINE_S, options=asked)
    wanted = batch_of(3, "new")
    fresh = replace(scheduler.snapshot().instance, gangs=wanted.gangs, strategy=strategy)
    limits = replace(options, time_limit_s=DEADLINE_S)

    decision = scheduler.place(
        wanted, DEADLINE_S, dry_run=True, options=replace(options, strategy=strategy)
    )

    answer = expect(Placed, solve(fresh, limits))
    assert measure(fresh, decision.placement) == measure(fresh, answer.placement)


LOADED = (
    NodeStrategy.PACK,
    NodeStrategy.SPREAD,
    NodeStrategy.LEAST_REQUESTED,
    NodeStrategy.MOST_BALANCED,
)
"""The strategies that look at what part of a node is asked for."""

SMALL = machine(cores=8, numa_nodes=1, gpus=0, name="small")
LARGE = machine(cores=32, numa_nodes=1, gpus=0, name="large")
WITH_GPUS = machine(cores=8, numa_nodes=1, gpus=2, name="with-gpus")
KINDS = (SMALL, SMALL, LARGE, WITH_GPUS)


def drawn_batch(rng: Random, prefix: str) -> Batch:
    """Return a few LS pods of three kinds."""
    asked = ((2, 1, 0), (1, 2, 0), (1, 1, 1))
    drawn = (rng.choice(asked) for _ in range(rng.choice((1, 1, 2, 5))))
    pods = (
        pod(f"{prefix}-{i}", cpus, QosClass.LS, gib=gib, gpus=gpus)
        for i, (cpus, gib, gpus) in enumerate(drawn)
    )
    return Batch(tuple(map(lone_gang, pods)))


@pytest.mark.parametrize(
    "seeds", [range(40), pytest.param(range(40, 1000), marks=pytest.mark.check)]
)
def test_what_was_kept_of_other_kinds_of_nodes_changes_no_place(seeds: range) -> None:
    """
    Cordons make other kinds of the same nodes. A Scheduler that has seen them places pods as one
    that has not.
    """
    for seed in seeds:
        rng = Random(seed)
        names = [f"n{i:02}" for i in range(rng.choice((3, 4, 6, 18)))]
        scheduler = Scheduler([Node(name, rng.choice(KINDS)) for name in names])
        for step in range(rng.randint(1, 6)):
            for name in names:
                if rng.random() < 0.3:
                    rng.choice((scheduler.cordon, scheduler.uncordon))(name)
            options = replace(QUICK, strategy=rng.choice(LOADED))
            scheduler.place(drawn_batch(rng, f"a{step}"), DEADLINE_S, options=options)
        fresh = Scheduler.restore(scheduler.snapshot())
        last, options = drawn_batch(rng, "b"), replace(QUICK, strategy=rng.choice(LOADED))
        warm, cold = (
            one.place(last, DEADLINE_S, dry_run=True, options=options) for one in (scheduler, fresh)
        )
        assert warm.placement == cold.placement, seed


@pytest.mark.parametrize("strategy", [None, *NodeStrategy])
def test_the_judge_looks_at_a_decision_once(
    strategy: NodeStrategy | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    The decision is what the judge has just passed, and is known again, whatever the strategy.
    """
    scheduler = Scheduler([Node(f"n{i}", BOX) for i in range(4)])
    looks = []

    def counted(scene: InstanceWithPlacement) -> tuple[Breach, ...]:
        looks.append(scene)
        return breaches_in_scene(scene)

    monkeypatch.setattr("placer.judge.breaches.breaches_in_scene", counted)
    monkeypatch.setattr("placer.search.judged.breaches_in_scene", counted)
    options = replace(QUICK, strategy=strategy)
    scheduler.place(batch_of(3, "a"), DEADLINE_S, options=options)

    assert len(looks) == 1

    large = Batch((lone_gang(pod("large", 200, QosClass.LS)),))
    assert not scheduler.place(large, DEADLINE_S, options=options).placement.pods

    assert len(looks) == 2
