"""NUMA allocate strategies: counted by hand, on the edge and just beyond (C11, C18)."""

from dataclasses import replace

import pytest

from answers import expect
from judge.hand import node, pod, put, world
from placer.judge.breaches import breaches
from placer.judge.measure import measure
from placer.search.options import Engine, SolveOptions
from placer.search.solver import solve
from placer_models.cluster import Instance, Machine
from placer_models.goals import BIND, NUMA_STRATEGY
from placer_models.placement import Placed, Placement, PodPlacement
from placer_models.pod import Pod
from placer_models.policy import BindPolicy, NodeBindPolicy, NumaStrategy, QosClass
from placer_models.topology import Cpu, NumaNode, Topology

MOST, LEAST, EVEN = NumaStrategy
FULL, SPREAD = BindPolicy.FULL_PCPUS, BindPolicy.SPREAD_BY_PCPUS

CPUS = tuple(Cpu(i, core=i // 2, package=0, numa_node=i // 8) for i in range(24))
MACHINE = Machine("three", "", Topology("x86_64", CPUS, tuple(NumaNode(i, 0) for i in range(3))))
"""NUMA nodes (0-7) (8-15) (16-23), in cores of two threads."""

BEYOND = 24 * 24
"""Points of a NUMA node beyond the fewest."""


def on(
    strategy: NumaStrategy | None, *pods: Pod, running: str = "", reserved: str = ""
) -> Instance:
    """Return a node with the strategy, on which a pod runs."""
    runs = [(pod("r", 2), put("r", running))] if running else []
    machine = replace(node(machine=MACHINE, reserved=reserved), numa_strategy=strategy)
    return world(*pods, nodes=[machine], running=runs)


def value(instance: Instance, *places: PodPlacement) -> int | None:
    """Return the value of the tier; None where the instance has it not."""
    return dict(measure(instance, Placement(places))).get(NUMA_STRATEGY)


@pytest.mark.parametrize(
    ("strategy", "cpus", "points"),
    [
        pytest.param(MOST, "2-5", 0, id="the fullest"),
        pytest.param(MOST, "8-11", 4 * 2, id="two more are free beside each"),
        pytest.param(MOST, "4-7", 0, id="the fullest, wherever in it"),
        pytest.param(MOST, "6-9", BEYOND + 2 * 2, id="a NUMA node more than it needs"),
        pytest.param(LEAST, "8-11", 0, id="the idlest"),
        pytest.param(LEAST, "2-5", 4 * 2, id="each beside two that are in use"),
        pytest.param(LEAST, "6-9", BEYOND + 1 + 1 + 2 * 2 - 6, id="parted, which costs most"),
        pytest.param(EVEN, "2-5", 0, id="one is enough"),
        pytest.param(EVEN, "6-9", 1, id="even, but one more than it needs"),
        pytest.param(EVEN, "7-9,16", 2, id="two more"),
        pytest.param(EVEN, "4-6,8", BEYOND + 1, id="three and one differ by more than a CPU"),
    ],
)
def test_points_against_the_strategy(strategy: NumaStrategy, cpus: str, points: int) -> None:
    """
    Four CPUs, where a running pod has two of the first NUMA node.
    """
    assert value(on(strategy, pod("a", 4), running="0-1"), put("a", cpus)) == points


WHOLE = (
    pytest.param(pod("a", 10, bind=FULL), NodeBindPolicy.NONE, id="the pod would like them"),
    pytest.param(pod("a", 10, bind=FULL, required=True), NodeBindPolicy.NONE, id="requires them"),
    pytest.param(pod("a", 10), NodeBindPolicy.FULL_PCPUS_ONLY, id="the node gives nothing else"),
)
"""Who wants whole cores."""

PARTED = (
    pytest.param(pod("a", 10), NodeBindPolicy.NONE, id="no policy"),
    pytest.param(pod("a", 10, bind=SPREAD), NodeBindPolicy.NONE, id="the pod spreads"),
    pytest.param(pod("a", 10), NodeBindPolicy.SPREAD_BY_PCPUS, id="the node does"),
)
"""Who does not."""


def binding(instance: Instance, policy: NodeBindPolicy) -> Instance:
    return replace(instance, nodes=tuple(replace(n, cpu_bind=policy) for n in instance.nodes))


@pytest.mark.parametrize(("waiting", "policy"), WHOLE)
def test_even_shares_of_whole_cores_may_differ_by_a_core(
    waiting: Pod, policy: NodeBindPolicy
) -> None:
    """
    Ten CPUs are six and four, or five and five; seven and three are one too many apart.
    """
    instance = binding(on(EVEN, waiting), policy)

    assert value(instance, put("a", "0-5,8-11")) == 0
    assert value(instance, put("a", "0-4,8-12")) == 0
    assert value(instance, put("a", "0-6,8-10")) == 2 * BEYOND
    assert value(instance, put("a", "0-3,8-11,16-17")) == 1


@pytest.mark.parametrize(("waiting", "policy"), PARTED)
def test_other_even_shares_may_differ_by_a_cpu(waiting: Pod, policy: NodeBindPolicy) -> None:
    """
    Ten CPUs are five and five; six and four are one too many apart.
    """
    instance = binding(on(EVEN, waiting), policy)

    assert value(instance, put("a", "0-4,8-12")) == 0
    assert value(instance, put("a", "0-5,8-11")) == BEYOND
    assert value(instance, put("a", "0-3,8-10,16-18")) == 1


@pytest.mark.parametrize(
    ("waiting", "strategy", "cpus", "against"),
    [
        pytest.param(pod("a", 10), EVEN, "0-4,8-12", 0, id="even shares are no fault of Default"),
        pytest.param(pod("a", 10), EVEN, "0-5,8-11", 0, id="nor is it better than that"),
        pytest.param(pod("a", 10), EVEN, "0-4,8,10,12-14", 2, id="more than they cost"),
        pytest.param(pod("a", 11), EVEN, "0-5,8-12", 0, id="what no share can avoid"),
        pytest.param(pod("a", 12), EVEN, "0-6,8-12", 2, id="six and six break none"),
        pytest.param(pod("a", 8), EVEN, "0-2,8-12", 2, id="who fits one has no shares"),
        pytest.param(pod("a", 10), MOST, "0-4,8-12", 2, id="nor under another strategy"),
        pytest.param(pod("a", 10, bind=FULL), EVEN, "0-4,8-12", 2, id="nor who asks for cores"),
    ],
)
def test_default_puts_up_with_what_even_shares_break(
    waiting: Pod, strategy: NumaStrategy, cpus: str, against: int
) -> None:
    """
    Tier ``bind`` goes before the strategy: what it counts of a pod without a policy leaves out
    what each of the even shares has beside whole cores.
    """
    found = dict(measure(on(strategy, waiting), Placement((put("a", cpus),))))

    assert found[BIND] == against


@pytest.mark.parametrize("engine", [Engine.GREEDY, Engine.EXACT])
@pytest.mark.parametrize("running", ["", "0-1"])
@pytest.mark.parametrize(
    ("waiting", "policy", "shares"),
    [
        *(pytest.param(*case.values, [4, 6], id=case.id) for case in WHOLE),
        *(pytest.param(*case.values, [5, 5], id=case.id) for case in PARTED[:2]),
        pytest.param(pod("a", 11), NodeBindPolicy.NONE, [5, 6], id="odd"),
    ],
)
def test_a_pod_is_distributed_evenly(
    waiting: Pod, policy: NodeBindPolicy, shares: list[int], running: str, engine: Engine
) -> None:
    """
    Over two NUMA nodes of eight CPUs in cores of two, whether or not two are taken already.
    """
    instance = binding(on(EVEN, waiting, running=running, reserved="16-23"), policy)
    answer = expect(Placed, solve(instance, SolveOptions(engine=engine, workers=1, seed=1)))

    (place,) = answer.placement.pods
    assert breaches(instance, answer.placement) == ()
    first = len(place.cpuset & frozenset(range(8)))
    assert sorted((first, len(place.cpuset) - first)) == shares
    assert {t.tier: t.value for t in answer.tiers}[NUMA_STRATEGY] == 0


def test_pods_that_come_together_crowd_each_other() -> None:
    """
    Two CPUs of one pod beside two of another make four pairs; a pod's own do not count.
    """
    instance = on(LEAST, pod("a", 2), pod("b", 2))

    assert value(instance, put("a", "0-1"), put("b", "8-9")) == 0
    assert value(instance, put("a", "0-1"), put("b", "2-3")) == 4


def test_a_pod_too_large_for_a_numa_node_has_pairs_that_it_cannot_avoid() -> None:
    """
    Ten CPUs are five and five: 20 pairs. Eight and two are 29.
    """
    instance = on(LEAST, pod("a", 10))

    assert value(instance, put("a", "0-4,8-12")) == 0
    assert value(instance, put("a", "0-7,8-9")) == 9


def test_reserved_cpus_are_not_free() -> None:
    """
    The first NUMA node has two free CPUs fewer: fuller, and not the idlest.
    """
    assert value(on(MOST, pod("a", 2), reserved="0-1"), put("a", "2-3")) == 0
    points = 22 * 22
    assert value(on(LEAST, pod("a", 2), reserved="0-1"), put("a", "2-3")) == 4
    assert value(on(LEAST, pod("a", 2), reserved="0-1"), put("a", "7-8")) == points + 2 - 1


def test_a_strategy_needs_numa_nodes_and_somebody_who_owns_cpus() -> None:
    """
    The tier is there where both are in the instance, and counts 0 on one NUMA node.
    """
    assert value(on(None, pod("a", 2)), put("a", "0-1")) is None
    assert value(on(MOST, pod("a", 2, qos=QosClass.LS)), put("a", "0-23")) is None
    alone = on(MOST, pod("a", 2), pod("b", 2), reserved="8-23")
    assert value(alone, put("a", "0-1"), put("b", "2-3")) == 0


def test_a_numa_node_without_a_free_cpu_is_not_the_fullest() -> None:
    """
    A running pod owns all of the first; the other two have eight free CPUs each.
    """
    assert value(on(MOST, pod("a", 4), running="0-7"), put("a", "8-11")) == 0
    assert value(on(LEAST, pod("a", 4), running="0-7"), put("a", "8-11")) == 0


def test_cpus_of_no_numa_node_count_as_one_numa_node_more() -> None:
    """
    Two NUMA nodes of four CPUs and one CPU of none: that is the fullest of three.
    """
    most = world(pod("a", 1), nodes=[replace(node(), numa_strategy=MOST)])
    least = world(pod("a", 1), nodes=[replace(node(), numa_strategy=LEAST)])

    assert (value(most, put("a", "8")), value(most, put("a", "0"))) == (0, 3)
    assert (value(least, put("a", "8")), value(least, put("a", "0"))) == (3, 0)
    alone = replace(node(reserved="4-7"), numa_strategy=MOST)
    assert value(world(pod("a", 1), nodes=[alone]), put("a", "0")) == 3


@pytest.mark.parametrize("strategy", [MOST, LEAST, EVEN])
def test_cpus_that_a_node_does_not_have_count_nothing(strategy: NumaStrategy) -> None:
    """
    Any placement has some value, though another rule forbids it.
    """
    assert value(on(strategy, pod("a", 4)), put("a", "90-93")) <= 0


@pytest.mark.parametrize("engine", [Engine.GREEDY, Engine.EXACT])
@pytest.mark.parametrize(
    ("strategy", "cpus", "homes"),
    [
        pytest.param(MOST, 4, ({0},), id="the fullest"),
        pytest.param(MOST, 8, ({1}, {2}), id="the fullest is too small"),
        pytest.param(LEAST, 4, ({1}, {2}), id="the idlest"),
        pytest.param(EVEN, 4, ({0}, {1}, {2}), id="one is enough"),
        pytest.param(EVEN, 16, ({1, 2},), id="two that are free"),
        pytest.param(EVEN, 18, ({0, 1, 2},), id="three thirds"),
    ],
)
def test_a_pod_goes_where_the_strategy_wants_it(
    strategy: NumaStrategy, cpus: int, homes: tuple[set[int], ...], engine: Engine
) -> None:
    """
    Two CPUs of the first NUMA node are taken.
    """
    instance = on(strategy, pod("a", cpus), running="0-1")
    answer = expect(Placed, solve(instance, SolveOptions(engine=engine, workers=1)))

    used = {MACHINE.topology.cpu[cpu].numa_node for cpu in answer.placement.pods[0].cpuset}
    assert used in homes
    assert {t.tier: t.value for t in answer.tiers}[NUMA_STRATEGY] < BEYOND


@pytest.mark.parametrize("strategy", NumaStrategy)
def test_one_numa_node_is_no_choice(strategy: NumaStrategy) -> None:
    """
    Where only one NUMA node has CPUs to give, no strategy has anything against two pods there.
    """
    instance = on(strategy, pod("a", 2), pod("b", 2), reserved="8-23")

    assert value(instance, put("a", "0-1"), put("b", "2-3")) == 0
