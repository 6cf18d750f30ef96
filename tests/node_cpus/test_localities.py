"""Packages and last-level caches: counted by hand, on the edge and just beyond."""

from dataclasses import replace

import pytest

from answers import expect
from judge.hand import node, pod, put, world
from placer.judge.measure import measure
from placer.search.options import Engine, SolveOptions
from placer.search.solver import solve
from placer_models.cluster import Instance, Machine
from placer_models.goals import CACHES, PACKAGES, Tier
from placer_models.placement import Placed, Placement, PodPlacement
from placer_models.pod import Pod
from placer_models.policy import CpuLocalityWish, QosClass
from placer_models.topology import Cpu, NumaNode, Topology

PACKAGE, LLC = CpuLocalityWish.PACKAGE, CpuLocalityWish.LLC

CPUS = tuple(
    Cpu(i, core=i // 2, package=i // 8, numa_node=0, llc=None if i >= 12 else i // 4)
    for i in range(16)
)
MACHINE = Machine("caches", "", Topology("x86_64", CPUS, (NumaNode(0, 0),)))
"""Packages (0-7) (8-15); caches (0-3) (4-7) (8-11), and 12-15 of an unknown one."""


def wishing(name: str, cpu: int, *wishes: CpuLocalityWish, qos: QosClass = QosClass.LSR) -> Pod:
    plain = pod(name, cpu, qos=qos)
    return replace(plain, spec=replace(plain.spec, locality=wishes))


def on(*pods: Pod, wishes: tuple[CpuLocalityWish, ...] = (), reserved: str = "") -> Instance:
    return world(*pods, nodes=[replace(node(machine=MACHINE, reserved=reserved), locality=wishes)])


def value(tier: Tier, instance: Instance, *places: PodPlacement) -> int | None:
    """Return the value of a tier; None where the instance has it not."""
    return dict(measure(instance, Placement(places))).get(tier)


@pytest.mark.parametrize(
    ("cpus", "caches", "packages"),
    [
        pytest.param("0-3", 0, 0, id="one of each"),
        pytest.param("0-2,4", 1, 0, id="a thread in the next cache"),
        pytest.param("0-2,8", 1, 1, id="a thread in the next package"),
        pytest.param("12-15", 0, 0, id="the unknown cache is one"),
        pytest.param("0,4,8,12", 3, 1, id="everywhere"),
    ],
)
def test_groups_beyond_the_fewest_count(cpus: str, caches: int, packages: int) -> None:
    """
    Four CPUs need one cache and one package.
    """
    instance = on(wishing("a", 4, PACKAGE, LLC))

    assert value(CACHES, instance, put("a", cpus)) == caches
    assert value(PACKAGES, instance, put("a", cpus)) == packages


def test_the_fewest_is_of_the_empty_node() -> None:
    """
    Six CPUs need two caches; with all but one thread of two caches reserved, three.
    """
    assert value(CACHES, on(wishing("a", 6, LLC)), put("a", "0-5")) == 0
    assert value(CACHES, on(wishing("a", 6, LLC)), put("a", "0-3,8-9")) == 0
    tight = on(wishing("a", 6, LLC), reserved="1-3,5-7")
    assert value(CACHES, tight, put("a", "0,8-12")) == 1
    assert value(CACHES, tight, put("a", "8-13")) == 0
    tighter = on(wishing("a", 7, LLC), reserved="1-3,5-7,13-15")
    assert value(CACHES, tighter, put("a", "0,4,8-12")) == 0


def test_a_node_speaks_for_pods_that_say_nothing() -> None:
    """
    The pod's own word holds if it has one.
    """
    assert value(CACHES, on(pod("a", 2), wishes=(LLC,)), put("a", "0,4")) == 1
    assert value(CACHES, on(wishing("a", 2, PACKAGE), wishes=(LLC,)), put("a", "0,4")) is None
    both = on(wishing("a", 2, PACKAGE), pod("b", 2), wishes=(LLC,))
    assert value(CACHES, both, put("a", "0,4"), put("b", "8,12")) == 1
    assert value(PACKAGES, both, put("a", "0,8"), put("b", "9,1")) == 1


def test_an_instance_has_the_tiers_that_something_waiting_asks_for() -> None:
    """
    Pods that share CPUs have no say, nor has a node without pods that say nothing.
    """
    assert value(CACHES, on(pod("a", 2))) is None
    assert value(CACHES, on(wishing("a", 2, PACKAGE))) is None
    assert value(PACKAGES, on(wishing("a", 2, PACKAGE))) == 0
    assert value(CACHES, on(wishing("a", 1, LLC, qos=QosClass.LS), wishes=(LLC,))) is None
    runs = world(
        pod("a", 2),
        nodes=[node(machine=MACHINE)],
        running=[(wishing("r", 2, LLC), put("r", "0,4"))],
    )
    assert value(CACHES, runs, put("a", "1,5")) is None


@pytest.mark.parametrize("engine", [Engine.GREEDY, Engine.EXACT])
def test_pods_find_their_caches(engine: Engine) -> None:
    """
    A pod of six and two of four fit four caches, of which a running pod has half a one.
    """
    instance = world(
        wishing("a", 6, PACKAGE, LLC),
        wishing("b", 4, LLC),
        wishing("c", 4, LLC),
        nodes=[node(machine=MACHINE)],
        running=[(pod("r", 2), put("r", "4-5"))],
    )
    answer = expect(Placed, solve(instance, SolveOptions(engine=engine, workers=1)))

    values = {t.tier: t.value for t in answer.tiers}
    assert (values[PACKAGES], values[CACHES]) == (0, 0)


def test_the_bind_policy_goes_before_caches() -> None:
    """
    Whole cores of two caches are better than a whole cache with a broken core.
    """
    instance = world(
        wishing("a", 4, LLC),
        nodes=[node(machine=MACHINE, reserved="12-15")],
        running=[(pod("r", 2), put("r", "1-2")), (pod("s", 4), put("s", "6-7,10-11"))],
    )
    answer = expect(Placed, solve(instance, SolveOptions(engine=Engine.EXACT, workers=1)))

    assert answer.placement.pods[0].cpuset == {4, 5, 8, 9}
    assert {t.tier: t.value for t in answer.tiers}[CACHES] == 1
