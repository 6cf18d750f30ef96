"""Who decides: the pod, then the node, then the scheduler's default, edge by edge (C22)."""

from dataclasses import replace

import pytest

from answers import expect
from judge.hand import MACHINE, pod, put, world
from placer.judge.breaches import breaches
from placer.judge.measure import measure
from placer.search.options import Engine, SolveOptions
from placer.search.solver import solve
from placer_models.cluster import Instance, Machine, Node
from placer_models.defaults import Defaults
from placer_models.goals import (
    ALIGNMENT,
    BIND,
    NUMA_STRATEGY,
    SHARED_CORES,
    SHARED_NUMA_NODES,
    Tier,
)
from placer_models.placement import Infeasible, Placed, Placement, PodPlacement
from placer_models.pod import Pod
from placer_models.policy import (
    AlignmentPolicy,
    BindPolicy,
    ExclusivePolicy,
    NodeBindPolicy,
    NumaStrategy,
    QosClass,
    RequiredOrPreferred,
)
from placer_models.topology import ARM, Topology

FULL, SPREAD = BindPolicy.FULL_PCPUS, BindPolicy.SPREAD_BY_PCPUS
BY_CORE, BY_NUMA = ExclusivePolicy.PCPU_LEVEL, ExclusivePolicy.NUMA_NODE_LEVEL
NO_EXCLUSIVE, NO_ALIGNMENT = ExclusivePolicy.NONE, AlignmentPolicy.NONE
BEST, SINGLE = AlignmentPolicy.BEST_EFFORT, AlignmentPolicy.SINGLE_NUMA_NODE
MOST, LEAST = NumaStrategy.MOST_ALLOCATED, NumaStrategy.LEAST_ALLOCATED

ARM_MACHINE = replace(MACHINE, topology=replace(MACHINE.topology, architecture=ARM))
TWO_NUMA_NODES = Topology("x86_64", MACHINE.topology.cpus[:8], MACHINE.topology.numa_nodes)
"""The CPUs that have a NUMA node."""

EXACT = SolveOptions(engine=Engine.EXACT, workers=1, seed=1)


def under(
    defaults: Defaults,
    *pods: Pod,
    on: Node | None = None,
    running: tuple[tuple[Pod, PodPlacement], ...] = (),
) -> Instance:
    """Return an instance of one node under the defaults of a scheduler."""
    plain = world(*pods, nodes=[on or silent()], running=running)
    return replace(plain, defaults=defaults)


def silent(machine: Machine = MACHINE) -> Node:
    """Return a node that says nothing."""
    return Node("n", machine)


def asks(name: str, cpus: int, **said: object) -> Pod:
    """Return a pod that says only what is given here."""
    plain = pod(name, cpus)
    spec = replace(plain.spec, alignment=None, exclusive=None)
    return replace(plain, spec=replace(spec, **said))


def value(instance: Instance, tier: Tier, *places: PodPlacement) -> int | None:
    """Return the value of a tier of a placement that keeps all rules; None: there is none."""
    placement = Placement(places)
    assert breaches(instance, placement) == ()
    return dict(measure(instance, placement)).get(tier)


WHOLE, ONE_EACH = "0-1", "0,2"
"""Two CPUs: a core, or one thread each of two cores."""


