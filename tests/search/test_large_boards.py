"""A board of many GPUs that are all different: too many sets to model."""

import random

import pytest

from placer.judge.breaches import breaches
from placer.search.options import Engine, SolveOptions
from placer.search.solver import solve
from placer.state.batch import build_problem
from placer_models.cluster import Instance, Machine, Node
from placer_models.cpsat import tier_limits
from placer_models.cpsat.tier_limits import TIERS_OF_SETS, number_of_modelled_tiers
from placer_models.device import Device, GpuLinkMatrix
from placer_models.placement import Placed
from placer_models.pod import Container, DeviceRequest, Gang, Pod, PodSpec, Resources
from placer_models.topology import Cpu, NumaNode, Topology

GPUS = 16

TIERS_BEFORE = build_problem(Instance((), ())).before_links + 1
"""Those before the links, with one priority level."""


def irregular() -> Instance:
    """Sixteen GPUs with random links, and pods that want 4, 3, 3, 2 and 1 of them."""
    rng = random.Random(1)
    speeds = [[0] * GPUS for _ in range(GPUS)]
    for i in range(GPUS):
        for j in range(i):
            speeds[i][j] = speeds[j][i] = rng.randint(1, 9) * 100
    links = GpuLinkMatrix(
        tuple(range(GPUS)),
        tuple(map(tuple, speeds)),
        (("SYS",) * GPUS,) * GPUS,
    )
    topology = Topology("x86_64", (Cpu(0, 0, 0, 0),), (NumaNode(0, 0),))
    gpus = tuple(Device("gpu", i, numa_node=0) for i in range(GPUS))
    gangs = []
    for index, count in enumerate((4, 3, 3, 2, 1)):
        requests = Resources(devices=(DeviceRequest("gpu", count),))
        pod = Pod(f"job-{index}", "default", PodSpec((Container("main", requests),)))
        gangs.append(Gang(pod.name, "default", (pod,), 1, lone=True))
    node = Node("n", Machine("irregular", "", topology, gpus, links))
    return Instance((node,), tuple(gangs))


@pytest.mark.check
@pytest.mark.parametrize(
    ("most_sets", "tiers"),
    [(100_000, TIERS_BEFORE + TIERS_OF_SETS), (100, TIERS_BEFORE)],
)
def test_tiers_that_cannot_be_modelled_are_left_to_the_greedy_path(
    most_sets: int, tiers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    The tiers before them are proven; for them no bound is claimed but what is known anyway.
    """
    monkeypatch.setattr(tier_limits, "MOST_SETS", most_sets)
    instance = irregular()
    assert number_of_modelled_tiers(build_problem(instance)) == tiers
    for engine in (Engine.AUTO, Engine.EXACT):
        answer = solve(instance, SolveOptions(engine=engine, workers=1, work_limit=60))

        assert isinstance(answer, Placed)
        assert breaches(instance, answer.placement) == ()
        assert [tier.proven for tier in answer.tiers[:tiers]] == [True] * tiers
        assert not answer.tiers[-1].proven
