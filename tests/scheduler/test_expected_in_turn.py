"""Batches under strategy ``expected``: each pod is placed as a call of its own would place it.

What is expected changes while the pods of a batch come, as it does from call to call.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from placer.judge.measure import measure
from placer.scheduler import Scheduler
from placer.scheduling import expecting
from placer.scheduling.decision import Batch
from placer.search.options import Engine, SolveOptions
from placer_models.cluster import Node
from placer_models.demand import ExpectedDemand, ExpectedShape, expected_demand_from_counts
from placer_models.device import GPU
from placer_models.node_strategy import NodeStrategy
from placer_models.placement import NamespacedName, Placed
from placer_models.pod import Container, DeviceRequest, Pod, PodSpec, Resources, lone_gang
from placer_models.policy import QosClass
from placer_models.topology_spread import SpreadConstraint
from scheduler.simple_worlds import MACHINES, a_node, a_spec, an_odd_spec, machine

GREEDY = SolveOptions(Engine.GREEDY, workers=1)
DEADLINE_S = 600.0


@pytest.fixture(autouse=True, scope="module")
def _learns_often() -> Iterator[None]:
    """Let what was learned be counted again every third pod, and only the last 20 count."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(expecting, "arrivals_until_next_count", lambda arrivals: 3)
        patch.setattr(expecting, "MOST_ARRIVED", 20)
        yield


@dataclass(frozen=True)
class Arrivals:
    """Pods that come.

    Attributes:
        pods: The pods, in their order.
        dry_run: Whether nobody is to be placed.
        deadline_s: Of each call.

    """

    pods: tuple[Pod, ...]
    dry_run: bool = False
    deadline_s: float = DEADLINE_S


def is_illegal(rng: Random) -> PodSpec:
    """Return what no pod may ask for: half a CPU of its own."""
    return PodSpec((Container("main", Resources(500, 1)),), QosClass.LSR)


def nodes_of(rng: Random, *, simple: bool) -> list[Node]:
    nodes = [a_node(rng, f"n{i}") for i in range(rng.randint(1, 5))]
    nodes[0] = replace(nodes[0], machine=MACHINES[0], cordoned=False)  # without GPUs nobody expects
    if not simple:
        nodes.append(Node("two", machine(16, 4, numa_nodes=2)))
    return nodes


def spec_of(rng: Random, *, simple: bool) -> PodSpec:
    while not simple and rng.random() < 0.3:
        spec = an_odd_spec(rng)
        if not spec.affinity:  # A batch keeps such rules in the end, single calls in turn.
            return spec
    return is_illegal(rng) if rng.random() < 0.05 else a_spec(rng)


class Life:
    """A Scheduler that lives through arrivals and departures."""

    def __init__(self, nodes: Sequence[Node], demand: ExpectedDemand | None) -> None:
        self.scheduler = Scheduler(nodes, demand=demand)

    def come(self, arrivals: Arrivals, size: int) -> list[object]:
        """Let pods come, so many at a time; return what was expected last, and who has a place."""
        pods, found = arrivals.pods, []
        for first in range(0, len(pods), size):
            batch = Batch(tuple(map(lone_gang, pods[first : first + size])))
            found.append(
                self.scheduler.place(
                    batch,
                    arrivals.deadline_s,
                    dry_run=arrivals.dry_run,
                    options=GREEDY,
                    skip_illegal=True,
                )
            )
        placed = (place.key for one in found for place in one.placement.pods)
        return [found[-1].demand, *placed]

    def told(self) -> tuple[object, ...]:
        """Return all that is known in the end."""
        snapshot = self.scheduler.snapshot()
        return snapshot.instance, snapshot.expectation, self.scheduler.demand


def lives_alike(seed: int, *, simple: bool) -> None:
    """Let pods come and go in batches and one by one, and compare all that is known each time."""
    rng = Random(seed)
    nodes = nodes_of(rng, simple=simple)
    given = expected_demand_from_counts({ExpectedShape(1000, 1): 3, ExpectedShape(4000, 2): 1})
    demand = given if rng.random() < 0.2 else None
    together, alone = Life(nodes, demand), Life(nodes, demand)
    waiting: dict[NamespacedName, Pod] = {}
    for step in range(rng.randint(2, 6)):
        specs = [spec_of(rng, simple=simple) for _ in range(rng.randint(1, 12))]
        new = [Pod(f"p{step}-{i}", "default", spec) for i, spec in enumerate(specs)]
        again = rng.sample(list(waiting.values()), min(len(waiting), rng.choice((0, 0, 2))))
        pods = [*new, *again]
        rng.shuffle(pods)
        arrivals = Arrivals(tuple(pods), rng.random() < 0.2, rng.choice((DEADLINE_S, 1e-6)))
        found = together.come(arrivals, len(pods))
        assert found == alone.come(arrivals, len(pods) if arrivals.dry_run else 1)
        assert together.told() == alone.told()
        running = [runner.pod.key for runner in together.scheduler.snapshot().instance.running]
        waiting |= {pod.key: pod for pod in pods}
        waiting = {key: pod for key, pod in waiting.items() if key not in running}
        gone = rng.sample(running, min(len(running), rng.choice((0, 0, 3, 8))))
        for life in (together, alone):
            life.scheduler.release(gone)


