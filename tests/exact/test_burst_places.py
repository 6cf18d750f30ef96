"""Where pods under ConstrainedBurst have their memory, and where policies let them be (C8, C12)."""

from dataclasses import replace

import pytest

from brute_force import best_placement
from even_topologies import even_topology
from exact_checks import check_exact, check_greedy
from judge.cases_burst import burst
from judge.hand import node, pod, put, world
from placer.judge.breaches import breaches
from placer.search.options import Engine, SolveOptions
from placer.search.solver import solve
from placer_models.cluster import Instance, Machine, Node, RunningPod
from placer_models.placement import GaveUp, Infeasible, Placed, PodPlacement
from placer_models.pod import Pod
from placer_models.policy import AlignmentPolicy, AlignmentScope

GI = 1 << 30
BOX = Machine(
    "box",
    "two NUMA nodes of 8 CPUs and 64 GiB",
    even_topology(16, 64 * GI, 64 * GI, threads=2, packages=2),
)
OWNER = RunningPod(pod("own", 2), put("own", "0-1"))
"""It leaves 6 CPUs on NUMA node 0, so that a limit of 8 is held on the other alone."""

BINDING = (AlignmentPolicy.SINGLE_NUMA_NODE, AlignmentPolicy.RESTRICTED)
EVERY = tuple(AlignmentPolicy)
engines = pytest.mark.parametrize("engine", [Engine.GREEDY, Engine.EXACT, Engine.AUTO])


def place_of(instance: Instance, engine: Engine) -> PodPlacement | None:
    """Return the place of the instance's only pod, or None if it has none."""
    answer = solve(instance, SolveOptions(engine=engine, workers=1, seed=1))
    if isinstance(answer, Infeasible) or (engine is Engine.GREEDY and isinstance(answer, GaveUp)):
        return None
    assert isinstance(answer, Placed), answer
    assert breaches(instance, answer.placement) == ()
    (place,) = answer.placement.pods
    return place


def on_box(pod: Pod, policy: AlignmentPolicy, *running: RunningPod) -> Instance:
    box = Node("n", BOX, alignment=policy)
    return replace(world(pod, nodes=[box]), running=running)


@engines
@pytest.mark.parametrize("policy", EVERY)
def test_memory_is_of_the_numa_nodes_of_the_cpus(policy: AlignmentPolicy, engine: Engine) -> None:
    """
    Without a policy and under BestEffort it could be anywhere; there is room beside the CPUs.
    """
    instance = on_box(burst("b", 1, 8, memory=4 * GI), policy, OWNER)
    place = place_of(instance, engine)

    assert place is not None
    assert place.cpuset == frozenset(range(8, 16))
    assert place.memory_bytes == ((1, 4 * GI),)


@engines
@pytest.mark.parametrize("policy", EVERY)
def test_the_policy_of_the_pod_does_what_the_nodes_does(
    policy: AlignmentPolicy, engine: Engine
) -> None:
    """
    Wherever the word stands, the pod is on the NUMA node that holds its limit.
    """
    asking = burst("b", 1, 8, memory=4 * GI, alignment=policy)
    place = place_of(on_box(asking, AlignmentPolicy.NONE, OWNER), engine)

    assert place is not None
    assert place.cpuset == frozenset(range(8, 16))
    assert place.memory_bytes == ((1, 4 * GI),)


@engines
def test_memory_too_large_for_one_numa_node_brings_cpus_of_both(engine: Engine) -> None:
    """
    The limit is held on one, the memory is on two: then the pod runs on both.
    """
    for policy in (AlignmentPolicy.NONE, AlignmentPolicy.BEST_EFFORT):
        place = place_of(on_box(burst("b", 1, 4, memory=100 * GI), policy), engine)

        assert place is not None
        assert place.cpuset == frozenset(range(16))
        assert {numa for numa, _ in place.memory_bytes} == {0, 1}


@engines
@pytest.mark.parametrize("policy", [AlignmentPolicy.NONE, AlignmentPolicy.BEST_EFFORT])
def test_memory_may_be_elsewhere_where_there_is_no_room(
    policy: AlignmentPolicy, engine: Engine
) -> None:
    """
    A wish: all memory beside the only pool that holds the limit is taken. Then one CPU that is
    beside the memory is the pod's, too.
    """
    full = RunningPod(pod("full", 1, memory=64 * GI), put("full", "8", memory={1: 64 * GI}))
    seven = RunningPod(pod("seven", 6), put("seven", "0-5"))
    place = place_of(on_box(burst("b", 1, 7, memory=4 * GI), policy, full, seven), engine)

    assert place is not None
    assert place.memory_bytes == ((0, 4 * GI),)
    assert place.cpuset == frozenset({6, 7, *range(9, 16)})


