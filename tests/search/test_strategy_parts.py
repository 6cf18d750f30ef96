"""Strategies that one model of the batch cannot say: improved in parts, never made worse."""

from dataclasses import replace
from random import Random

import pytest

from placer.judge.breaches import breaches
from placer.judge.measure import is_better, measure
from placer.search.options import Engine, SolveOptions
from placer.search.solver import solve
from placer.state.batch import build_problem
from placer_models.cluster import Instance, Machine, Node
from placer_models.cpsat import tier_limits
from placer_models.cpsat.tier_limits import number_of_modelled_tiers
from placer_models.node_strategy import NodeStrategy
from placer_models.placement import Placed
from placer_models.pod import Container, Gang, Pod, PodSpec, Resources
from placer_models.policy import QosClass
from placer_models.topology import Cpu, NumaNode, Topology

SEEDS = 2
LOOKING_AT_PODS_TOGETHER = [NodeStrategy.LEAST_REQUESTED, NodeStrategy.MOST_BALANCED]


def drawn(seed: int, strategy: NodeStrategy) -> Instance:
    """Return eight nodes of 8 CPUs and 16 bytes, and pods of three kinds, wide or deep."""
    rng = Random(seed)
    machine = Machine(
        "box",
        "",
        Topology("x86_64", tuple(Cpu(i, i, 0, 0) for i in range(8)), (NumaNode(0, 16),)),
    )
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
        greedy = solve(instance, replace(options, engine=Engine.GREEDY))
        answer = solve(instance, options)

        assert isinstance(greedy, Placed)
        assert isinstance(answer, Placed)
        before, after = (measure(instance, a.placement) for a in (greedy, answer))
        assert not breaches(instance, answer.placement)
        assert tuple((v.tier, v.value) for v in answer.tiers) == after
        assert not is_better(before, after)
        assert not answer.tiers[-1].proven
        improved += is_better(after, before)
    assert improved
