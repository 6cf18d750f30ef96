"""Simple pods on simple nodes: the places that columns find are those of the greedy path."""

from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from placer.scheduler import Scheduler
from placer.scheduling import in_turn
from placer.scheduling.decision import Batch, Decision, lone_gang
from placer.search.by_columns.simple_asks import simple_ask
from placer.search.by_columns.simple_nodes import are_simple
from placer.search.options import Engine, SolveOptions
from placer_models.cluster import Node
from placer_models.device import GPU, Device
from placer_models.device_share import DeviceShare
from placer_models.placement import Infeasible, NamespacedName, PartlyPlaced, Placed
from placer_models.pod import Container, DeviceRequest, Pod, PodSpec, Resources
from placer_models.policy import AlignmentPolicy, QosClass
from scheduler.simple_worlds import MACHINES, a_node, a_spec, an_odd_spec, machine

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


def lived(seed: int, spec_of: Callable[[Random], PodSpec]) -> list[tuple[object, ...]]:
    """Return what a Scheduler says of pods that come and go, and of nodes that change."""
    rng = Random(seed)
    nodes = [a_node(rng, f"n{i}") for i in range(rng.randint(1, 6))]
    nodes[0] = replace(nodes[0], machine=MACHINES[0])  # without GPUs nobody is expected
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
    patch.setattr(in_turn, "placed_by_columns", lambda *_: None)


@pytest.mark.parametrize("batch", range(6), ids="batch {}".format)
def test_the_places_are_those_of_the_greedy_path(
    batch: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    Pods come, one by one and in batches, and go; nodes are cordoned: every decision is the
    same to the last id, tier and reason, and each was found by columns.
    """
    by_columns: list[bool] = []
    find = in_turn.placed_by_columns

    def finding(*args: Any) -> object:
        found = find(*args)
        by_columns.append(found is not None)
        return found

    for seed in range(5 * batch, 5 * batch + 5):
        with monkeypatch.context() as patch:
            patch.setattr(in_turn, "placed_by_columns", finding)
            ours = lived(seed, a_spec)
        with monkeypatch.context() as patch:
            by_the_greedy_path(patch)
            theirs = lived(seed, a_spec)
        assert ours == theirs, seed
    assert all(by_columns)


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
    assert are_simple([plain])
    assert not any(are_simple([plain, other]) for other in others)
