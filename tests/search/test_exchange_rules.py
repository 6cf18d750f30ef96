"""Exchanges of pods that are no plain sums: devices, shares, CPUs of their own, NUMA nodes."""

from collections.abc import Callable
from dataclasses import replace
from random import Random

import numpy as np
import pytest

from answers import expect
from placer.counting.account import accounts_of
from placer.counting.placements import NodeIdAssignmentFailure, realise_choices
from placer.greedy.place import place_greedily
from placer.judge.breaches import breaches
from placer.search import joint_search
from placer.search.exchanges.device_columns import device_capacity_constraints
from placer.search.exchanges.domain_rules import ExchangeDomainRules
from placer.search.exchanges.lots import exchange_lots_of, shapes_never_exchanged
from placer.search.exchanges.mending import ExchangePlacementRepairer
from placer.search.exchanges.on_nodes import ExchangeGreedyPodPlacer
from placer.search.exchanges.room_columns import capacity_left_columns
from placer.search.options import SolveOptions
from placer.search.solver import solve
from placer.state.batch import build_problem
from placer_models.affinity import AffinityTerm
from placer_models.cluster import Instance, Machine, Node
from placer_models.placement import Infeasible, Placed
from placer_models.pod import Container, Gang, Pod, PodSpec, Resources, Variant
from placer_models.policy import BindPolicy, QosClass, RequiredOrPreferred
from placer_models.problem.problem import Choices, Problem
from placer_models.topology import Cpu, NumaNode, Topology
from search.exchange_worlds import (
    GIB,
    WORK,
    asking,
    gpu_machine,
    placed_points,
    proposed,
    related_world,
    share_of_gpu,
    some_world,
)


def legal(world: Instance, problem: Problem, choices: Choices) -> bool:
    placement = realise_choices(world, accounts_of(world), problem, choices)
    return not isinstance(placement, NodeIdAssignmentFailure) and not breaches(world, placement)


@pytest.mark.parametrize(
    "seeds", [range(40), pytest.param(range(40, 1500), marks=pytest.mark.slow)]
)
def test_what_is_proposed_keeps_the_rules_of_all_families(seeds: range) -> None:
    """
    From nothing placed, on worlds where all rules mix; it mostly gets as far as the greedy path.
    """
    compared = reached = 0
    for seed in seeds:
        world = some_world(seed)
        problem = build_problem(world)
        greedy = placed_points(problem, place_greedily(problem))
        found = proposed(problem, {})
        if found is not None:
            assert legal(world, problem, found), seed
            compared += 1
            reached += placed_points(problem, found) >= greedy

    assert compared > len(seeds) / 4
    assert reached > 0.8 * compared


@pytest.mark.parametrize(
    "seeds", [range(60), pytest.param(range(60, 1500), marks=pytest.mark.slow)]
)
def test_pods_that_look_at_others_keep_all_rules(seeds: range) -> None:
    """
    Whatever they ask of others, and wherever they are at first: nowhere, where the greedy path has
    them, or, of those that may not be exchanged, there. These stay, and others come beside them.
    """
    moved = beside = 0
    for seed in seeds:
        world = related_world(seed)
        problem = build_problem(world)
        staying = shapes_never_exchanged(problem)
        rules = ExchangeDomainRules(problem, {})
        free = {pod for lot in exchange_lots_of(problem, {}) for pod in lot.pods}
        greedy = place_greedily(problem)
        kept = {pod: choice for pod, choice in greedy.items() if pod not in free}
        for start in (greedy, kept):
            found = proposed(problem, start)
            if found is not None:
                assert legal(world, problem, found), seed
                assert kept.items() <= found.items()
                beside += any(problem.pods[pod] in staying for pod in start)
                moved += any(problem.pods[pod] in rules.related for pod in found if pod in free)
        assert all(problem.pods[pod] not in staying for pod in free)

    assert beside > len(seeds) / 20
    assert moved > len(seeds) / 10


SIZES = (5, 3, 2, 4, 3, 3, 4, 3, 3)
"""CPUs of pods that fill three nodes to the last CPU, beside one pod of one CPU on each."""

LABELS = (("has", "gpus"),), (("zone", "a"),), (("zone", "a"),)


def apart(name: str) -> Gang:
    spec = PodSpec(
        (Container("main", Resources(1000, GIB)),),
        QosClass.LS,
        labels=(("app", "web"),),
        affinity=(AffinityTerm((("app", "web"),), apart=True),),
    )
    return Gang(name, "default", (Pod(name, "default", spec),), 1, priority=1, lone=True)


