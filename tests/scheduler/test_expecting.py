"""What a Scheduler expects: learned from pods that arrive, or given, and what becomes of it."""

from dataclasses import replace

import pytest

from even_topologies import even_topology
from placer.counting.left import node_left
from placer.judge.measure import measure
from placer.scheduler import Scheduler
from placer.scheduling import expecting
from placer.scheduling.decision import Batch
from placer.scheduling.expectation import NOTHING_EXPECTED
from placer.scheduling.scheduler_state import nodes_and_pods_of
from placer.search.options import Engine, SolveOptions
from placer_models.cluster import Instance, Machine, Node
from placer_models.demand import ExpectedDemand, ExpectedShape, expected_demand_from_counts
from placer_models.device import GPU, Device
from placer_models.device_share import DeviceShare
from placer_models.expected import (
    admitted_shape_mask,
    expected_shape_prices,
    group_equal_left_nodes,
)
from placer_models.forecast import (
    expected_counts_from_known_pods,
    expected_shape_of,
    given_or_learned_demand,
    learned_demand,
)
from placer_models.goals import EXPECTED, USABLE
from placer_models.node_strategy import NodeStrategy
from placer_models.placement import PartlyPlaced, Placed
from placer_models.pod import Container, DeviceRequest, Pod, PodSpec, Resources, lone_gang
from placer_models.policy import QosClass

GREEDY = SolveOptions(engine=Engine.GREEDY, workers=1)
DEADLINE_S = 2.5


def machine(cpus: int, gpus: int) -> Machine:
    topology = even_topology(cpus, 64)
    devices = tuple(Device(GPU, minor, memory_bytes=1000) for minor in range(gpus))
    return Machine(f"c{cpus}-g{gpus}", "", topology, devices)


COUNTED_LATER = expecting.arrivals_until_next_count

FEW_CPUS, MANY_CPUS = Node("a", machine(8, 4)), Node("b", machine(32, 4))


def pod(name: str, cpus: int = 1, gpus: int = 1, percent: int | None = None) -> Pod:
    share = None if percent is None else DeviceShare(percent, memory_percent=percent)
    devices = (DeviceRequest(GPU, gpus, share),) if gpus else ()
    container = Container("main", Resources(1000 * cpus, 1, devices=devices))
    return Pod(name, "default", PodSpec((container,), QosClass.LS))


def batch(*pods: Pod) -> Batch:
    return Batch(tuple(map(lone_gang, pods)))


def counts(scheduler: Scheduler) -> dict[tuple[int, int, int], int]:
    """Return (CPU, GPUs, milli of each) -> count, without the imaginary pods of whole nodes."""
    demand = scheduler.demand
    return {
        (shape.cpu_milli, shape.gpus, shape.gpu_milli): count
        for shape, count in zip(demand.shapes, demand.counts, strict=True)
        if not shape.tolerations
    }


@pytest.fixture(autouse=True)
def _counts_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let what is learned be counted again with each pod that arrives, not only 64 later."""
    monkeypatch.setattr(expecting, "arrivals_until_next_count", lambda arrivals: 1)


def test_the_fast_path_keeps_room_for_expected_pods_where_there_are_gpus() -> None:
    """
    A pod with 6 CPUs leaves three GPUs of node a without CPUs for pods with 2 each.
    """
    demand = expected_demand_from_counts({ExpectedShape(2000, 1): 1})
    scheduler = Scheduler([FEW_CPUS, MANY_CPUS], demand=demand)

    decision = scheduler.place(batch(pod("greedy-for-cpus", 6)), DEADLINE_S, options=GREEDY)

    assert [place.node for place in decision.placement.pods] == ["b"]
    assert isinstance(decision.answer, Placed)
    assert decision.answer.tiers[-1].tier == EXPECTED


def test_without_gpus_or_with_a_search_the_last_tier_is_usable() -> None:
    """
    There is nothing to reason with, or there is time to prove a tier.
    """
    without = Scheduler([Node("a", machine(8, 0))])
    auto = replace(GREEDY, engine=Engine.AUTO, work_limit=1)
    for scheduler, options in ((without, GREEDY), (Scheduler([FEW_CPUS]), auto)):
        decision = scheduler.place(batch(pod("p", gpus=0)), DEADLINE_S, options=options)

        assert isinstance(decision.answer, Placed)
        assert decision.answer.tiers[-1].tier == USABLE
        assert decision.demand is None


def test_a_pod_counts_once_by_its_key() -> None:
    """
    Tried again after a refusal, in a dry run, taken by confirm: it has arrived once.
    """
    scheduler = Scheduler([FEW_CPUS])
    refused = batch(pod("too-large", 1, gpus=5))
    for _ in range(3):
        decision = scheduler.place(refused, DEADLINE_S, options=GREEDY)
        assert not isinstance(decision.answer, Placed | PartlyPlaced)
    tried = scheduler.place(batch(pod("p", 2)), DEADLINE_S, dry_run=True, options=GREEDY)
    scheduler.confirm(tried)
    scheduler.place(batch(pod("q", 1, percent=30)), DEADLINE_S, options=GREEDY)

    assert counts(scheduler) == {(1000, 5, 1000): 1, (2000, 1, 1000): 1, (1000, 1, 300): 1}


def test_what_runs_at_the_start_has_arrived() -> None:
    """
    A Scheduler that begins with a cluster in use learns from it.
    """
    first = Scheduler([FEW_CPUS])
    first.place(batch(pod("p", 2), pod("q", 2)), DEADLINE_S, options=GREEDY)
    running = first.snapshot().instance.running

    assert counts(Scheduler([FEW_CPUS], tuple(running))) == {(2000, 1, 1000): 2}


def test_old_arrivals_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Here all but the last four, whether they still run or not.
    """
    monkeypatch.setattr(expecting, "MOST_ARRIVED", 4)
    scheduler = Scheduler([FEW_CPUS])
    for i in range(9):
        new = pod(f"p{i}", 1 + (i >= 5))
        scheduler.place(batch(new), DEADLINE_S, options=GREEDY)
        scheduler.release([new.key])

    assert counts(scheduler) == {(2000, 1, 1000): 4}


