"""Simple pods on simple nodes: the places that columns find are those of the greedy path."""

from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pytest

from placer.greedy.free_nodes import FreeAmountColumns
from placer.scheduler import Scheduler
from placer.scheduling.decision import Batch, Decision
from placer.scheduling.scheduler_state import nodes_and_pods_of
from placer.search.by_columns.places import SimplePodPlacer
from placer.search.by_columns.simple_asks import simple_ask
from placer.search.by_columns.simple_columns import SimpleNodeColumns
from placer.search.by_columns.simple_nodes import simple_node_flags
from placer.search.options import Engine, SolveOptions
from placer.state.batch import build_problem
from placer_models.cluster import Node
from placer_models.device import GPU, Device
from placer_models.device_share import DeviceShare
from placer_models.node_strategy import NodeStrategy
from placer_models.placement import Infeasible, NamespacedName, PartlyPlaced, Placed
from placer_models.pod import Container, DeviceRequest, Pod, PodSpec, Resources, lone_gang
from placer_models.policy import AlignmentPolicy, QosClass
from placer_models.problem.dimensions import MEMORY
from scheduler.simple_worlds import MACHINES, a_node, a_spec, an_odd_node, an_odd_spec, machine

GREEDY = SolveOptions(Engine.GREEDY, workers=1)
DEADLINE_S = 600.0
CALLS = 30


def told(decision: Decision) -> tuple[object, ...]:
    """Return all that a decision says."""
    answer = decision.answer
    said: tuple[object, ...] = (type(answer), decision.change, decision.placement)
    if isinstance(answer, Placed | PartlyPlaced):
        said += (answer.tiers, answer.moves, answer.rejected)
    return said + (() if isinstance(answer, Placed) else (answer.unplaced,))


def lived(
    seed: int,
    spec_of: Callable[[Random], PodSpec],
    node_of: Callable[[Random, str], Node] = a_node,
) -> list[tuple[object, ...]]:
    """Return what a Scheduler says of pods that come and go, and of nodes that change."""
    rng = Random(seed)
    nodes = [node_of(rng, f"n{i}") for i in range(rng.randint(1, 6))]
    # Without GPUs nobody is expected.
    nodes[0] = replace(nodes[0], machine=MACHINES[0], unhealthy=frozenset())
    scheduler = Scheduler(nodes)
    running: list[NamespacedName] = []
    heard = []
    for call in range(CALLS):
        size = rng.choice((1, 1, 1, 4))
        pods = [Pod(f"p{call}-{i}", "default", spec_of(rng)) for i in range(size)]
        batch = Batch(tuple(map(lone_gang, pods)))
        dry_run = rng.random() < 0.2
        decision = scheduler.place(batch, DEADLINE_S, dry_run=dry_run, options=GREEDY)
        heard.append(told(decision))
        if not dry_run:
            running += [place.key for place in decision.placement.pods]
        if running and rng.random() < 0.3:
            gone = rng.sample(running, min(3, len(running)))
            scheduler.release(gone)
            running = [key for key in running if key not in gone]
        if rng.random() < 0.1:
            name = rng.choice(nodes).name
            (scheduler.cordon if rng.random() < 0.5 else scheduler.uncordon)(name)
    return heard