def either(name: str) -> Gang:
    container = Container("main", Resources(1000, GIB))
    with_gpu = replace(container, requests=Resources(1000, GIB, devices=share_of_gpu(100)))
    variants = (Variant((("has", "gpus"),), (with_gpu,)), Variant((("zone", "a"),), (container,)))
    spec = PodSpec((container,), QosClass.LS, variants=variants)
    return Gang(name, "default", (Pod(name, "default", spec),), 1, priority=1, lone=True)


@pytest.mark.parametrize("kind", [apart, either])
def test_others_are_exchanged_beside_pods_that_mind_each_other(kind: Callable[[str], Gang]) -> None:
    """
    Such pods are on each node, where they were placed alone.
    """
    machine = gpu_machine(1, cpus=11)
    nodes = [Node(f"n{i}", machine, labels) for i, labels in enumerate(LABELS)]
    minding = [kind(f"m{i}") for i in range(3)]
    alone = [
        place_greedily(build_problem(Instance((node,), (gang,))))[0]
        for node, gang in zip(nodes, minding, strict=True)
    ]
    gangs = (asking(f"p{i}", Resources(1000 * size, GIB)) for i, size in enumerate(SIZES))
    world = Instance(tuple(nodes), (*minding, *gangs))
    problem = build_problem(world)
    start = {pod: choice.on(pod) for pod, choice in enumerate(alone)}
    found = proposed(problem, start)

    assert found is not None
    assert len(found) == len(problem.pods)
    assert legal(world, problem, found)


def test_a_node_whose_cpus_are_all_offline_hosts_nobody() -> None:
    """
    Whatever strategy it has: what was a traceback is an answer.
    """
    world = some_world(1321)

    assert not all(host.machine.topology.online for host in world.nodes)
    assert isinstance(solve(world, WORK), Infeasible)