@pytest.mark.parametrize(
    ("said", "of_node", "default", "cost_of_whole", "cost_of_one_each"),
    [
        pytest.param(FULL, NodeBindPolicy.NONE, SPREAD, 0, 2, id="the pod before the default"),
        pytest.param(SPREAD, NodeBindPolicy.NONE, FULL, 1, 0, id="the pod's other word"),
        pytest.param(BindPolicy.DEFAULT, NodeBindPolicy.NONE, SPREAD, 1, 0, id="the default"),
        pytest.param(BindPolicy.DEFAULT, NodeBindPolicy.NONE, FULL, 0, 2, id="the other default"),
        pytest.param(
            BindPolicy.DEFAULT,
            NodeBindPolicy.FULL_PCPUS_ONLY,
            SPREAD,
            0,
            None,
            id="the node before",
        ),
        pytest.param(
            BindPolicy.DEFAULT, NodeBindPolicy.SPREAD_BY_PCPUS, FULL, None, 0, id="the other node"
        ),
        pytest.param(
            SPREAD,
            NodeBindPolicy.FULL_PCPUS_ONLY,
            FULL,
            1,
            None,
            id="the pod's wish on such a node",
        ),
    ],
)
def test_bind_goes_by_the_pod_then_the_node_then_the_default(
    said: BindPolicy,
    of_node: NodeBindPolicy,
    default: BindPolicy,
    cost_of_whole: int | None,
    cost_of_one_each: int | None,
) -> None:
    """
    Two CPUs of a pod on one core and on two; None: the node does not give them so.
    """
    instance = under(
        Defaults(bind=default), asks("a", 2, bind=said), on=replace(silent(), cpu_bind=of_node)
    )

    for cpus, cost in ((WHOLE, cost_of_whole), (ONE_EACH, cost_of_one_each)):
        if cost is None:
            assert breaches(instance, Placement((put("a", cpus),)))
        else:
            assert value(instance, BIND, put("a", cpus)) == cost
    costs = [cost for cost in (cost_of_whole, cost_of_one_each) if cost is not None]
    answer = expect(Placed, solve(instance, EXACT))
    assert {(t.value, t.proven) for t in answer.tiers if t.tier is BIND} == {(min(costs), True)}


@pytest.mark.parametrize("engine", [Engine.GREEDY, Engine.EXACT])
def test_a_default_is_no_wish_on_a_node_with_a_bind_policy(engine: Engine) -> None:
    """
    A node of whole cores costs a silent pod nothing; the other one has a whole core left alone.
    """
    runs = ((pod("r", 6), put("r", "2-7", on="n")),)
    whole = replace(silent(), name="whole", cpu_bind=NodeBindPolicy.FULL_PCPUS_ONLY)
    nodes = [replace(silent(), reserved_cpus=frozenset({8})), whole]
    instance = world(asks("a", 2), nodes=nodes, running=runs)
    answer = solve(replace(instance, defaults=Defaults(bind=SPREAD)), replace(EXACT, engine=engine))

    assert isinstance(answer, Placed)
    assert answer.placement.pods[0].node == "whole"


def test_a_demand_for_default_stays_a_wish() -> None:
    """
    ``Default`` requires nothing, whatever the scheduler's default is.
    """
    plain = asks("a", 2)
    required = replace(plain, spec=replace(pod("a", 2, required=True).spec, alignment=None))

    assert value(under(Defaults(bind=SPREAD), required), BIND, put("a", WHOLE)) == 1


def test_spread_is_no_default_for_arm() -> None:
    """
    Arm has whole cores alone, so a silent pod has a place there, and would like a whole core.
    """
    instance = under(Defaults(bind=SPREAD), asks("a", 2), on=silent(ARM_MACHINE))

    assert value(instance, BIND, put("a", WHOLE)) == 0
    assert value(instance, BIND, put("a", ONE_EACH)) == 2
    assert isinstance(solve(instance, EXACT), Placed)


@pytest.mark.parametrize(
    ("first", "second", "default", "cores", "numa_nodes"),
    [
        pytest.param(None, None, BY_CORE, 1, None, id="the default"),
        pytest.param(None, None, BY_NUMA, 1, 1, id="the default, fallen back"),
        pytest.param(BY_CORE, None, BY_NUMA, 0, 0, id="one pod has another word"),
        pytest.param(BY_NUMA, BY_NUMA, BY_CORE, 1, 1, id="both have another word"),
        pytest.param(NO_EXCLUSIVE, None, BY_CORE, 0, None, id="one pod wants none"),
        pytest.param(NO_EXCLUSIVE, NO_EXCLUSIVE, BY_CORE, None, None, id="both want none"),
        pytest.param(None, None, NO_EXCLUSIVE, None, None, id="there is no default"),
    ],
)
def test_exclusivity_goes_by_the_pod_then_the_default(
    first: ExclusivePolicy | None,
    second: ExclusivePolicy | None,
    default: ExclusivePolicy,
    cores: int | None,
    numa_nodes: int | None,
) -> None:
    """
    Two pods on one core: how many cores and NUMA nodes they share against their policies.
    """
    pods = asks("a", 1, exclusive=first), asks("b", 1, exclusive=second)
    instance = under(Defaults(exclusive=default), *pods)
    places = put("a", "0"), put("b", "1")

    assert value(instance, SHARED_CORES, *places) == cores
    assert value(instance, SHARED_NUMA_NODES, *places) == numa_nodes


