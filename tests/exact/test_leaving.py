"""Running pods in breach of a rule: who stays is not blamed, who moves obeys all.

The rest is placed around them, as by brute force.
"""

from collections.abc import Callable
from dataclasses import replace
from random import Random

import pytest

from answers import expect
from exact.family_worlds import leaving_instance
from exact.test_moves import exactly
from exact_checks import check_worlds
from features.misfits import with_misfits
from judge.hand import gang, node, placed, pod, put, world
from moving_worlds import crowded, tied_crowd, tied_instance
from placer.judge.breaches import breaches
from placer.judge.misfits import misfits_of_instance
from placer.search.options import Engine, SolveOptions
from placer.search.solver import solve
from placer_models.affinity import AffinityTerm
from placer_models.cluster import Instance, RunningPod
from placer_models.goals import MOVES
from placer_models.network import GangNetworkLevelRule, GangNetworkLevelRuleKind
from placer_models.placement import Infeasible, Placed
from placer_models.pod import PodSpec
from placer_models.policy import (
    AlignmentPolicy,
    BindPolicy,
    ExclusivePolicy,
    NodeBindPolicy,
    QosClass,
    RequiredOrPreferred,
)

Change = Callable[[Instance], Instance]


def in_the_way(cpus: str = "0,2,4") -> Instance:
    """Return two nodes: the pod that waits fits the first once ``r`` has left for the second."""
    runners = (
        RunningPod(pod("r", 3), put("r", cpus)),
        RunningPod(pod("s", 4), put("s", "0-3", on="m"), movable=False),
    )
    waiting = world(pod("large", 7), nodes=[node("n"), node("m", labels={"zone": "b"})])
    return replace(waiting, running=runners, move_budget=1)


def of_r(**changes: object) -> Change:
    """Let the pod in the way ask for more than where it runs may give."""

    def change(instance: Instance) -> Instance:
        first, *others = instance.running
        spec = replace(first.pod.spec, **changes)
        return replace(
            instance, running=(replace(first, pod=replace(first.pod, spec=spec)), *others)
        )

    return change


def of_node(**changes: object) -> Change:
    """Let its node be below what runs there."""

    def change(instance: Instance) -> Instance:
        first, *others = instance.nodes
        return replace(
            instance,
            nodes=(replace(first, **changes), *others),
        )

    return change


def beside_its_like(instance: Instance) -> Instance:
    """Let one run there that it keeps away from."""
    apart = AffinityTerm((("app", "x"),), apart=True)
    other = RunningPod(
        pod("t", 0, labels={"app": "x"}, qos=QosClass.BE), put("t", "0-8"), movable=False
    )
    changed = of_r(affinity=(apart,))(instance)
    return replace(changed, running=(*changed.running, other))


REQUIRED = RequiredOrPreferred.REQUIRED

BREACHES: dict[str, Change] = {
    "cpu-allocatable": of_node(reserved_cpus=frozenset({0})),
    "node-selector": of_r(node_selector=(("zone", "b"),)),
    "alignment": of_r(alignment=AlignmentPolicy.SINGLE_NUMA_NODE),
    "cpu-bind": of_r(qos=QosClass.LSE, bind=BindPolicy.SPREAD_BY_PCPUS, bind_strength=REQUIRED),
    "node-cpu-bind": of_node(cpu_bind=NodeBindPolicy.FULL_PCPUS_ONLY),
    "anti-affinity": beside_its_like,
}
"""The rule that a pod breaks -> what makes it."""


def breaking(rule: str) -> Instance:
    return BREACHES[rule](in_the_way("0-2" if rule == "cpu-bind" else "0,2,4"))


@pytest.mark.parametrize("rule", BREACHES)
def test_who_breaks_a_rule_moves_where_that_makes_room(rule: str) -> None:
    """
    The answer names the rule that the move mends, and is proven.
    """
    answer = expect(Placed, exactly(breaking(rule)))

    assert [(m.home.name, m.home.node, m.mends) for m in answer.moves] == [("r", "n", (rule,))]
    assert {t.tier: t.value for t in answer.tiers}[MOVES] == 1
    assert all(value.proven for value in answer.tiers)
    assert breaches(breaking(rule), answer.placement) == ()