def shares_world(seed: int, nodes: int = 8, gpus: int = 3) -> Instance:
    """Return nodes whose GPUs can all be used up: each is cut at random, and shuffled."""
    rng = Random(seed)
    percents: list[int] = []
    for _ in range(nodes * gpus):
        left = 100
        while left:
            cut = min(left, rng.choice((20, 30, 40, 50, 60, 70, 100)))
            percents.append(cut)
            left -= cut
    rng.shuffle(percents)
    machine = gpu_machine(gpus, cpus=64)
    gangs = tuple(
        asking(f"p{i:03}", Resources(1000, GIB // 4, devices=share_of_gpu(percent)), priority=i % 2)
        for i, percent in enumerate(percents)
    )
    return Instance(tuple(Node(f"n{i}", machine) for i in range(nodes)), gangs)


@pytest.mark.parametrize("seed", range(30))
def test_what_fits_a_node_fits_its_columns(seed: int) -> None:
    """
    Sums and rounded sums of shares never say no to pods that the greedy path laid, running or not.
    """
    world = shares_world(seed, nodes=2)
    problem = build_problem(world)
    choices = place_greedily(problem)
    asked = sorted(set(problem.pods))
    columns = list(device_capacity_constraints(problem, problem.nodes, asked))

    assert len(columns) >= 6
    for column in columns:
        for at in range(2):
            there = [problem.pods[pod] for pod, choice in choices.items() if choice.node == at]

            assert sum(column.sizes[shape] for shape in there) <= column.room[at]
    # What is left once some are there is still room enough for the others.
    first = dict(list(choices.items())[: len(choices) // 2])
    layer = ExchangeGreedyPodPlacer(problem, first, lambda: False)
    for column in device_capacity_constraints(problem, layer.nodes, asked):
        for at in range(2):
            there = [
                problem.pods[pod]
                for pod, choice in choices.items()
                if choice.node == at and pod not in first
            ]

            assert sum(column.sizes[shape] for shape in there) <= column.room[at]


def test_two_large_shares_do_not_fit_one_gpu_by_the_columns() -> None:
    """
    The sums rounded to halves see it, and weights; plain ones and those rounded to thirds do not.
    """
    gangs = tuple(
        asking(f"p{i}", Resources(1000, devices=share_of_gpu(percent)))
        for i, percent in enumerate((60, 60, 60, 20))
    )
    problem = build_problem(Instance((Node("n", gpu_machine(2)),), gangs))
    large = [problem.pods[i] for i in range(3)]
    said = [
        sum(column.sizes[shape] for shape in large) <= column.room[0]
        for column in device_capacity_constraints(problem, problem.nodes, set(problem.pods))
    ]

    assert said[:6] == [True, False, True] * 2
    assert not all(said[6:])


def test_nodes_are_mended() -> None:
    """
    By the sums the pods fit, by their GPUs they do not until two of them change places.
    """
    amounts = [40, 40, 40, 40, 30, 60, 60, 30, 30]
    wanted = {0: [0, 1, 2, 3, 4], 1: [5, 6, 7, 8]}
    gangs = tuple(
        asking(f"p{i}", Resources(1000, devices=share_of_gpu(percent)))
        for i, percent in enumerate(amounts)
    )
    world = Instance((Node("a", gpu_machine(2)), Node("b", gpu_machine(2))), gangs)
    problem = build_problem(world)
    layer = ExchangeGreedyPodPlacer(problem, {}, lambda: False)
    columns = capacity_left_columns(problem, layer.nodes, range(9))
    assert columns is not None
    mender = ExchangePlacementRepairer(
        columns, layer, problem.pods.__getitem__, np.random.default_rng(1), lambda _: False
    )

    assert len(layer.ordered(0, wanted[0])[1]) == 1
    assert layer.ordered(1, wanted[1])[1] == []

    on, lost = mender.mend(wanted, set())

    assert lost == []
    assert sorted(pod for pods in on.values() for pod in pods) == list(range(9))
    assert layer.lay(on) == []


def test_once_the_time_is_over_no_node_is_mended() -> None:
    """
    Whoever has no place yet loses it at once: looking for exchanges made answers late by seconds.
    """
    gangs = tuple(asking(f"p{i}", Resources(1000)) for i in range(12))
    problem = build_problem(Instance((Node("a", gpu_machine(0)), Node("b", gpu_machine(0))), gangs))
    layer = ExchangeGreedyPodPlacer(problem, {}, lambda: True)
    columns = capacity_left_columns(problem, layer.nodes, range(12))
    assert columns is not None
    asked: list[int] = []

    def stop(cost: int) -> bool:
        asked.append(cost)
        return True

    thing_of = problem.pods.__getitem__
    mender = ExchangePlacementRepairer(columns, layer, thing_of, np.random.default_rng(1), stop)
    wanted = {0: list(range(6)), 1: list(range(6, 12))}

    assert mender.mend(wanted, set(range(12))) == ({}, list(range(12)))
    assert len(asked) == len(wanted) + 1


@pytest.fixture
def exchanges_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """No model and no parts: what is found is found by exchanges."""
    monkeypatch.setattr(joint_search, "search_exactly", None)
    monkeypatch.setattr(joint_search, "MOST_ASSIGNMENTS", 0)
    monkeypatch.setattr(joint_search.JointSearch, "improve_parts", lambda *_: None)


@pytest.mark.usefixtures("exchanges_alone")
def test_shares_that_can_use_up_all_gpus_nearly_do() -> None:
    """
    Where greedy leaves pods out.
    """
    left_by_greedy = left = 0
    for seed in range(3):
        world = shares_world(seed)
        left_by_greedy += len(world.gangs) - len(place_greedily(build_problem(world)))
        answer = solve(world, SolveOptions(workers=1, seed=1, work_limit=5))
        assert answer.placement is not None
        left += len(world.gangs) - len(answer.placement.pods)

    assert left < left_by_greedy / 2


def whole_cores_world(seed: int) -> Instance:
    """Return ten nodes of two kinds, and pods that own whole cores of all of them."""
    rng = Random(seed)
    machines = [
        Machine(
            f"m{cores}",
            "",
            Topology(
                "x86_64",
                tuple(Cpu(t * cores + c, c, 0, 0) for t in range(2) for c in range(cores)),
                (NumaNode(0, cores * GIB),),
            ),
        )
        for cores in (8, 12)
    ]
    nodes = tuple(Node(f"n{i}", machines[i % 2]) for i in range(10))
    gangs = []
    for at, host in enumerate(nodes):
        left = len(host.machine.topology.online)
        cpus: list[int] = []
        while left:
            cpus.append(min(left, rng.choice((2, 4, 4, 6, 6, 10))))
            left -= cpus[-1]
        room = host.machine.topology.numa_nodes[0].memory_bytes // GIB
        cuts = sorted(rng.sample(range(1, room), len(cpus) - 1))
        for i, (count, first, last) in enumerate(zip(cpus, (0, *cuts), (*cuts, room), strict=True)):
            resources = Resources(1000 * count, (last - first) * GIB)
            bound = {"bind": BindPolicy.FULL_PCPUS, "bind_strength": RequiredOrPreferred.REQUIRED}
            gangs.append(asking(f"p{at}-{i}", resources, **bound))
    rng.shuffle(gangs)
    return Instance(nodes, tuple(gangs))


@pytest.mark.usefixtures("exchanges_alone")
def test_pods_with_whole_cores_fill_nodes_of_two_kinds() -> None:
    """
    CPUs and memory are used up to the last; greedy leaves some pods out in some worlds.
    """
    short = 0
    for seed in range(6):
        world = whole_cores_world(seed)
        short += len(place_greedily(build_problem(world))) < len(world.gangs)
        answer = expect(Placed, solve(world, SolveOptions(workers=1, seed=1, work_limit=5)))

        assert answer.tiers[0].proven

    assert short