def test_a_running_pod_counts_by_the_default_too() -> None:
    """
    A new pod beside it shares a core; beside one that wants no policy it does not.
    """
    for exclusive, cores in ((None, 1), (NO_EXCLUSIVE, 0)):
        runs = asks("r", 1, exclusive=exclusive), put("r", "0")
        instance = under(Defaults(exclusive=BY_CORE), asks("a", 1), running=(runs,))

        assert value(instance, SHARED_CORES, put("a", "1")) == cores


def test_a_default_is_held_against_who_requires_the_same() -> None:
    """
    A silent pod counts as PCPULevel, so it may not be on the core of one that demands it.
    """
    strict = asks("r", 1, exclusive=BY_CORE, exclusive_strength=RequiredOrPreferred.REQUIRED)
    runs = ((strict, put("r", "0")),)

    for default, broken in ((BY_CORE, {"exclusive-cores"}), (NO_EXCLUSIVE, set())):
        instance = under(Defaults(exclusive=default), asks("a", 1), running=runs)

        assert {b.rule for b in breaches(instance, Placement((put("a", "1"),)))} == broken


def test_pcpu_level_is_no_default_for_arm() -> None:
    """
    Arm takes NUMANodeLevel alone: by default nobody is apart there, and nobody is kept off.
    """
    pods = asks("a", 1), asks("b", 1)
    places = put("a", "0"), put("b", "1")
    arm = silent(ARM_MACHINE)

    assert value(under(Defaults(exclusive=BY_CORE), *pods, on=arm), SHARED_CORES, *places) is None
    assert value(under(Defaults(exclusive=BY_NUMA), *pods, on=arm), SHARED_NUMA_NODES, *places) == 1


def test_on_arm_alone_the_default_counts_for_nobody() -> None:
    """
    Of two nodes, silent pods that share a core on x86 cost one core, those on Arm none.
    """
    nodes = [silent(), replace(silent(ARM_MACHINE), name="arm")]
    pods = [asks(name, 1) for name in "abcd"]
    instance = replace(world(*pods, nodes=nodes), defaults=Defaults(exclusive=BY_CORE))
    places = put("a", "0"), put("b", "1"), put("c", "0", on="arm"), put("d", "1", on="arm")

    assert value(instance, SHARED_CORES, *places) == 1


