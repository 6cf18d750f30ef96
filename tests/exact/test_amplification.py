"""Amplified CPUs: pools hold more requests, and who owns a CPU takes as much of them."""

from random import Random

import pytest

from exact_checks import check_worlds
from features.amplification import amplified
from judge.cases_amplification import ALIGNED
from judge.hand import pod, world
from placer.judge.breaches import breaches
from placer.search.options import Engine, SolveOptions
from placer.search.solver import solve
from placer_models.cluster import Instance
from placer_models.placement import PartlyPlaced, Placed
from placer_models.policy import QosClass
from worlds import tiny_instance

BATCHES = 10


def amplified_world(seed: int) -> Instance:
    """Draw a tiny instance whose CPUs are amplified."""
    return amplified(Random(f"amplified-{seed}"), tiny_instance(seed))


@pytest.mark.parametrize("batch", range(BATCHES))
def test_worlds_of_amplified_cpus_are_solved_as_by_brute_force(batch: int) -> None:
    """
    On 100 worlds both engines keep the rules of pools, and the exact one proves the best.
    """
    check_worlds(amplified_world, batch, BATCHES, 10)


@pytest.mark.slow
@pytest.mark.parametrize("batch", range(BATCHES))
def test_many_worlds_of_amplified_cpus(batch: int) -> None:
    """
    The same on 1,000 others.
    """
    check_worlds(amplified_world, 10_000 + batch, BATCHES, 100)


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
