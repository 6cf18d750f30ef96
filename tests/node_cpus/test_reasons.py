"""A pod that a node's CPU words keep out is told so by the rule's name."""

from dataclasses import replace

import pytest

from judge.cases_apart import PCPU, apart, unbound
from judge.cases_burst import burst
from judge.hand import MACHINE, node, pod, put, world
from placer.search.options import Engine, SolveOptions
from placer.search.solver import solve
from placer_models.cluster import Instance
from placer_models.placement import GaveUp, Infeasible, PartlyPlaced, Placed
from placer_models.policy import BindPolicy, NodeBindPolicy, QosClass
from placer_models.topology import ARM

SPREAD, FULL = BindPolicy.SPREAD_BY_PCPUS, BindPolicy.FULL_PCPUS
FULL_ONLY, SPREAD_ONLY = NodeBindPolicy.FULL_PCPUS_ONLY, NodeBindPolicy.SPREAD_BY_PCPUS
ARM_MACHINE = replace(MACHINE, topology=replace(MACHINE.topology, architecture=ARM))

NOWHERE = [
    pytest.param(
        world(pod("a", 2, bind=SPREAD, required=True), nodes=[node(cpu_bind=FULL_ONLY)]),
        "never fits (1 of 1 nodes: node-cpu-bind: pod asks SpreadByPCPUs, node has FullPCPUsOnly)",
        id="the words exclude each other",
    ),
    pytest.param(
        world(pod("a", 7), nodes=[node(cpu_bind=FULL_ONLY, reserved="8")]),
        "never fits (1 of 1 nodes: node-cpu-bind FullPCPUs asks 7 CPUs in whole cores, to the "
        "very count)",
        id="no whole cores have so many",
    ),
    pytest.param(
        world(pod("a", 6), nodes=[node(cpu_bind=SPREAD_ONLY)]),
        "never fits (1 of 1 nodes: node-cpu-bind SpreadByPCPUs asks 6 CPUs each on a core of its "
        "own)",
        id="fewer cores than CPUs",
    ),
    pytest.param(
        world(pod("a", 5, bind=FULL, required=True), nodes=[node(reserved="0,8")]),
        "never fits (1 of 1 nodes: cpu-bind FullPCPUs asks 5 CPUs in whole cores, to the very "
        "count)",
        id="the pod's own word",
    ),
    pytest.param(
        world(
            pod("a", 4),
            nodes=[node(cpu_bind=FULL_ONLY)],
            running=[(pod("r", 4, qos=QosClass.LSE), put("r", "0,2,4,8"))],
        ),
        "not now: running pods leave no room (1 of 1 nodes: node-cpu-bind FullPCPUs asks 4 CPUs "
        "in whole cores, to the very count)",
        id="running pods have broken the cores",
    ),
    pytest.param(
        world(pod("a", 2, bind=SPREAD), nodes=[node(machine=ARM_MACHINE)]),
        "never fits (1 of 1 nodes: arm-cpu-policy: aarch64 takes FullPCPUs, not SpreadByPCPUs)",
        id="a wish that Arm does not take",
    ),
    pytest.param(
        world(unbound(apart("a", PCPU)), nodes=[node(machine=ARM_MACHINE)]),
        "never fits (1 of 1 nodes: arm-cpu-policy: aarch64 takes NUMANodeLevel, not PCPULevel)",
        id="cores that Arm does not keep",
    ),
    pytest.param(
        world(burst("a", 1, 2), nodes=[node(machine=ARM_MACHINE)]),
        "never fits (1 of 1 nodes: arm-cpu-policy: aarch64 takes FullPCPUs, not ConstrainedBurst)",
        id="a policy of the pool that Arm does not take",
    ),
]


@pytest.mark.parametrize(("instance", "reason"), NOWHERE)
@pytest.mark.parametrize("engine", [Engine.GREEDY, Engine.EXACT])
def test_the_reason_names_the_rule(instance: Instance, reason: str, engine: Engine) -> None:
    """
    Both engines leave the pod out, and say why.
    """
    answer = solve(instance, SolveOptions(engine=engine, workers=1))

    assert isinstance(answer, Infeasible | GaveUp)
    assert answer.unplaced[0].reasons == (reason,)


@pytest.mark.parametrize(
    ("instance", "cpus", "against"),
    [
        pytest.param(
            world(pod("a", 7), nodes=[node(cpu_bind=FULL_ONLY)]),
            7,
            0,
            id="three cores of two threads and one of one",
        ),
        pytest.param(world(pod("a", 5), nodes=[node(cpu_bind=SPREAD_ONLY)]), 5, 0, id="five cores"),
        pytest.param(
            world(pod("a", 4, bind=SPREAD), nodes=[node(cpu_bind=FULL_ONLY)]),
            4,
            2,
            id="a wish gives way, and is counted",
        ),
    ],
)
@pytest.mark.parametrize("engine", [Engine.GREEDY, Engine.EXACT])
def test_just_inside_the_edge_the_pod_is_placed(
    instance: Instance, cpus: int, against: int, engine: Engine
) -> None:
    """
    One CPU or one word more would be too much. Whole cores count against a wish to spread.
    """
    match solve(instance, SolveOptions(engine=engine, workers=1)):
        case Placed(placement, tiers):
            assert len(placement.pods[0].cpuset) == cpus
            assert {t.tier.name: t.value for t in tiers}["bind"] == against
        case PartlyPlaced() | Infeasible() | GaveUp():
            pytest.fail("it has a place")