def by_the_greedy_path(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(SimplePodPlacer, "find", lambda *_: None)


def lived_by_columns(
    patch: pytest.MonkeyPatch, *how: Any
) -> tuple[list[tuple[object, ...]], list[bool]]:
    """Return what `lived` does, and of each pod that was asked about whether numbers told."""
    by_columns: list[bool] = []
    find = SimplePodPlacer.find

    def finding(*args: Any) -> object:
        found = find(*args)
        by_columns.append(found is not None)
        return found

    patch.setattr(SimplePodPlacer, "find", finding)
    return lived(*how), by_columns


@pytest.mark.parametrize("batch", range(6), ids="batch {}".format)
def test_the_places_are_those_of_the_greedy_path(
    batch: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    Pods come, one by one and in batches, and go; nodes are cordoned: every decision is the
    same to the last id, tier and reason, and each was found by columns.
    """
    for seed in range(5 * batch, 5 * batch + 5):
        with monkeypatch.context() as patch:
            ours, by_columns = lived_by_columns(patch, seed, a_spec)
        with monkeypatch.context() as patch:
            by_the_greedy_path(patch)
            theirs = lived(seed, a_spec)
        assert ours == theirs, seed
        assert all(by_columns)


def some_node(rng: Random, name: str) -> Node:
    return an_odd_node(rng, name) if rng.random() < 0.4 else a_node(rng, name)


@pytest.mark.parametrize("batch", range(12), ids="batch {}".format)
def test_other_nodes_beside_them_are_looked_into_where_they_might_be_best(
    batch: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    Two nodes in five have several NUMA nodes, GPUs of two models or on switches, other devices,
    alignment policies; one pod in eight is not simple. Decisions are those of the greedy path, and
    for many pods it did not have to be asked.
    """

    def some_spec(rng: Random) -> PodSpec:
        return an_odd_spec(rng) if rng.random() < 0.125 else a_spec(rng)

    told_by_columns = 0
    for seed in range(200 + 6 * batch, 206 + 6 * batch):
        with monkeypatch.context() as patch:
            ours, by_columns = lived_by_columns(patch, seed, some_spec, some_node)
        with monkeypatch.context() as patch:
            by_the_greedy_path(patch)
            theirs = lived(seed, some_spec, some_node)
        assert ours == theirs, seed
        told_by_columns += sum(by_columns)
    assert told_by_columns > 60


def test_a_scorer_sees_the_same_numbers_of_any_node_as_in_the_greedy_path() -> None:
    """
    CPUs, memory and GPUs of simple nodes and of others, with all kinds of pods on them.
    """
    for seed in range(5):
        rng = Random(seed)
        scheduler = Scheduler([some_node(rng, f"n{i}") for i in range(6)])
        for i in range(30):
            spec = an_odd_spec(rng) if i % 2 else a_spec(rng)
            wanted = Batch((lone_gang(Pod(f"p{i}", "default", spec)),))
            scheduler.place(wanted, DEADLINE_S, options=GREEDY)
        there = scheduler.snapshot().instance
        state = nodes_and_pods_of(there.nodes, there.running, 0)
        asked = replace(there, gangs=wanted.gangs, strategy=NodeStrategy.EXPECTED)
        problem = build_problem(asked, state.accounts, each_core=True, absolute=True, scored=True)
        theirs = FreeAmountColumns(problem.nodes, problem.dimensions[MEMORY].unit).free
        columns = SimpleNodeColumns(state.nodes, state.accounts)

        assert columns.are_numbered == columns.simple.any()
        if columns.are_numbered:
            ours = columns.free
            assert np.array_equal(np.maximum(0, ours.cpu_milli), theirs.cpu_milli), seed
            assert np.array_equal(ours.memory_bytes, theirs.memory_bytes), seed
            assert np.array_equal(np.sort(ours.gpu_milli), np.sort(theirs.gpu_milli)), seed


@pytest.mark.parametrize("batch", range(4), ids="batch {}".format)
def test_pods_that_are_not_simple_are_in_nobodys_way(
    batch: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    One pod in five owns CPUs, is bound, looks at others, has other parts of a GPU's compute than
    of its memory, or has two containers: decisions stay those of the greedy path.
    """

    def some_spec(rng: Random) -> PodSpec:
        return an_odd_spec(rng) if rng.random() < 0.2 else a_spec(rng)

    for seed in range(100 + 5 * batch, 105 + 5 * batch):
        ours = lived(seed, some_spec)
        with monkeypatch.context() as patch:
            by_the_greedy_path(patch)
            theirs = lived(seed, some_spec)
        assert ours == theirs, seed


def test_a_place_that_nobody_took_is_free_for_the_next_pod() -> None:
    """
    A dry run gives the only GPU away, and so does the call after it.
    """
    scheduler = Scheduler([Node("n", machine(8, 1))])
    spec = PodSpec((Container("main", Resources(1000, 1, devices=(DeviceRequest(GPU, 1),))),))
    batches = [Batch((lone_gang(Pod(name, "default", spec)),)) for name in "abc"]

    assert scheduler.place(batches[0], DEADLINE_S, dry_run=True, options=GREEDY).placement.pods
    assert scheduler.place(batches[1], DEADLINE_S, options=GREEDY).placement.pods
    assert isinstance(scheduler.place(batches[2], DEADLINE_S, options=GREEDY).answer, Infeasible)


@pytest.mark.parametrize(
    "spec",
    [
        PodSpec((Container("main", Resources(1000, 1)),), QosClass.BE),
        PodSpec((Container("main", Resources(1000, 1)),), alignment=AlignmentPolicy.RESTRICTED),
        PodSpec((Container("a", Resources()), Container("b", Resources()))),
        PodSpec((Container("main", Resources(extended=(("token", 1),))),)),
        PodSpec((Container("main", Resources(devices=(DeviceRequest("rdma", 1),))),)),
        PodSpec((Container("main", Resources(devices=(DeviceRequest(GPU, 2, DeviceShare(50)),))),)),
        PodSpec((Container("main", Resources(devices=(DeviceRequest(GPU, 1, DeviceShare(50)),))),)),
    ],
    ids=[
        "BE",
        "aligned",
        "two containers",
        "extended",
        "another device",
        "two shares",
        "no memory",
    ],
)
def test_a_pod_with_more_to_say_is_not_simple(spec: PodSpec) -> None:
    """
    Nothing is known of words that somebody adds, either: a spec has to equal one without them.
    """
    assert simple_ask(spec) is None


def test_a_node_with_more_to_say_is_not_simple() -> None:
    """
    Two NUMA nodes, another kind of device, GPUs that are not alike, an alignment policy.
    """
    plain = Node("n", machine(8, 4))
    switched = tuple(replace(d, pcie_switch="s") for d in plain.machine.devices)
    others = (
        Node("n", machine(8, 0, numa_nodes=2)),
        Node("n", replace(plain.machine, devices=(*plain.machine.devices, Device("rdma", 0)))),
        Node("n", replace(plain.machine, devices=(Device(GPU, 0), Device(GPU, 1, model="A")))),
        Node("n", replace(plain.machine, devices=switched)),
        replace(plain, alignment=AlignmentPolicy.BEST_EFFORT),
    )
    assert simple_node_flags([plain, *others]) == [True, *(False for _ in others)]
