"""Strategies that one model of the batch cannot say: improved in parts, never made worse.

Under strategy ``expected`` a search is open, and done when nothing helps.
"""

from dataclasses import replace
from random import Random

import pytest

from answers import expect
from even_topologies import even_topology
from placer.judge.breaches import breaches
from placer.judge.measure import are_tier_values_better, measure
from placer.search.options import Engine, SolveOptions
from placer.search.solver import solve
from placer.state.batch import build_problem
from placer_models.cluster import Instance, Machine, Node
from placer_models.cpsat import tier_limits
from placer_models.cpsat.tier_limits import number_of_modelled_tiers
from placer_models.demand import ExpectedShape, expected_demand_from_counts
from placer_models.device import GPU, Device
from placer_models.goals import EXPECTED
from placer_models.node_strategy import NodeStrategy
from placer_models.placement import Placed
from placer_models.pod import Container, DeviceRequest, Gang, Pod, PodSpec, Resources
from placer_models.policy import QosClass

SEEDS = 2
LOOKING_AT_PODS_TOGETHER = [NodeStrategy.LEAST_REQUESTED, NodeStrategy.MOST_BALANCED]


def drawn(seed: int, strategy: NodeStrategy) -> Instance:
    """Return eight nodes of 8 CPUs and 16 bytes, and pods of three kinds, wide or deep."""
    rng = Random(seed)
    machine = Machine("box", "", even_topology(8, 16))
    kinds = [
        PodSpec((Container("main", Resources(milli, memory)),), QosClass.LS)
        for milli, memory in ((rng.randint(1500, 3000), 1), (300, rng.randint(4, 6)), (900, 2))
    ]
    pods = [Pod(f"p{i}", "default", rng.choice(kinds)) for i in range(14)]
    return Instance(
        tuple(Node(f"n{i}", machine) for i in range(8)),
        tuple(Gang(pod.name, "default", (pod,), 1, lone=True) for pod in pods),
        strategy=strategy,
    )


def is_improved(instance: Instance, greedy: Placed, answer: Placed) -> bool:
    """Hold an answer to what it claims, and to be no worse than greedy's; tell if it is better."""
    before, after = (measure(instance, a.placement) for a in (greedy, answer))
    assert not breaches(instance, answer.placement)
    assert tuple((v.tier, v.value) for v in answer.tiers) == after
    assert not are_tier_values_better(before, after)
    return are_tier_values_better(after, before)


@pytest.mark.check
@pytest.mark.parametrize("strategy", LOOKING_AT_PODS_TOGETHER)
def test_what_one_model_cannot_say_is_improved_in_parts(
    strategy: NodeStrategy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    No answer is worse than greedy's, some is better, and what is claimed is measured.
    """
    monkeypatch.setattr(tier_limits, "MOST_TABLE_ROWS", 500)
    monkeypatch.setattr(tier_limits, "MOST_PRODUCTS", 20)
    improved = 0
    for seed in range(SEEDS):
        instance = drawn(seed, strategy)
        problem = build_problem(instance)
        assert number_of_modelled_tiers(problem) == len(problem.tiers) - 1
        options = SolveOptions(workers=1, seed=seed, work_limit=1)
        greedy = expect(Placed, solve(instance, replace(options, engine=Engine.GREEDY)))
        answer = expect(Placed, solve(instance, options))

        improved += is_improved(instance, greedy, answer)
        assert not answer.tiers[-1].proven
    assert improved


NODES, PODS = 3, 5
DEMAND = expected_demand_from_counts(
    {ExpectedShape(3000, 1): 5, ExpectedShape(1000, 1): 5, ExpectedShape(4000, 2): 2}
)


def drawn_expected(seed: int) -> Instance:
    """Return three nodes with two to four GPUs and as many CPUs or more, and pods of four kinds."""
    rng = Random(f"parts-{seed}")
    nodes = []
    for i in range(NODES):
        cpus, gpus = rng.randint(6, 14), rng.randint(2, 4)
        topology = even_topology(cpus, 64)
        machine = Machine(f"m{i}", "", topology, tuple(Device(GPU, g) for g in range(gpus)))
        nodes.append(Node(f"n{i}", machine))
    gangs = []
    for i in range(PODS):
        wanted = DeviceRequest(GPU, 1) if rng.random() < 0.8 else None
        devices = (wanted,) if wanted else ()
        container = Container("main", Resources(1000 * rng.randint(1, 4), 1, devices=devices))
        pod = Pod(f"p{i}", "default", PodSpec((container,), QosClass.LS))
        gangs.append(Gang(pod.name, "default", (pod,), 1, lone=True))
    return Instance(tuple(nodes), tuple(gangs), strategy=NodeStrategy.EXPECTED, demand=DEMAND)


@pytest.mark.check
def test_parts_improve_what_no_model_states() -> None:
    """
    No answer is worse than greedy's, some is better; only the last tier is open.
    """
    improved = 0
    for seed in (0, 1, 27):
        instance = drawn_expected(seed)
        greedy = expect(Placed, solve(instance, SolveOptions(engine=Engine.GREEDY, workers=1)))
        answer = expect(Placed, solve(instance, SolveOptions(workers=1, seed=seed, work_limit=2)))

        improved += is_improved(instance, greedy, answer)
        assert all(value.proven for value in answer.tiers[:-1])
        last = answer.tiers[-1]
        assert (last.tier, last.bound, last.proven) == (EXPECTED, None, False)
    assert improved == 2


@pytest.mark.check
def test_a_search_ends_when_no_part_helps() -> None:
    """
    Of an hour it takes what some fruitless parts take: else this test would not end.
    """
    answer = expect(
        Placed, solve(drawn_expected(0), SolveOptions(workers=1, seed=1, time_limit_s=3600))
    )

    assert not answer.tiers[-1].proven