@pytest.mark.parametrize("rule", BREACHES)
def test_nobody_moves_for_mending_alone(rule: str) -> None:
    """
    A small pod has room as it is, and who is in breach stays and is not blamed.
    """
    instance = replace(breaking(rule), gangs=world(pod("small", 1)).gangs)

    answer = expect(Placed, exactly(instance))

    assert answer.moves == ()
    assert breaches(instance, answer.placement) == ()


@pytest.mark.parametrize("rule", BREACHES)
def test_who_breaks_a_rule_stays_without_a_budget(rule: str) -> None:
    """
    Or where it is said not to be movable.
    """
    instance = breaking(rule)
    first, *others = instance.running
    pinned = replace(instance, running=(replace(first, movable=False), *others))

    assert isinstance(exactly(replace(instance, move_budget=0)), Infeasible)
    assert isinstance(exactly(pinned), Infeasible)


def test_who_moves_obeys_the_rule_that_it_broke() -> None:
    """
    Where no node of its zone has room, it stays.
    """
    instance = breaking("node-selector")
    nodes = (instance.nodes[0], replace(instance.nodes[1], labels=(("zone", "c"),)))

    assert isinstance(exactly(replace(instance, nodes=nodes)), Infeasible)
    moved = placed(put("r", "4-6", on="m"), put("large", "0-6"))
    found = breaches(replace(instance, nodes=nodes), moved)
    assert [(breach.rule, breach.subject) for breach in found] == [("node-selector", "r")]


def test_a_pod_is_laid_anew_on_its_own_node() -> None:
    """
    It is split over two NUMA nodes of which one is wanted whole: there it is a breach, and mended.
    """
    split = RunningPod(pod("r", 2, alignment=AlignmentPolicy.SINGLE_NUMA_NODE), put("r", "0,4"))
    waiting = pod("a", 4, alignment=AlignmentPolicy.SINGLE_NUMA_NODE)
    instance = replace(world(waiting), running=(split,), move_budget=1)

    answer = expect(Placed, exactly(instance))

    ((home, place, mends),) = answer.moves
    assert (home.node, place.node, mends) == ("n", "n", ("alignment",))


def test_a_pool_that_is_too_full_is_left() -> None:
    """
    An LS pod asks for more than owners leave it; the pod that waits would take more of it.
    """
    runners = (
        RunningPod(pod("r", 5, qos=QosClass.LS), put("r", "5-8")),
        RunningPod(pod("o", 5), put("o", "0-4"), movable=False),
        RunningPod(pod("s", 1, gpus=1), put("s", "0", on="m", gpus=[0]), movable=False),
    )
    waiting = world(pod("large", 2, gpus=4), nodes=[node("n"), node("m")])
    instance = replace(waiting, running=runners, move_budget=1)

    answer = expect(Placed, exactly(instance))

    assert [(m.home.name, m.mends) for m in answer.moves] == [("r", ("shared-pool",))]


def test_who_leaves_a_broken_device_gets_another() -> None:
    """
    A pod on a broken GPU is in the way of one that wants CPUs.
    """
    instance = in_the_way()
    first, second = instance.running
    asked = replace(first, pod=pod("r", 3, gpus=1), placement=put("r", "0,2,4", gpus=[0]))
    nodes = (node("n", broken_gpus=[0]), instance.nodes[1])

    answer = expect(Placed, exactly(replace(instance, nodes=nodes, running=(asked, second))))

    ((home, place, mends),) = answer.moves
    assert (home.name, place.node, mends) == ("r", "m", ("device-health",))


def test_of_two_that_disturb_each_other_one_may_stay() -> None:
    """
    Both require a core of their own, and share one. One leaves; the other has it alone.
    """
    instance = in_the_way()
    spec = PodSpec(
        pod("x", 1).spec.containers,
        qos=QosClass.LSR,
        exclusive=ExclusivePolicy.PCPU_LEVEL,
        exclusive_strength=REQUIRED,
    )
    pair = tuple(
        RunningPod(replace(pod(name, 1), spec=spec), put(name, cpu))
        for name, cpu in (("x", "0"), ("y", "1"))
    )
    waiting = world(pod("large", 8), nodes=instance.nodes).gangs
    instance = replace(instance, gangs=waiting, running=(*pair, instance.running[1]))

    answer = expect(Placed, exactly(instance))

    assert [m.mends for m in answer.moves] == [("exclusive-cores",)]
    assert breaches(instance, answer.placement) == ()


