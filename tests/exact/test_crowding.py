"""Preferred anti-affinity by ordered pairs: replicas stand apart as far as they can, with proof."""

from collections import Counter
from itertools import product
from random import Random

import pytest

from answers import expect
from exact.test_in_node_affinity import answer as answer_inside
from exact.test_in_node_affinity import replicas
from judge.cases_in_node_affinity import FAR_FROM_DB, OFF_DB, owner, wish
from judge.hand import ALL_CPUS, node, pod, put, world
from placer.search.options import Engine, SolveOptions
from placer.search.solver import solve
from placer_models.affinity import AffinityTerm
from placer_models.cluster import Instance
from placer_models.goals import AFFINITY
from placer_models.placement import Placed, TierValue
from placer_models.pod import Pod
from placer_models.policy import QosClass, RequiredOrPreferred
from tiny_machines import node_of_cores

APPS = ("web", "db", "batch")
NODES = 3
ROOM = 9
"""CPUs of each node."""


def shy_of(app: str) -> AffinityTerm:
    return AffinityTerm((("app", app),), apart=True, strength=RequiredOrPreferred.PREFERRED)


def shared(name: str, app: str, cpu: int, *terms: AffinityTerm) -> Pod:
    """Return a pod of the shared pool."""
    return pod(name, cpu, qos=QosClass.LS, labels={"app": app}, affinity=terms)


def solved(instance: Instance, engine: Engine = Engine.EXACT) -> tuple[Counter[str], TierValue]:
    """Return how many pods each node has, and tier affinity."""
    answer = expect(Placed, solve(instance, SolveOptions(engine=engine, workers=1, seed=1)))
    (tier,) = (t for t in answer.tiers if t.tier is AFFINITY)
    return Counter(place.node for place in answer.placement.pods), tier


def on_nodes(*pods: Pod, nodes: int = NODES, running: dict[str, Pod] | None = None) -> Instance:
    """Return empty nodes, but for running pods by their nodes."""
    return world(
        *pods,
        nodes=[node(f"n{i}") for i in range(nodes)],
        running=[(one, put(one.name, ALL_CPUS, on=on)) for on, one in (running or {}).items()],
    )


@pytest.mark.parametrize("engine", [Engine.GREEDY, Engine.EXACT, Engine.AUTO])
def test_six_replicas_on_three_nodes_are_two_on_each(engine: Engine) -> None:
    """
    On each node two wishes meet one other pod: 6 pairs. Four, one and one are 12.
    """
    pods = [shared(f"p{i}", "web", 1, shy_of("web")) for i in range(6)]
    counts, tier = solved(on_nodes(*pods), engine)

    assert sorted(counts.values()) == [2, 2, 2]
    assert tier.value == 6
    assert tier.proven is (engine is not Engine.GREEDY)


def test_running_pods_count_among_those_that_are_met() -> None:
    """
    A pod runs on the first node, and is full of wishes that nobody asks: two new ones join
    it on none. Five new ones are 2, 2 and 1 beside it: 2 + 2 + 1 pairs.
    """
    runs = {"n0": shared("r", "web", 1, shy_of("web"))}
    pods = [shared(f"p{i}", "web", 1, shy_of("web")) for i in range(5)]

    counts, tier = solved(on_nodes(*pods[:2], running=runs))
    assert (counts, tier.value, tier.proven) == (Counter(n1=1, n2=1), 0, True)
    counts, tier = solved(on_nodes(*pods, running=runs))
    assert (counts, tier.value, tier.proven) == (Counter(n0=1, n1=2, n2=2), 5, True)


@pytest.mark.parametrize(("count", "nodes", "pairs"), [(40, 12, 96), (64, 16, 192)])
def test_many_replicas_are_counted_and_proven(count: int, nodes: int, pairs: int) -> None:
    """
    40 on 12 nodes: eight of three and four of four are 8 x 6 + 4 x 12.
    """
    pods = [shared(f"p{i}", "web", 1, shy_of("web")) for i in range(count)]
    _, tier = solved(on_nodes(*pods, nodes=nodes))

    assert (tier.value, tier.proven) == (pairs, True)