@pytest.mark.parametrize("simple", [True, False], ids=["simple", "not simple"])
def test_a_batch_is_placed_like_its_pods_one_by_one(simple: bool) -> None:
    """
    Pods come and go, and some are refused and try again; nodes with several NUMA nodes, pods that
    own CPUs: cut into batches at random, also when the time is over at once, each pod has its
    place to the last id, and what is learned, its prices, and when they are renewed are the same
    afterwards. Dry runs of batches in between teach what they teach.
    """
    for seed in range(8):
        lives_alike(seed, simple=simple)


@pytest.mark.check
@pytest.mark.parametrize("simple", [True, False], ids=["simple", "not simple"])
@settings(max_examples=60)
@given(seed=st.integers(0, 2**32 - 1))
def test_that_is_so_in_many_lives(simple: bool, seed: int) -> None:
    """
    The same.
    """
    lives_alike(seed, simple=simple)


def gpus(name: str, count: int, cpus: int = 1, **wishes: Any) -> Pod:
    requests = Resources(1000 * cpus, 1, devices=(DeviceRequest(GPU, count),))
    return Pod(name, "default", PodSpec((Container("main", requests),), **wishes))


def batch_of(*pods: Pod) -> Batch:
    return Batch(tuple(map(lone_gang, pods)))


def test_a_dry_run_of_a_batch_teaches_its_pods_alone() -> None:
    """
    They have arrived. What was learned before them, its prices, and when these are renewed stay,
    though the places are those that the batch gets when it is placed.
    """
    scheduler = Scheduler([Node("n", machine(8, 4)), Node("m", machine(32, 4))])
    scheduler.place(batch_of(gpus("first", 1)), DEADLINE_S, options=GREEDY)
    wanted = batch_of(*(gpus(f"p{i}", 1, i) for i in range(1, 6)))
    taking = scheduler.fork().place(wanted, DEADLINE_S, options=GREEDY)
    before = scheduler.snapshot().expectation

    tried = scheduler.place(wanted, DEADLINE_S, dry_run=True, options=GREEDY)

    assert (tried.placement, tried.demand) == (taking.placement, taking.demand)
    assert tried.demand != before.demand
    after = scheduler.snapshot().expectation
    assert after == replace(before, arrived=after.arrived, arrivals=6)
    assert [name for (_, name), _ in after.arrived] == ["first", "p1", "p2", "p3", "p4", "p5"]


def test_prices_are_renewed_within_a_batch() -> None:
    """
    A given demand of pods with four GPUs: once two of eight GPUs are gone, a place for one of
    them is worth more. The decision names the prices that held for its last pod, and by these
    anyone measures its tier.
    """
    demand = expected_demand_from_counts({ExpectedShape(1000, 4): 1, ExpectedShape(1000, 1): 1})
    nodes = [Node("a", machine(8, 4)), Node("b", machine(8, 4))]
    scheduler = Scheduler(nodes, demand=demand)
    first, before = scheduler.demand, scheduler.snapshot().instance
    wanted = batch_of(*(gpus(f"p{i}", 1) for i in range(4)))

    decision = scheduler.place(wanted, DEADLINE_S, options=GREEDY)

    assert decision.demand is not None
    assert decision.demand.priced(None) == demand
    assert decision.demand != first
    assert isinstance(decision.answer, Placed)
    asked = replace(
        before, gangs=wanted.gangs, strategy=NodeStrategy.EXPECTED, demand=decision.demand
    )
    found = measure(asked, decision.placement)
    assert tuple((tier.tier, tier.value) for tier in decision.answer.tiers) == found


def test_a_batch_whose_places_in_turn_do_not_hold_is_placed_as_a_whole() -> None:
    """
    The first pod is to be spread over racks with those that come after it, which do not mind, and
    all of which go to one rack in turn. So the whole batch is placed at once. Its pods have
    arrived, and what was learned before them stays.
    """
    labels = (("app", "a"),)
    spread = SpreadConstraint("rack", labels=labels)
    nodes = [Node("a", machine(8, 4), labels=(("rack", "0"),))]
    nodes += [Node("b", machine(8, 4), labels=(("rack", "1"),))]
    scheduler = Scheduler(nodes)
    scheduler.place(batch_of(gpus("before", 1, labels=(("app", "b"),))), DEADLINE_S, options=GREEDY)
    before = scheduler.snapshot()
    minding = gpus("p0", 1, labels=labels, spread=(spread,))
    wanted = batch_of(minding, *(gpus(f"p{i}", 1, labels=labels) for i in range(1, 4)))

    decision = scheduler.place(wanted, DEADLINE_S, options=GREEDY)

    assert isinstance(decision.answer, Placed)
    assert {place.node for place in decision.placement.pods} == {"a", "b"}
    asked = replace(
        before.instance,
        gangs=wanted.gangs,
        strategy=NodeStrategy.EXPECTED,
        demand=decision.demand,
    )
    found = measure(asked, decision.placement)
    assert tuple((tier.tier, tier.value) for tier in decision.answer.tiers) == found
    after = scheduler.snapshot().expectation
    assert after == replace(before.expectation, arrived=after.arrived, arrivals=5)
