"""Nodes whose running pods already ask for more than there is."""

import pytest

from answers import expect
from even_topologies import even_topology
from placer.search.options import Engine, SolveOptions
from placer.search.solver import solve
from placer_models.cluster import Instance, Machine, Node, RunningPod
from placer_models.placement import PartlyPlaced, Placed, PodPlacement
from placer_models.pod import Container, Gang, Pod, PodSpec, Resources
from placer_models.policy import QosClass

GIB = 2**30


def pod(name: str, qos: QosClass, cpu_milli: int, memory_bytes: int = 0) -> Pod:
    requests = Resources(cpu_milli, memory_bytes)
    return Pod(name, "default", PodSpec((Container("main", requests),), qos=qos))


def overfull(waiting: Pod) -> Instance:
    """A node of 2 CPUs whose running LS pods ask for 3."""
    machine = Machine("pair", "", even_topology(2, GIB))
    return Instance(
        nodes=(Node("n", machine),),
        gangs=(Gang(waiting.name, "default", (waiting,), 1, lone=True),),
        running=tuple(
            RunningPod(
                pod(f"old-{i}", QosClass.LS, 1500),
                PodPlacement(f"old-{i}", "default", None, "n", frozenset({0, 1})),
            )
            for i in range(2)
        ),
    )


@pytest.mark.parametrize(
    "newcomer",
    [
        pod("memory-only", QosClass.BE, 0, GIB),
        pod("best-effort", QosClass.BE, 1000),
        pod("asks-for-no-cpu", QosClass.LS, 0, GIB),
    ],
    ids=lambda newcomer: newcomer.name,
)
def test_a_pod_that_takes_nothing_from_an_overfull_pool_is_placed(newcomer: Pod) -> None:
    """
    What others overfill is not the newcomer's fault.
    """
    assert isinstance(solve(overfull(newcomer), SolveOptions(workers=1)), Placed)


@pytest.mark.parametrize("qos", [QosClass.LS, QosClass.LSR, QosClass.LSE])
def test_a_pod_that_takes_from_an_overfull_pool_waits(qos: QosClass) -> None:
    """
    An LS request, or CPUs taken out of the pool, would make it worse.
    """
    answer = solve(overfull(pod("more", qos, 1000)), SolveOptions(workers=1))

    assert not isinstance(answer, Placed | PartlyPlaced)


def test_a_pool_that_is_empty_already_blocks_only_those_who_need_it() -> None:
    """
    CPUs went offline under running pods: the LS pod has none left. That node takes no
    LS pod and gives no CPU away, but memory, and other nodes go on as ever.
    """
    machine = Machine("one", "", even_topology(1, GIB))
    owner, sharer = pod("owner", QosClass.LSR, 1000), pod("sharer", QosClass.LS, 500)
    running = (
        RunningPod(owner, PodPlacement("owner", "default", None, "n", frozenset({0}))),
        RunningPod(sharer, PodPlacement("sharer", "default", None, "n", frozenset({0}))),
    )
    for qos, where in ((QosClass.BE, {"n", "m"}), (QosClass.LS, {"m"}), (QosClass.LSR, {"m"})):
        waiting = pod("new", qos, 0 if qos is QosClass.BE else 1000, GIB // 2)
        instance = Instance(
            nodes=(Node("n", machine), Node("m", machine)),
            gangs=(Gang("new", "default", (waiting,), 1, lone=True),),
            running=running,
        )
        for engine in Engine:
            answer = expect(Placed, solve(instance, SolveOptions(engine=engine, workers=1)))

            assert answer.placement.pods[0].node in where
