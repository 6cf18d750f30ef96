"""Pods together or apart inside a node: what trying everything finds, and the edges (C18)."""

from collections import Counter
from dataclasses import replace

import pytest

from answers import expect
from judge.cases_in_node_affinity import (
    BY_DB,
    CORE,
    DB,
    FAR_FROM_DB,
    NEAR_DB,
    NUMA,
    OFF_DB,
    owner,
    wish,
)
from placer.search.options import Engine, SolveOptions
from placer.search.solver import solve
from placer.state.batch import build_problem
from placer_models.affinity import AffinityTerm
from placer_models.cluster import Instance, Node, RunningPod
from placer_models.goals import AFFINITY
from placer_models.placement import Answer, PartlyPlaced, Placed, PodPlacement
from placer_models.pod import Gang, Pod
from placer_models.problem.node_state import NOBODY, CoreClassGranularity
from tiny_machines import node_of_cores as node
from tiny_pods import lone

Runs = tuple[Pod, str, set[int]]
"""A running pod, its node and its CPUs."""


def answer(
    nodes: Node | tuple[Node, ...],
    *waiting: Pod | Gang,
    running: tuple[Runs, ...] = (),
    engine: Engine = Engine.EXACT,
) -> Answer:
    return solve(
        instance_of(nodes, *waiting, running=running), SolveOptions(engine, workers=1, seed=1)
    )


def instance_of(
    nodes: Node | tuple[Node, ...], *waiting: Pod | Gang, running: tuple[Runs, ...] = ()
) -> Instance:
    return Instance(
        nodes if isinstance(nodes, tuple) else (nodes,),
        tuple(lone(each) if isinstance(each, Pod) else each for each in waiting),
        running=tuple(
            RunningPod(pod, PodPlacement(pod.name, "default", None, on, frozenset(cpus)))
            for pod, on, cpus in running
        ),
    )


def replicas(count: int, cpu: int, app: str, *terms: AffinityTerm) -> list[Pod]:
    one = owner("p", cpu, app, *terms)
    return [replace(one, name=f"p{i}") for i in range(count)]