@engines
@pytest.mark.parametrize("policy", BINDING)
def test_a_binding_policy_wants_both_in_one_place(policy: AlignmentPolicy, engine: Engine) -> None:
    """
    The same pod has no place then: its limit is held on NUMA node 1, and its memory on 0.
    """
    full = RunningPod(pod("full", 1, memory=64 * GI), put("full", "8", memory={1: 64 * GI}))
    seven = RunningPod(pod("seven", 6), put("seven", "0-5"))
    instance = on_box(burst("b", 1, 7, memory=4 * GI), policy, full, seven)

    assert place_of(instance, engine) is None


@engines
@pytest.mark.parametrize(
    ("limit", "memory", "homes"),
    [
        (8, 64 * GI, 1),
        (9, 65 * GI, 2),
        (16, 65 * GI, 2),
        (9, 0, 2),
        (8, 65 * GI, None),
        (9, 64 * GI, None),
        (17, 65 * GI, None),
    ],
)
def test_restricted_counts_the_numa_nodes_of_the_limit(
    limit: int, memory: int, homes: int | None, engine: Engine
) -> None:
    """
    The request of one CPU needs one NUMA node; the limit decides, and memory has to agree.
    """
    place = place_of(on_box(burst("b", 1, limit, memory=memory), BINDING[1]), engine)

    assert (len(place.cpuset) // 8 if place else None) == homes


@engines
def test_a_limit_that_only_reserved_cpus_complete_has_a_place(engine: Engine) -> None:
    """
    Reserved CPUs are in the pool: it holds the limit, though nothing that can be allocated does.
    """
    for policy in EVERY:
        box = Node("n", BOX, alignment=policy, reserved_cpus=frozenset({0, 8}))
        place = place_of(world(burst("b", 1, 15, memory=100 * GI), nodes=[box]), engine)
        small = place_of(world(burst("b", 1, 8), nodes=[box]), engine)

        assert (place is None) == (policy is AlignmentPolicy.SINGLE_NUMA_NODE)
        assert small is not None


@engines
@pytest.mark.parametrize("policy", EVERY)
def test_the_scope_of_containers_says_nothing_of_the_pod(
    policy: AlignmentPolicy, engine: Engine
) -> None:
    """
    Its limit is the pod's, and so is its place: it is aligned as a whole.
    """
    box = Node("n", BOX, alignment=policy, scope=AlignmentScope.CONTAINER)
    instance = replace(world(burst("b", 1, 8, memory=4 * GI), nodes=[box]), running=(OWNER,))
    place = place_of(instance, engine)

    assert place is not None
    assert place.cpuset == frozenset(range(8, 16))
    assert place.memory_bytes == ((1, 4 * GI),)
    assert [part.cpu_milli for part in place.containers] == [None]


TINY = {
    "a limit on one NUMA node, memory on the other": world(
        burst("b", 1, 4, memory=3),
        running=[
            (pod("r", 1), put("r", "0")),
            (pod("m", 1, memory=3), put("m", "4", memory={1: 3})),
        ],
    ),
    "a GPU on one NUMA node, the limit on the other": world(
        burst("b", 1, 4, gpus=1),
        nodes=[node(broken_gpus=[2, 3])],
        running=[(pod("r", 1), put("r", "0"))],
    ),
    "two pods that want the same memory beside their CPUs": world(
        burst("b", 1, 3, memory=3), burst("c", 1, 3, memory=3), pod("a", 2)
    ),
    "a pod of memory alone makes way": world(
        burst("b", 1, 4, memory=4), pod("a", 1), pod("c", 1, memory=4)
    ),
}


@pytest.mark.parametrize("policy", EVERY)
@pytest.mark.parametrize("instance", TINY.values(), ids=TINY)
def test_hand_made_worlds_are_solved_as_by_brute_force(
    instance: Instance, policy: AlignmentPolicy
) -> None:
    """
    Worlds in which the limit and the memory pull apart, under each policy of the node.
    """
    nodes = tuple(replace(one, alignment=policy) for one in instance.nodes)
    instance = replace(instance, nodes=nodes)
    best = best_placement(instance)

    check_exact(instance, best)
    check_greedy(instance, best)
