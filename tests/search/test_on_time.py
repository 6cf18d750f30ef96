"""Answers are there by the deadline, or by greedy's own time, and a tenth and 50 ms more (G2).

A clock that goes on with the work stands in for the real one (`search.work_clock`).
"""

from collections.abc import Callable
from dataclasses import replace
from random import Random

import pytest

from even_topologies import even_topology
from placer.search.options import Engine, SolveOptions
from placer_models.affinity import AffinityTerm
from placer_models.cluster import Instance, Machine, Node
from placer_models.device import GPU, Device
from placer_models.placement import PartlyPlaced
from placer_models.pod import Container, DeviceRequest, Gang, Pod, PodSpec, Resources
from placer_models.policy import QosClass
from placer_models.reasons import ReasonNotFoundInTime
from search.work_clock import WorkClock

GIB = 1 << 30
BOX = Machine(
    "box",
    "two NUMA nodes of 4 CPUs and 2 GPUs",
    even_topology(8, 32 * GIB, 32 * GIB, threads=2),
    tuple(Device(GPU, i, numa_node=i // 2) for i in range(4)),
)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> WorkClock:
    return WorkClock(monkeypatch)


SMALL, LARGE = 1, 4
"""Sizes of worlds."""


def boxes(count: int) -> tuple[Node, ...]:
    """Return nodes that differ, so that each is looked at."""
    return tuple(
        Node(f"n{i}", BOX, labels=(("rank", str(i)),), reserved_cpus=frozenset({i % 8}))
        for i in range(count)
    )


def spec(cpus: int, gpus: int = 0, qos: QosClass = QosClass.LSR, app: str = "") -> PodSpec:
    devices = (DeviceRequest(GPU, gpus),) if gpus else ()
    container = Container("app", Resources(1000 * cpus, GIB, devices=devices))
    return PodSpec((container,), qos, labels=(("app", app),) if app else ())


def lone(name: str, wants: PodSpec) -> Gang:
    return Gang(name, "default", (Pod(name, "default", wants),), 1, lone=True)


def few_pods_on_many_nodes(size: int) -> Instance:
    """The nodes are most of the work."""
    return Instance(boxes(60 * size), (lone("a", spec(2)), lone("b", spec(2, 1))))


def gangs_that_do_not_fit(size: int) -> Instance:
    """None of them has enough nodes, which takes a look at all nodes to know."""
    count = 15 * size
    gangs = [
        Gang(
            f"g{j}",
            "default",
            tuple(Pod(f"g{j}-{i}", "default", spec(4, 4, app=f"g{j}")) for i in range(count + j)),
            count + j,
        )
        for j in range(1, 6)
    ]
    return Instance(boxes(count), (*gangs, *(lone(f"s{i}", spec(1)) for i in range(10))))


def many_that_are_left_out(size: int) -> Instance:
    """Many pods, each another, for a few nodes."""
    pods = [lone(f"p{i}", spec(1 + i % 7, i % 3, app=f"p{i}")) for i in range(80 * size)]
    return Instance(boxes(6), tuple(pods))


def many_kinds_of_pods_on_many_nodes(size: int) -> Instance:
    """There are many more pairs of a pod and a node than pods and nodes."""
    pods = [lone(f"p{i}", spec(1, i % 2 * 2, app=f"p{i}")) for i in range(60 * size)]
    return Instance(boxes(60 * size), tuple(pods))


def firsts_of_their_kind(size: int) -> Instance:
    """Each pod wants its like, of which there is no other; some are too large."""

    def of_its_own(name: str, cpus: int) -> Gang:
        wants = spec(cpus, qos=QosClass.LS, app=name)
        return lone(name, replace(wants, affinity=(AffinityTerm(wants.labels),)))

    placed = [of_its_own(f"p{i}", 1) for i in range(30 * size)]
    large = [of_its_own(f"x{i}", 9) for i in range(8 * size)]
    return Instance(boxes(8 * size), (*placed, *large))


def a_bit_of_all(size: int) -> Instance:
    """Full nodes, GPUs, gangs and lone pods."""
    rng = Random(5)
    gangs = []
    for i in range(6 * size):
        wants = spec(rng.choice((1, 2, 4)), rng.choice((0, 0, 1, 2)))
        members = tuple(Pod(f"p{i}-{j}", "default", wants) for j in range(rng.choice((1, 1, 3))))
        gangs.append(Gang(f"p{i}", "default", members, len(members)))
    return Instance(boxes(2 * size), tuple(gangs))


World = Callable[[int], Instance]

WORLDS: tuple[World, ...] = (
    few_pods_on_many_nodes,
    gangs_that_do_not_fit,
    many_that_are_left_out,
    many_kinds_of_pods_on_many_nodes,
    firsts_of_their_kind,
    a_bit_of_all,
)


def check_in_time(world: World, size: int, limit_s: float, clock: WorkClock) -> None:
    """The answer is there by the limit, or greedy's own time, and a tenth and 50 ms more."""
    options = SolveOptions(time_limit_s=limit_s, workers=1, seed=1)

    _, ended_s, greedy_s = clock.solve(world(size), options)

    assert ended_s <= 1.1 * max(limit_s, greedy_s) + 0.05


@pytest.mark.parametrize("limit_s", [0.05, 1, pytest.param(3, marks=pytest.mark.check)])
@pytest.mark.parametrize("world", WORLDS)
def test_answers_are_there_in_time(world: World, limit_s: float, clock: WorkClock) -> None:
    """
    Whatever takes long: nodes, gangs that are left out, pods that are, or who is company of whom.
    """
    check_in_time(world, SMALL, limit_s, clock)


@pytest.mark.check
@pytest.mark.parametrize("limit_s", [0.05, 1, 5, 10, 20])
@pytest.mark.parametrize("world", WORLDS)
def test_answers_about_more_are_there_in_time(
    world: World, limit_s: float, clock: WorkClock
) -> None:
    """
    The same of worlds four times as large.
    """
    check_in_time(world, LARGE, limit_s, clock)


@pytest.mark.check
@pytest.mark.parametrize("limit_s", [25, 40, 50])
def test_a_model_that_takes_longer_than_is_left_is_given_up(
    limit_s: float, clock: WorkClock
) -> None:
    """
    Also among rules and goals that add nothing to it.
    """
    check_in_time(many_kinds_of_pods_on_many_nodes, SMALL, limit_s, clock)


@pytest.mark.parametrize("engine", [Engine.GREEDY, Engine.AUTO])
def test_who_is_left_out_is_told_that_time_ran_out(engine: Engine, clock: WorkClock) -> None:
    """
    Nobody is forgotten: each has a verdict, and the short one where nobody looked.
    """
    instance = many_that_are_left_out(SMALL)
    options = SolveOptions(engine, time_limit_s=0.01, workers=1, seed=1)

    answer, *_ = clock.solve(instance, options)

    assert isinstance(answer, PartlyPlaced)
    placed = {place.key for place in answer.placement.pods}
    waiting = {pod.key for gang in instance.gangs for pod in gang.pods}
    assert {(left.namespace, left.name) for left in answer.unplaced} == waiting - placed
    assert all(left.why for left in answer.unplaced)
    assert sum(left.why[0] == ReasonNotFoundInTime() for left in answer.unplaced) > 20
    for left in answer.unplaced:
        if left.why[0] == ReasonNotFoundInTime():
            assert left.reasons[0] == "time: it ran out before the reason was looked into"