def test_who_stays_in_breach_still_keeps_others_away() -> None:
    """
    A newcomer may not have the rest of a core that a pod requires for itself.
    """
    instance = in_the_way()
    first, second = instance.running
    keeping = replace(
        first.pod.spec,
        exclusive=ExclusivePolicy.PCPU_LEVEL,
        exclusive_strength=REQUIRED,
        node_selector=(("zone", "z"),),
    )
    wish = replace(pod("a", 1).spec, exclusive=ExclusivePolicy.PCPU_LEVEL)
    runner = replace(first, pod=replace(first.pod, spec=keeping))
    instance = replace(
        instance,
        gangs=world(replace(pod("a", 1), spec=wish)).gangs,
        running=(runner, second),
    )

    found = breaches(instance, placed(put("a", "1")))

    assert [breach.rule for breach in found] == ["exclusive-cores"]
    assert breaches(instance, placed(put("a", "6"))) == ()


def test_a_gang_that_is_torn_apart_comes_together_where_that_makes_room() -> None:
    """
    Its members were to be on one node. One joins the other, which stays; two would be no fewer.
    """
    instance = tied_crowd(
        "bc", crowded(2), GangNetworkLevelRule("node", GangNetworkLevelRuleKind.GATHER)
    )

    answer = expect(Placed, exactly(instance))

    assert [(m.home.name, m.place.node, m.mends) for m in answer.moves] == [("c", "n", ("gather",))]


def test_a_pod_on_a_cordoned_node_may_leave_it() -> None:
    """
    It is wanted elsewhere by one whose first kind it is.
    """
    beside = AffinityTerm((("app", "db"),))
    runner = RunningPod(pod("r", 1, labels={"app": "db"}), put("r", "0"))
    nodes = [node("n", cordoned=True), node("m")]
    waiting = world(pod("a", 1, affinity=[beside]), nodes=nodes)

    answer = expect(Placed, exactly(replace(waiting, running=(runner,), move_budget=1)))

    assert [(m.place.node, m.mends) for m in answer.moves] == [("m", ("cordon",))]


def test_many_in_breach_and_a_budget_for_few() -> None:
    """
    Six pods outside their zone: two moves empty no node, three do, if they have room there.
    """
    runners = tuple(
        RunningPod(
            pod(f"r{i}", 1, selector={"zone": "b"}), put(f"r{i}", str(i % 3), on="nm"[i % 2])
        )
        for i in range(6)
    )
    nodes = [node("n"), node("m"), node("far", labels={"zone": "b"}, reserved="0-7")]
    instance = replace(world(pod("large", 9), nodes=nodes), running=runners, move_budget=2)

    assert isinstance(exactly(instance), Infeasible)
    assert isinstance(exactly(replace(instance, move_budget=3)), Infeasible)
    roomy = (*nodes[:2], node("far", labels={"zone": "b"}, reserved="0-5"))
    answer = expect(Placed, exactly(replace(instance, nodes=roomy, move_budget=3)))
    assert [move.mends for move in answer.moves] == [("node-selector",)] * 3


def test_the_default_engine_moves_who_breaks_a_rule() -> None:
    """
    A gang of three that waits is placed whole where one in breach moves.
    """
    instance = breaking("cpu-allocatable")
    trio = gang("g", *(pod(f"g{i}", 2) for i in range(3)), minimum=3)
    options = SolveOptions(engine=Engine.AUTO, workers=1, seed=1, work_limit=20)

    assert isinstance(solve(replace(instance, gangs=(trio,), move_budget=1), options), Placed)


def misfit_instance(seed: int) -> Instance:
    """Draw a world with moves, in which CPUs of owners are reserved and pools too full."""
    return with_misfits(Random(f"misfits-{seed}"), tied_instance(seed))


@pytest.mark.parametrize("batch", range(10))
def test_worlds_with_misfits_are_solved_as_by_brute_force(batch: int) -> None:
    """
    On 100 worlds, most of them with running pods that could not come to where they are.
    """
    assert any(misfits_of_instance(misfit_instance(seed)) for seed in range(batch, batch + 100, 10))
    check_worlds(misfit_instance, batch, 10, 10)


@pytest.mark.parametrize("batch", range(10))
def test_worlds_in_which_misfits_may_move(batch: int) -> None:
    """
    On 20 worlds, most of them with running pods that break a rule where they are.
    """
    assert any(misfits_of_instance(leaving_instance(seed)) for seed in range(batch, batch + 20))
    check_worlds(leaving_instance, batch, 10, 2)
