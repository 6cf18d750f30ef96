"""Amplified CPUs: pools hold more requests, and who owns a CPU takes as much of them."""

import pytest

from judge.cases_amplification import ALIGNED
from judge.hand import pod, world
from placer.judge.breaches import breaches
from placer.search.options import Engine, SolveOptions
from placer.search.solver import solve
from placer_models.placement import PartlyPlaced, Placed
from placer_models.policy import QosClass


@pytest.mark.parametrize("engine", [Engine.GREEDY, Engine.EXACT])
@pytest.mark.parametrize(("asked", "placed"), [(4.5, 3), (4.501, 2)])
def test_an_owner_leaves_each_numa_node_what_its_pods_count_on(
    engine: Engine, asked: float, placed: int
) -> None:
    """
    Two pods of the pools, one on each NUMA node; an owner's CPU takes 1.5 of the six of one.
    """
    pods = [pod(name, asked, qos=QosClass.LS) for name in "ab"]
    instance = world(*pods, pod("own", 1), nodes=[ALIGNED])
    answer = solve(instance, SolveOptions(engine=engine, workers=1, seed=1))

    assert isinstance(answer, Placed | PartlyPlaced)
    assert breaches(instance, answer.placement) == ()
    assert len(answer.placement.pods) == placed