def test_on_arm_the_solver_keeps_nobody_apart_by_default() -> None:
    """
    Two silent pods share a core there, which leaves three whole; the x86 node is closed.
    """
    topology = replace(TWO_NUMA_NODES, architecture=ARM)
    arm = silent(replace(MACHINE, topology=topology))
    nodes = [arm, replace(silent(), name="closed", cordoned=True)]
    instance = replace(
        world(asks("a", 1), asks("b", 1), nodes=nodes), defaults=Defaults(exclusive=BY_CORE)
    )
    answer = expect(Placed, solve(instance, EXACT))

    assert len({min(place.cpuset) // 2 for place in answer.placement.pods}) == 1


def test_a_default_is_named_as_the_reason() -> None:
    """
    The one core that is left is kept by a pod that demands it.
    """
    strict = asks("r", 1, exclusive=BY_CORE, exclusive_strength=RequiredOrPreferred.REQUIRED)
    on = replace(silent(), reserved_cpus=frozenset(range(2, 9)))
    instance = under(
        Defaults(exclusive=BY_CORE), asks("a", 1), on=on, running=((strict, put("r", "0")),)
    )
    answer = expect(Infeasible, solve(instance, EXACT))

    assert "exclusive-cores" in answer.unplaced[0].reasons[0]


@pytest.mark.parametrize(
    ("said", "of_node", "default", "broken", "beyond"),
    [
        pytest.param(None, None, SINGLE, True, None, id="the default"),
        pytest.param(None, None, BEST, False, 1, id="the other default"),
        pytest.param(BEST, None, SINGLE, False, 1, id="the pod before the default"),
        pytest.param(None, BEST, SINGLE, False, 1, id="the node before the default"),
        pytest.param(SINGLE, None, BEST, True, None, id="the pod's stricter word"),
        pytest.param(None, SINGLE, BEST, True, None, id="the node's stricter word"),
        pytest.param(BEST, BEST, SINGLE, False, 1, id="both agree against the default"),
        pytest.param(BEST, SINGLE, BEST, True, None, id="both conflict, whatever the default"),
        pytest.param(NO_ALIGNMENT, None, SINGLE, False, 0, id="the pod wants none"),
        pytest.param(None, NO_ALIGNMENT, SINGLE, False, 0, id="the node wants none"),
        pytest.param(NO_ALIGNMENT, SINGLE, BEST, True, None, id="none leaves it to the node"),
        pytest.param(SINGLE, NO_ALIGNMENT, BEST, True, None, id="none leaves it to the pod"),
    ],
)
def test_alignment_goes_by_the_pod_then_the_node_then_the_default(
    said: AlignmentPolicy | None,
    of_node: AlignmentPolicy | None,
    default: AlignmentPolicy,
    broken: bool,
    beyond: int | None,
) -> None:
    """
    Two CPUs of two NUMA nodes: whether that breaks the rule, and what it costs in the tier.
    """
    on = replace(silent(), alignment=of_node)
    instance = under(Defaults(alignment=default), asks("a", 2, alignment=said), on=on)
    across = Placement((put("a", "0,4"),))

    assert {b.rule for b in breaches(instance, across)} == ({"alignment"} if broken else set())
    if not broken:
        assert value(instance, ALIGNMENT, *across.pods) == beyond


def test_a_default_keeps_nobody_off_a_node_with_another_word() -> None:
    """
    Only the words of pod and node can conflict: the default decides where both are silent.
    """
    for of_node, default in ((SINGLE, BEST), (BEST, SINGLE)):
        on = replace(silent(), alignment=of_node)
        instance = under(Defaults(alignment=default), asks("a", 2), on=on)

        assert isinstance(solve(instance, EXACT), Placed)


def test_a_default_binds_pods_of_the_pools() -> None:
    """
    Under SingleNUMANode an LS pod runs in the pool of one NUMA node (C12).
    """
    web = replace(asks("a", 1), spec=replace(asks("a", 1).spec, qos=QosClass.LS))
    answer = expect(Placed, solve(under(Defaults(alignment=SINGLE), web), EXACT))

    (place,) = answer.placement.pods
    assert place.cpuset in ({0, 1, 2, 3}, {4, 5, 6, 7})


@pytest.mark.parametrize(
    ("of_node", "default", "cost"),
    [
        pytest.param(None, MOST, 0, id="the default"),
        pytest.param(None, LEAST, 1, id="the other default"),
        pytest.param(MOST, LEAST, 0, id="the node before the default"),
        pytest.param(LEAST, MOST, 1, id="the node's other word"),
        pytest.param(None, None, None, id="nobody"),
    ],
)
def test_the_strategy_goes_by_the_node_then_the_default(
    of_node: NumaStrategy | None, default: NumaStrategy | None, cost: int | None
) -> None:
    """
    A CPU beside a running one: there MostAllocated wants it, and LeastAllocated does not.
    """
    machine = replace(MACHINE, topology=TWO_NUMA_NODES)
    on = replace(silent(machine), numa_strategy=of_node)
    runs = ((asks("r", 1), put("r", "0")),)
    instance = under(Defaults(numa_strategy=default), asks("a", 1), on=on, running=runs)

    assert value(instance, NUMA_STRATEGY, put("a", "2")) == cost
    if cost is not None:
        answer = expect(Placed, solve(instance, EXACT))
        assert (min(answer.placement.pods[0].cpuset) < 4) == (cost == 0)


def test_defaults_of_an_instance_are_those_of_all_its_nodes() -> None:
    """
    They stay when nodes are replaced, and can be taken back.
    """
    instance = under(Defaults(bind=SPREAD), asks("a", 2))

    assert instance.nodes[0].defaults == instance.common_defaults == Defaults(bind=SPREAD)
    assert replace(instance, nodes=(silent(),)).common_defaults == Defaults(bind=SPREAD)
    assert replace(instance, defaults=Defaults()).common_defaults == Defaults()


def test_a_default_is_of_its_type() -> None:
    """
    As with every word: a text in place of a policy is refused at once.
    """
    with pytest.raises(TypeError, match="Defaults: alignment is 'SingleNUMANode'"):
        Defaults(alignment="SingleNUMANode")