@pytest.mark.parametrize("threads", [2, 4, 8])
def test_a_consumer_is_on_the_cores_of_its_producer(threads: int) -> None:
    """
    Three CPUs each, and every core of the consumer's is one of the producer's, at each width.
    """
    found = answer(
        node(cores=4, threads=threads), owner("db", 3, "db"), owner("a", 3, "web", BY_DB)
    )

    assert isinstance(found, Placed)
    cores = [{cpu // threads for cpu in place.cpuset} for place in found.placement.pods]
    assert cores[1] <= cores[0]


def test_one_thread_a_core_is_room_for_nobody_else() -> None:
    """
    Without siblings nobody is on a core with another; a wish is lost, a demand not met.
    """
    on = node(cores=4, threads=1)
    db = owner("db", 1, "db")

    wished = expect(Placed, answer(on, db, owner("a", 1, "web", wish(BY_DB))))
    assert {t.tier: t.value for t in wished.tiers}[AFFINITY] == 1
    assert isinstance(answer(on, db, owner("a", 1, "web", BY_DB)), PartlyPlaced)


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_pods_that_are_apart_have_a_core_each(threads: int) -> None:
    """
    Three of a kind fit three cores, however many threads those have; a fourth does not.
    """
    on = node(cores=3, threads=threads)

    assert isinstance(answer(on, *replicas(3, 1, "db", OFF_DB)), Placed)
    found = expect(PartlyPlaced, answer(on, *replicas(4, 1, "db", OFF_DB)))
    assert len(found.unplaced) == 1
    assert all(tier.proven for tier in found.tiers)


def test_apart_is_from_those_who_are_meant_only() -> None:
    """
    Two webs and two databases on two cores: each core has one of each, or two of a kind.
    """
    on = node(cores=2)
    shy = [replace(p, name=f"w{p.name}") for p in replicas(2, 1, "web", OFF_DB)]

    assert isinstance(answer(on, *replicas(2, 1, "db"), *shy), Placed)
    assert isinstance(answer(on, *replicas(3, 1, "db"), *shy[:1]), PartlyPlaced)


@pytest.mark.parametrize(("engine", "on_each"), [(Engine.GREEDY, {4}), (Engine.EXACT, {2, 3})])
def test_nobody_of_a_kind_is_alone_on_a_numa_node(engine: Engine, on_each: set[int]) -> None:
    """
    Each NUMA node holds four. The fast path comes to the first one, and fills its NUMA
    node; a fifth would be alone on the other. With two there, all five have company.
    """
    found = answer(node(cores=8, numa_nodes=2), *replicas(5, 2, "db", NEAR_DB), engine=engine)

    assert isinstance(found, Placed | PartlyPlaced)
    homes = Counter(min(place.cpuset) // 8 for place in found.placement.pods)
    assert set(homes.values()) == on_each


@pytest.mark.parametrize("engine", [Engine.GREEDY, Engine.EXACT])
def test_who_comes_later_is_with_the_first_wherever_it_is(engine: Engine) -> None:
    """
    A pod of 10 CPUs needs both NUMA nodes of 8. Others of its kind must be on both as well:
    one of one CPU cannot, one of two can, and in the fast path needs luck.
    """
    on = node(cores=8, numa_nodes=2)
    wide = owner("wide", 10, "db", NEAR_DB)

    found = expect(PartlyPlaced, answer(on, wide, owner("narrow", 1, "db", NEAR_DB), engine=engine))
    assert len(found.placement.pods) == 1
    found = expect(Placed, answer(on, wide, owner("other", 2, "db", NEAR_DB), engine=Engine.EXACT))


def test_the_first_of_its_kind_is_the_first_of_the_cluster() -> None:
    """
    With another of the kind on a node that has no room, nobody may begin elsewhere.
    """
    nodes = (node("n", cores=2), node("m", cores=2))
    pods = replicas(1, 2, "db", NEAR_DB)
    full = (owner("r", 4, "db"), "m", {0, 1, 2, 3})
    other = (owner("r", 4, "web"), "m", {0, 1, 2, 3})

    assert isinstance(answer(nodes, *pods, running=(other,)), Placed)
    found = answer(nodes, *pods, running=(full,))
    assert not isinstance(found, Placed)
    assert "affinity asks a pod with app=db on each NUMA node of its CPUs" in str(found)


def test_cores_are_told_apart_by_who_runs_there() -> None:
    """
    Four cores with one CPU left each: a web may have those beside no database, and a
    cache has to have the others.
    """
    on = node(cores=4)
    running = (
        (owner("r", 2, "db"), "n", {0, 2}),
        (owner("s", 2, "web"), "n", {4, 6}),
    )
    web, cache = owner("a", 2, "web", OFF_DB), owner("b", 2, "cache", BY_DB)
    found = expect(Placed, answer(on, web, cache, running=running))

    assert [place.cpuset for place in found.placement.pods] == [{5, 7}, {1, 3}]
    assert isinstance(answer(on, replace(web, name="c"), web, running=running), PartlyPlaced)


@pytest.mark.parametrize("term", [OFF_DB, FAR_FROM_DB])
def test_a_running_pod_that_keeps_apart_is_named_as_the_reason(term: AffinityTerm) -> None:
    """
    All cores, and so the NUMA node, are kept by a running pod.
    """
    running = ((owner("r", 2, "web", term), "n", {0, 2}),)
    found = answer(node(cores=2), owner("a", 1, "db"), running=running)

    assert "not now" in str(found)
    assert "anti-affinity asks 1 CPU apart from pods that keep away from it" in str(found)


def test_a_wish_comes_before_the_bind_policy() -> None:
    """
    A pod that would like whole cores and company on them gives up the cores.
    """
    found = answer(node(cores=4), owner("db", 2, "db"), owner("a", 2, "web", wish(BY_DB)))

    assert isinstance(found, Placed)
    assert {t.tier: t.value for t in found.tiers}[AFFINITY] == 0


def test_an_instance_without_the_words_is_as_it_was() -> None:
    """
    Labels alone, and affinity of nodes, tell no cores apart and cost the problem nothing.
    """
    db = owner("db", 2, "db", AffinityTerm(DB, apart=True))
    running = ((owner("r", 1, "db"), "n", {0}),)
    problem = build_problem(instance_of(node(cores=8), db, running=running))

    assert problem.granularity is CoreClassGranularity.ALIKE
    assert [(c.cores, c.free, c.guests) for c in problem.nodes[0].cores] == [
        (7, 2, NOBODY),
        (1, 1, NOBODY),
    ]
    assert all(shape.in_node_affinity is None for shape in problem.shapes)


@pytest.mark.parametrize(("level", "classes"), [(NUMA, 1), (CORE, 8)])
def test_only_the_level_of_cores_tells_cores_apart(level: object, classes: int) -> None:
    """
    For NUMA nodes counts of cores are enough.
    """
    term = BY_DB if level is CORE else NEAR_DB
    problem = build_problem(instance_of(node(cores=8), owner("a", 2, "db", term)))

    assert len(problem.nodes[0].cores) == classes