@pytest.mark.parametrize("size", [7, 64, 100, 300])
def test_pods_in_batches_teach_what_pods_one_by_one_do(
    size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    What is learned is counted after as many arrivals, however many arrive at a time.
    """
    monkeypatch.setattr(expecting, "arrivals_until_next_count", COUNTED_LATER)

    def learned_after(arrivals: int, at_a_time: int) -> ExpectedDemand:
        state = nodes_and_pods_of([FEW_CPUS], (), 0)
        learner = expecting.ExpectationTracker(NOTHING_EXPECTED)
        pods = [pod(f"p{i}", 1 + i // 100, percent=10 * (1 + i % 9)) for i in range(arrivals)]
        for first in range(0, arrivals, at_a_time):
            learner.demand_on(state)
            learner.arrive(pods[first : first + at_a_time])
        return learner.demand_on(state)

    assert learned_after(3 * size, size) == learned_after(3 * size, 1)


def test_the_demand_is_frozen_within_a_decision() -> None:
    """
    By the demand that a decision names, anyone measures the tier as the decision tells it.
    """
    scheduler = Scheduler([FEW_CPUS, MANY_CPUS])
    for i in range(4):
        before = scheduler.snapshot().instance
        wanted = batch(pod(f"p{i}", 2, percent=50), pod(f"q{i}", 3))
        decision = scheduler.place(wanted, DEADLINE_S, options=GREEDY)
        assert isinstance(decision.answer, Placed | PartlyPlaced)
        asked = replace(
            before,
            gangs=wanted.gangs,
            strategy=NodeStrategy.EXPECTED,
            demand=decision.demand,
        )

        assert decision.demand is not None
        assert decision.demand.prices is not None
        found = measure(asked, decision.placement)
        assert tuple((t.tier, t.value) for t in decision.answer.tiers) == found


def test_snapshots_and_forks_keep_what_was_learned() -> None:
    """
    Both go on as the first one would, and learn for themselves.
    """
    first = Scheduler([FEW_CPUS, MANY_CPUS])
    first.place(batch(pod("p", 2)), DEADLINE_S, options=GREEDY)
    fork, restored = first.fork(), Scheduler.restore(first.snapshot())
    decisions = [
        scheduler.place(batch(pod("q", 3), pod("r", 1, percent=20)), DEADLINE_S, options=GREEDY)
        for scheduler in (first, fork, restored)
    ]

    assert decisions[0].demand == decisions[1].demand == decisions[2].demand
    assert decisions[0].placement == decisions[1].placement == decisions[2].placement
    fork.place(batch(pod("s", 4)), DEADLINE_S, options=GREEDY)
    assert (4000, 1, 1000) in counts(fork)
    assert (4000, 1, 1000) not in counts(first)
    assert (4000, 1, 1000) not in counts(restored)


def test_a_given_demand_stays() -> None:
    """
    Only its prices follow the cluster.
    """
    demand = expected_demand_from_counts({ExpectedShape(2000, 1): 3, ExpectedShape(500, 1, 500): 2})
    scheduler = Scheduler([FEW_CPUS, MANY_CPUS], demand=demand)
    for i in range(5):
        scheduler.place(batch(pod(f"p{i}", 4)), DEADLINE_S, options=GREEDY)

    assert scheduler.demand.priced(None) == demand
    restored = Scheduler.restore(scheduler.snapshot())
    restored.place(batch(pod("new", 1)), DEADLINE_S, options=GREEDY)
    assert restored.demand.priced(None) == demand


def test_prices_are_renewed_when_a_fifth_of_the_idle_gpus_is_gone() -> None:
    """
    Or has come back; in between they stay as they were.
    """
    demand = expected_demand_from_counts({ExpectedShape(6000, 1): 1, ExpectedShape(1000, 4): 1})
    scheduler = Scheduler([FEW_CPUS, MANY_CPUS], demand=demand)
    first = scheduler.demand.prices
    assert first == prices(scheduler, demand)
    scheduler.place(batch(pod("one")), DEADLINE_S, options=GREEDY)
    assert scheduler.demand.prices == first != prices(scheduler, demand)
    scheduler.place(batch(pod("two")), DEADLINE_S, options=GREEDY)
    assert scheduler.demand.prices == prices(scheduler, demand) != first
    scheduler.release([("default", "one"), ("default", "two")])
    assert scheduler.demand.prices == first


def prices(scheduler: Scheduler, demand: ExpectedDemand) -> tuple[int, ...]:
    """Return what the reference says of the nodes as they are."""
    nodes = scheduler.snapshot().instance.nodes
    lefts = [node_left(scheduler.account_of(node.name)) for node in nodes]
    return expected_shape_prices(
        demand,
        group_equal_left_nodes(
            (admitted_shape_mask(demand, n), left) for n, left in zip(nodes, lefts, strict=True)
        ),
    )


@pytest.mark.parametrize(
    ("arrivals", "imagined"), [(0, 1), (511, 1), (512, 2), (2_047, 7), (2_048, 8), (9_999, 8)]
)
def test_whole_nodes_stay_wanted_as_more_pods_arrive(arrivals: int, imagined: int) -> None:
    """
    One pod that wants all of a node for every 256 that arrive, and eight at most: with one alone
    some draws let small pods take every node that a large one needs.
    """
    assert learned_demand({}, arrivals, [FEW_CPUS, MANY_CPUS]).counts == (imagined, imagined)


def test_learning_adds_a_pod_for_each_type_of_node() -> None:
    """
    It wants all of the node, and any node of that size will do.
    """
    nodes = [FEW_CPUS, replace(FEW_CPUS, name="same"), MANY_CPUS, Node("none", machine(4, 0))]
    demand = learned_demand({}, 0, nodes)

    assert [(s.cpu_milli, s.gpus, s.gpu_milli) for s in demand.shapes] == [
        (8000, 4, 1000),
        (32000, 4, 1000),
    ]
    assert demand.counts == (1, 1)


@pytest.mark.parametrize(("cpus", "is_expected"), [(19, False), (20, True)])
def test_pods_without_gpus_are_expected_where_cpu_is_scarce(cpus: int, is_expected: bool) -> None:
    """
    Nodes have 40 CPUs and 8 GPUs. Pods with 4 GPUs and others ask for 19 or 20 CPUs: with all
    GPUs in use that would be 95 or 100 % of the CPUs.
    """
    alone, beside = ExpectedShape(1000 * (cpus - 12), 0, 0), ExpectedShape(3000, 1)
    known = {alone: 1, beside: 4}

    found = expected_counts_from_known_pods(known, [FEW_CPUS, MANY_CPUS])

    assert found == (known if is_expected else {beside: 4})
    assert (alone in learned_demand(known, 5, [FEW_CPUS, MANY_CPUS]).shapes) == is_expected


def test_pods_without_gpus_alone_are_nothing_to_expect() -> None:
    """
    No GPU is lost to them; and without GPUs there is nothing to lose.
    """
    alone, beside = ExpectedShape(9000, 0, 0), ExpectedShape(3000, 1)

    assert expected_counts_from_known_pods({alone: 1}, [FEW_CPUS]) == {}
    assert expected_counts_from_known_pods({alone: 1, beside: 1}, []) == {alone: 1, beside: 1}


@pytest.mark.parametrize(("each", "is_expected"), [(16, False), (17, True)])
def test_memory_is_expected_where_it_is_scarce(each: int, is_expected: bool) -> None:
    """
    Nodes have 64 bytes and 4 GPUs. Of pods with 17 bytes three come to each, and a part of one:
    6 % of the GPUs are left without memory, where 5 % count as many.
    """
    known = {ExpectedShape(1000, 1, memory_bytes=each): 3}
    nodes = [FEW_CPUS, MANY_CPUS]

    assert expected_counts_from_known_pods(known, nodes) == {
        ExpectedShape(1000, 1, memory_bytes=each * is_expected): 3
    }
    demand = learned_demand(known, 3, nodes)
    whole = {shape.memory_bytes for shape in demand.shapes if shape.tolerations}
    assert demand.looks_at_memory == is_expected
    assert whole == ({64} if is_expected else {0})


def test_pods_that_differ_in_memory_alone_are_expected_together_where_there_is_enough() -> None:
    """
    Of nodes that differ in their memory alone one is as good as another.
    """
    known = {ExpectedShape(1000, 1, memory_bytes=1): 3, ExpectedShape(1000, 1, memory_bytes=2): 4}

    assert expected_counts_from_known_pods(known, [FEW_CPUS]) == {ExpectedShape(1000, 1): 7}


def test_the_fast_path_keeps_memory_beside_gpus() -> None:
    """
    A pod with 40 of 64 bytes leaves one GPU of node a without memory for expected pods with 24.
    On node b, which has one GPU left, its memory is not missed.
    """
    demand = expected_demand_from_counts({ExpectedShape(1000, 1, memory_bytes=24): 1})
    for known, node in (
        (demand, "b"),
        (expected_demand_from_counts({ExpectedShape(1000, 1): 1}), "a"),
    ):
        nodes = [Node("a", machine(8, 2)), Node("b", machine(8, 1))]
        scheduler = Scheduler(nodes, demand=known)
        wants = Container("main", Resources(1000, 40))
        large = Pod("large", "default", PodSpec((wants,), QosClass.LS))

        decision = scheduler.place(batch(large), DEADLINE_S, options=GREEDY)

        assert [place.node for place in decision.placement.pods] == [node]


def test_shapes_say_what_pods_have_of_gpus() -> None:
    """
    A share counts by its larger percentage; who has no GPU takes CPU alone.
    """
    found = [
        expected_shape_of(p.spec)
        for p in (pod("a", 2, 3), pod("b", 1, percent=19), pod("c", gpus=0))
    ]

    assert [shape and shape.without_memory for shape in found] == [
        ExpectedShape(2000, 3),
        ExpectedShape(1000, 1, 190),
        ExpectedShape(1000, 0, 0),
    ]
    assert [shape and shape.memory_bytes for shape in found] == [1, 1, 1]
    by_memory = DeviceShare(20, memory_percent=45)
    spec = replace(
        pod("d").spec,
        containers=(
            Container("main", Resources(0, 0, devices=(DeviceRequest(GPU, 1, by_memory),))),
        ),
    )
    assert expected_shape_of(spec) == ExpectedShape(0, 1, 450)


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ({"counts": (1,)}, "got 1 counts for 2 shapes"),
        ({"counts": (1, 0)}, "got the count 0"),
        ({"prices": (1, -5)}, "got the price -5"),
        ({"streams": 0}, "streams is 0; expected 1 to"),
        ({"length": 5000}, "length is 5000; expected 1 to"),
        ({"seed": -1}, "seed is -1"),
        ({"shapes": (ExpectedShape(2, 1), ExpectedShape(1, 1))}, "not ascending"),
    ],
)
def test_contradictions_in_a_demand_are_refused(bad: dict[str, object], said: str) -> None:
    """
    Each message names the number and what it may be.
    """
    good = ExpectedDemand((ExpectedShape(1, 1), ExpectedShape(2, 1)), (1, 1))
    with pytest.raises(ValueError, match=said):
        replace(good, **bad)


def test_instances_without_a_demand_expect_what_runs_and_waits() -> None:
    """
    And one pod of each whole node. They ask for more of its CPUs than of its GPUs, so those
    without GPUs count.
    """
    asked = Instance((FEW_CPUS,), batch(pod("p", 2), pod("q", 2), pod("r", gpus=0)).gangs)

    demand = given_or_learned_demand(asked)
    assert [(s.cpu_milli, s.gpus) for s in demand.shapes] == [(1000, 0), (2000, 1), (8000, 4)]
    assert demand.counts == (1, 2, 1)
