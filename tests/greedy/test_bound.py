"""Pods bound to the pool of a NUMA node, and what owners of CPUs leave them, greedily (C8, C12)."""

from dataclasses import replace

import pytest

from even_topologies import even_topology
from placer.judge.breaches import breaches
from placer.search.options import Engine, SolveOptions
from placer.search.solver import solve
from placer_models.cluster import Instance, Machine, Node, RunningPod
from placer_models.placement import Placed, PodPlacement
from placer_models.pod import Container, Gang, Pod, PodSpec, Resources
from placer_models.policy import AlignmentPolicy, QosClass

BOX = Machine("box", "two NUMA nodes of 4 CPUs, each a core", even_topology(8, 8, 8))
PARTS = frozenset(range(4)), frozenset(range(4, 8))
SINGLE, RESTRICTED = AlignmentPolicy.SINGLE_NUMA_NODE, AlignmentPolicy.RESTRICTED


def spec(
    cpu_milli: int, qos: QosClass, alignment: AlignmentPolicy = AlignmentPolicy.NONE
) -> PodSpec:
    return PodSpec((Container("app", Resources(cpu_milli)),), qos=qos, alignment=alignment)


def bound(name: str, cpu_milli: int, home: int, qos: QosClass = QosClass.LS) -> RunningPod:
    """Return a running pod that is bound to the pool of a NUMA node."""
    place = PodPlacement(name, "default", None, "n", PARTS[home], cpu_milli=((home, cpu_milli),))
    return RunningPod(Pod(name, "default", spec(cpu_milli, qos, SINGLE)), place)


def burst(limit_milli: int, home: int) -> RunningPod:
    """Return a running pod that stays in a pool that holds its limit."""
    part = Container("app", Resources(100), cpu_limit_milli=limit_milli)
    found = bound("b", 100, home)
    return replace(found, pod=replace(found.pod, spec=PodSpec((part,), constrained_burst=True)))


def taken(asked: PodSpec, *running: RunningPod, milli_per_cpu: int = 1000) -> list[int] | None:
    """Return the CPUs of each NUMA node that a new pod runs on; None: it has no place."""
    node = Node("n", BOX, milli_per_cpu=milli_per_cpu)
    gang = Gang("new", "default", (Pod("new", "default", asked),), 1, lone=True)
    instance = Instance((node,), (gang,), running=running)
    answer = solve(instance, SolveOptions(engine=Engine.GREEDY, workers=1, seed=1))
    if not isinstance(answer, Placed):
        return None
    assert breaches(instance, answer.placement) == ()
    (place,) = answer.placement.pods
    return [len(place.cpuset & part) for part in PARTS]


def owner(cpus: int) -> PodSpec:
    return spec(1000 * cpus, QosClass.LSR)


@pytest.mark.parametrize("home", [0, 1])
def test_an_owner_leaves_a_pod_the_pool_that_holds_its_limit(home: int) -> None:
    """
    The limit of 4 CPUs is all of a NUMA node: 2 and 4 owned ones are of the other, 5 are not.
    """
    for cpus in (2, 4):
        counts = taken(owner(cpus), burst(4000, home))
        assert counts is not None
        assert (counts[home], counts[1 - home]) == (0, cpus)
    assert taken(owner(5), burst(4000, home)) is None


@pytest.mark.parametrize("home", [0, 1])
def test_an_owner_leaves_a_cpu_to_a_pod_that_asks_for_none(home: int) -> None:
    """
    The pod is bound all the same: of its NUMA node an owner of 7 has 3.
    """
    counts = taken(owner(7), bound("b", 0, home))

    assert counts is not None
    assert counts[home] == 3
    assert taken(owner(8), bound("b", 0, home)) is None


@pytest.mark.parametrize("home", [0, 1])
def test_who_is_bound_to_the_pool_of_be_pods_keeps_no_lsr_pod_off(home: int) -> None:
    """
    An LSR pod leaves BE pods their pool: beside one, and beside an LS pod on the other NUMA node.
    """
    best_effort = bound("be", 3000, home, QosClass.BE)

    assert taken(owner(8), best_effort) == [4, 4]
    counts = taken(owner(7), best_effort, bound("ls", 1, 1 - home))
    assert counts is not None
    assert counts[home] == 4
    assert taken(spec(7000, QosClass.LSE), best_effort) is None


@pytest.mark.parametrize("home", [0, 1])
def test_an_owner_takes_of_each_numa_node_what_bound_pods_can_spare(home: int) -> None:
    """
    Of CPUs that count 1.5 each they spare two on one NUMA node and one on the other.
    """
    pods = bound("a", 3000, home), bound("b", 4500, 1 - home)
    counts = taken(owner(3), *pods, milli_per_cpu=1500)

    assert counts is not None
    assert (counts[home], counts[1 - home]) == (2, 1)
    assert taken(owner(4), *pods, milli_per_cpu=1500) is None


def test_a_pod_on_both_numa_nodes_counts_on_amplified_cpus() -> None:
    """
    12 is what 8 CPUs hold that count 1.5 each, 6 on a NUMA node; 12.001 is more.
    """
    for asked_milli, found in ((9_000, [4, 4]), (12_000, [4, 4]), (12_001, None)):
        assert taken(spec(asked_milli, QosClass.LS, RESTRICTED), milli_per_cpu=1500) == found
