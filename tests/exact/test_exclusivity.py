"""Pods that keep apart: the exact engine finds what trying everything finds (C9)."""

import pytest

from answers import expect
from judge.cases_apart import NUMA, PCPU, apart
from mixed_worlds import mixed_instance
from placer.search.options import Engine, SolveOptions
from placer.search.solver import solve
from placer_models.cluster import Instance, Node, RunningPod
from placer_models.goals import BIND, SHARED_CORES, SHARED_NUMA_NODES
from placer_models.placement import Answer, Infeasible, PartlyPlaced, Placed, PodPlacement
from placer_models.pod import Pod
from tiny_machines import node_of_cores as node
from tiny_pods import lone


def answer(on: Node, *pods: Pod, running: tuple[tuple[Pod, set[int]], ...] = ()) -> Answer:
    instance = Instance(
        (on,),
        tuple(lone(pod) for pod in pods),
        running=tuple(
            RunningPod(pod, PodPlacement(pod.name, "default", None, "n", frozenset(cpus)))
            for pod, cpus in running
        ),
    )
    return solve(instance, SolveOptions(engine=Engine.EXACT, workers=1, seed=1))


def test_threads_that_fit_by_count_do_not_always_fit() -> None:
    """
    Two free cores of two threads: 2 CPUs on two cores and 1 on a core of its own are 3
    of 4 threads, and have no place. With a third core they have.
    """
    pods = apart("p", PCPU, 2, required=True), apart("q", PCPU, 1, required=True)
    found = expect(Placed, answer(node(cores=3, threads=2), *pods))

    assert {t.tier: t.value for t in found.tiers}[BIND] == 0

    found = answer(node(cores=2, threads=2), *pods)

    # Both have a place, for p has rather one whole core against its bind policy.
    assert isinstance(found, Placed)
    assert {t.tier: t.value for t in found.tiers}[BIND] == 1


@pytest.mark.parametrize("threads", [1, 2, 4, 8])
def test_required_pods_have_a_core_each_at_every_width(threads: int) -> None:
    """
    Three pods of one CPU fit three cores, however many threads those have; a fourth does not.
    """
    on = node(cores=3, threads=threads)
    pods = [apart(f"p{i}", PCPU, required=True) for i in range(4)]

    assert isinstance(answer(on, *pods[:3]), Placed)
    found = expect(PartlyPlaced, answer(on, *pods))
    assert len(found.unplaced) == 1
    assert all(tier.proven for tier in found.tiers)


@pytest.mark.parametrize(("threads", "shared"), [(2, 1), (4, 1), (8, 1)])
def test_as_few_cores_as_can_be_are_shared(threads: int, shared: int) -> None:
    """
    Three wishes on two cores: one core is shared, at every width.
    """
    found = answer(node(cores=2, threads=threads), *(apart(f"p{i}", PCPU) for i in range(3)))

    assert isinstance(found, Placed)
    tiers = {t.tier: t for t in found.tiers}
    assert tiers[SHARED_CORES].value == tiers[SHARED_CORES].bound == shared


def test_a_pack_of_cores_of_four_threads_is_exact() -> None:
    """
    Pods of 3, 3 and 2 CPUs are 8 threads on two cores of four, and one of them must be cut:
    it shares a core with each of the others, which is as few as can be.
    """
    pods = [apart(name, PCPU, cpus) for name, cpus in (("a", 3), ("b", 3), ("c", 2))]
    found = expect(Placed, answer(node(cores=2, threads=4), *pods))

    tiers = {t.tier: t for t in found.tiers}
    assert tiers[SHARED_CORES].value == tiers[SHARED_CORES].bound == 2


def test_numa_nodes_first_come_apart_then_cores() -> None:
    """
    Three pods under NUMANodeLevel on two NUMA nodes: one NUMA node is shared, no core.
    """
    pods = [apart(f"p{i}", NUMA) for i in range(3)]
    found = expect(Placed, answer(node(cores=4, threads=2, numa_nodes=2), *pods))

    values = {t.tier: t.value for t in found.tiers}
    assert (values[SHARED_CORES], values[SHARED_NUMA_NODES]) == (0, 1)


def test_a_running_pod_that_requires_it_keeps_its_numa_node() -> None:
    """
    Of two NUMA nodes one is kept; two pods that only wish share the other.
    """
    found = answer(
        node(cores=4, threads=2, numa_nodes=2),
        apart("a", NUMA),
        apart("b", NUMA),
        running=((apart("r", NUMA, required=True), {0}),),
    )

    assert isinstance(found, Placed)
    assert all(place.cpuset <= {4, 5, 6, 7} for place in found.placement.pods)
    assert {t.tier: t.value for t in found.tiers}[SHARED_NUMA_NODES] == 1


@pytest.mark.parametrize(
    ("policy", "rule"), [(PCPU, "exclusive-cores"), (NUMA, "exclusive-numa-nodes")]
)
def test_the_reason_names_the_rule(policy: object, rule: str) -> None:
    """
    A pod that is left out for another's sake hears which rule it was.
    """
    found = answer(
        node(cores=1, threads=2),
        apart("a", policy),
        running=((apart("r", policy, required=True), {0}),),
    )

    assert rule in str(found)
    assert "not now: running pods leave no room" in str(found)


def test_who_owns_no_cpu_keeps_apart_from_nobody() -> None:
    """
    Reasons ask for a pod without its CPUs, on a node whose pods keep apart by default.
    """
    world = mixed_instance(10_198)
    found = solve(world, SolveOptions(engine=Engine.EXACT, workers=1, seed=1))

    (node, *_), (gang, *_) = world.nodes, world.gangs
    assert node.default_exclusive is PCPU
    assert gang.pods[0].spec.exclusive is None
    assert isinstance(found, Infeasible)
    assert found.unplaced[0].reasons
