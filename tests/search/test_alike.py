"""Equal pods: the best way to part them is known without a model, and is a bound."""

from dataclasses import replace
from itertools import product
from random import Random

import pytest

from answers import expect
from even_topologies import even_topology
from exact_checks import check_worlds
from placer.search import joint_search
from placer.search.equal_pods import best_split_of_equal_pods
from placer.search.options import SolveOptions
from placer.search.solver import solve
from placer.state.batch import build_problem
from placer_models.cluster import Instance, Machine, Node, RunningPod
from placer_models.goals import TIERS_OF, WORTH, ObjectiveSense
from placer_models.node_strategy import NodeStrategy
from placer_models.placement import Placed, PodPlacement
from placer_models.pod import Container, Gang, Pod, PodSpec, Resources
from placer_models.policy import BindPolicy, QosClass, RequiredOrPreferred
from placer_models.problem.rooms import room_points
from worlds import tiny_instance


def spec(milli: int, memory: int) -> PodSpec:
    return PodSpec((Container("main", Resources(milli, memory)),), QosClass.LS)


def equal_pods(count: int, of: PodSpec) -> tuple[Gang, ...]:
    pods = (Pod(f"p{i}", "default", of) for i in range(count))
    return tuple(Gang(pod.name, "default", (pod,), 1, lone=True) for pod in pods)


BOUNDED = [strategy for strategy in NodeStrategy if strategy is not NodeStrategy.EXPECTED]
"""What nodes lose of their worth to expected pods does not follow from sums."""


def box(cpus: int, memory: int) -> Machine:
    return Machine(f"box-{cpus}-{memory}", "", even_topology(cpus, memory))


def drawn(seed: int, strategy: NodeStrategy, nodes: int, pods: int) -> Instance:
    """Return nodes of three sizes, on which something runs or not, and equal LS pods."""
    rng = Random(seed)
    boxes = [box(rng.randint(2, 9), rng.randint(4, 20)) for _ in range(3)]
    found = tuple(Node(f"n{i}", rng.choice(boxes)) for i in range(nodes))
    running = []
    for i, node in enumerate(found):
        cpus = len(node.machine.topology.online)
        old = Pod(f"r{i}", "default", spec(rng.randrange(500 * cpus), rng.randint(0, 2)))
        held = old.spec.requests.memory_bytes
        place = PodPlacement(
            old.name,
            "default",
            None,
            node.name,
            node.machine.topology.online,
            memory_bytes=((0, held),) if held else (),
        )
        if rng.random() < 0.5:
            running.append(RunningPod(old, place))
    wanted = spec(rng.randint(300, 2500), rng.randint(0, 4))
    return Instance(found, equal_pods(pods, wanted), running=tuple(running), strategy=strategy)


@pytest.mark.parametrize("strategy", BOUNDED)
def test_the_best_way_is_that_of_trying_all(strategy: NodeStrategy) -> None:
    """
    On 60 worlds of three nodes and up to four pods, by the sums of their nodes alone.
    """
    tiers = TIERS_OF[strategy]
    none = 0
    for seed in range(60):
        problem = build_problem(drawn(seed, strategy, 3, 1 + seed % 4))
        pods, shape = len(problem.pods), problem.shapes[0]
        best: tuple[int, ...] | None = None
        for counts in product(range(pods + 1), repeat=3):
            memory = [node.memory for node in problem.nodes]
            left = [
                (node.pool_milli - n * shape.pool_milli, free - n * shape.memory)
                for node, free, n in zip(problem.nodes, memory, counts, strict=True)
            ]
            if sum(counts) != pods or min(map(min, left)) < 0:
                continue
            costs = [0] * len(tiers)
            for node, n, free, (milli, bytes_) in zip(
                problem.nodes, counts, memory, left, strict=True
            ):
                if node.load is None:
                    costs[0] += room_points(node.rooms, node.pool_milli, free)
                    costs[0] -= room_points(node.rooms, milli, bytes_)
                    continue
                load, fit = node.load, problem.fits[0][node.kind]
                assert fit is not None
                assert fit.ask is not None
                for _ in range(n):
                    load = load.with_pod(fit.ask)
                for i, tier in enumerate(tiers):
                    sign = 1 if tier.sense is ObjectiveSense.MINIMISE else -1
                    costs[i] += sign * (WORTH[tier](load) - WORTH[tier](node.load))
            best = tuple(costs) if best is None else min(best, tuple(costs))

        found = best_split_of_equal_pods(problem, tiers)

        assert (None if found is None else found.costs) == best, seed
        none += best is None
        if found is not None:
            assert len(found.nodes) == pods
    assert none < 30


@pytest.mark.parametrize("strategy", BOUNDED)
def test_many_equal_pods_are_answered_without_a_model(
    strategy: NodeStrategy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    On 40 nodes of three sizes, half of them in use: 30 pods, each tier at its bound.
    """
    monkeypatch.setattr(joint_search, "search_exactly", None)
    monkeypatch.setattr(joint_search.JointSearch, "improve_parts", None)
    for seed in range(5):
        instance = drawn(seed, strategy, 40, 30)

        answer = expect(Placed, solve(instance, SolveOptions(workers=1, seed=1, work_limit=20)))

        for value in answer.tiers:
            assert value.proven or strategy is NodeStrategy.MOST_BALANCED


@pytest.mark.check
@pytest.mark.parametrize("strategy", BOUNDED)
def test_equal_pods_are_solved_as_by_brute_force(strategy: NodeStrategy) -> None:
    """
    In 25 tiny worlds where all that waits is alike, also with CPUs and devices of its own.
    """

    def alike(seed: int) -> Instance:
        world = tiny_instance(seed)
        rng = Random(seed)
        of = rng.choice([pod.spec for gang in world.gangs for pod in gang.pods])
        gangs = equal_pods(rng.randint(1, 3), of)
        return replace(world, gangs=gangs, groups=(), strategy=strategy)

    check_worlds(alike, 0, 1, 25)


def test_pods_that_spread_over_cores_may_share_all_of_them() -> None:
    """
    Each takes one thread of every core, so a node of three cores holds two of them.
    """
    topology = even_topology(6, 4, threads=2)
    machine = Machine("three-cores", "", topology)
    wanted = PodSpec(
        (Container("main", Resources(3000)),),
        QosClass.LSR,
        bind=BindPolicy.SPREAD_BY_PCPUS,
        bind_strength=RequiredOrPreferred.REQUIRED,
    )
    nodes = (Node("n0", machine), Node("n1", machine))
    answer = solve(Instance(nodes, equal_pods(2, wanted)), SolveOptions(work_limit=5, workers=1))

    assert isinstance(answer, Placed)
    assert len({place.node for place in answer.placement.pods}) == 1
    assert answer.tiers[-1].proven