@pytest.mark.parametrize("seed", range(40))
def test_the_pairs_are_the_fewest_of_all_places(seed: int) -> None:
    """
    Up to six pods of three kinds with wishes at random, some beside running pods: every way
    to place them all is counted pod by pod.
    """
    rng = Random(f"crowding-{seed}")
    wishes = {app: [a for a in APPS if rng.random() < 0.5] for app in APPS}
    cpus = {app: rng.randint(1, 3) for app in APPS}
    pods = []
    for i in range(rng.randint(3, 6)):
        app = rng.choice(APPS)
        pods.append(shared(f"p{i}", app, cpus[app], *map(shy_of, wishes[app])))
    running = {
        f"n{i}": shared(f"r{i}", rng.choice(APPS), rng.randint(0, 4))
        for i in range(NODES)
        if rng.random() < 0.3
    }
    beside: dict[str, list[Pod]] = {f"n{i}": [] for i in range(NODES)}
    for name, one in running.items():
        beside[name].append(one)
    fewest = min(
        value
        for places in product(range(NODES), repeat=len(pods))
        if (value := pairs_of(pods, places, beside)) is not None
    )

    _, tier = solved(on_nodes(*pods, running=running))
    assert (tier.value, tier.proven) == (fewest, True)


def pairs_of(pods: list[Pod], places: tuple[int, ...], running: dict[str, list[Pod]]) -> int | None:
    """Return the ordered pairs that are too near; None: a node is too full."""
    pairs = 0
    for index, there in enumerate(running.values()):
        new = [one for one, place in zip(pods, places, strict=True) if place == index]
        asked = sum(one.spec.requests.cpu_milli for one in (*new, *there))
        if asked > 1000 * ROOM:
            return None
        pairs += sum(
            dict(term.labels).items() <= dict(other.spec.labels).items()
            for one in new
            for term in one.spec.affinity
            for other in (*new, *there)
            if other is not one
        )
    return pairs


@pytest.mark.parametrize("engine", [Engine.GREEDY, Engine.EXACT])
@pytest.mark.parametrize(
    ("count", "numa_nodes", "pairs"),
    [
        pytest.param(6, 2, 2 * 6, id="three and three"),
        pytest.param(7, 2, 6 + 12, id="three and four"),
        pytest.param(12, 4, 4 * 6, id="three on each of four"),
    ],
)
def test_owners_stand_apart_by_numa_node(
    count: int, numa_nodes: int, pairs: int, engine: Engine
) -> None:
    """
    Pods of one CPU on one node that would rather not be on one NUMA node.
    """
    on = node_of_cores(cores=4 * numa_nodes, numa_nodes=numa_nodes)
    found = answer_inside(on, *replicas(count, 1, "db", wish(FAR_FROM_DB)), engine=engine)

    assert isinstance(found, Placed)
    (tier,) = (t for t in found.tiers if t.tier is AFFINITY)
    assert tier.value == pairs
    assert tier.proven is (engine is Engine.EXACT)


@pytest.mark.parametrize("engine", [Engine.GREEDY, Engine.EXACT])
def test_owners_stand_apart_by_core(engine: Engine) -> None:
    """
    Nine pods of one CPU on six cores of two threads: three cores have two, which are 6 pairs.
    """
    found = answer_inside(
        node_of_cores(cores=6), *replicas(9, 1, "db", wish(OFF_DB)), engine=engine
    )

    assert isinstance(found, Placed)
    assert {t.tier: t.value for t in found.tiers}[AFFINITY] == 6


@pytest.mark.parametrize("engine", [Engine.GREEDY, Engine.EXACT])
def test_running_owners_count_one_by_one(engine: Engine) -> None:
    """
    Two databases run on the first NUMA node and one on the second: there a new one meets one.
    """
    on = node_of_cores(cores=8, numa_nodes=2)
    running = tuple((owner(f"r{cpu}", 1, "db"), "n", {cpu}) for cpu in (0, 2, 8))
    new = replicas(1, 1, "db", wish(FAR_FROM_DB))
    found = expect(Placed, answer_inside(on, *new, running=running, engine=engine))

    assert {t.tier: t.value for t in found.tiers}[AFFINITY] == 1
    assert all(cpu >= 8 for cpu in found.placement.pods[0].cpuset)
