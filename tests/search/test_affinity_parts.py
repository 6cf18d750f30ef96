"""Pods that care who is beside them, where a search goes part by part, and call by call (C18).

Beside them is on their node, or on their cores and NUMA nodes.
"""

from dataclasses import replace
from random import Random

import pytest

from answers import expect
from features.in_node_affinity import in_node_affinity_instance
from judge.cases_affinity import (
    ALOOF,
    DB,
    FIRST,
    NODES,
    OTHER_DB,
    SECOND,
    SHY,
    WEB,
    WITH_DB,
    app,
    on,
)
from judge.cases_affinity import DB as LS_DB
from judge.cases_in_node_affinity import BY_DB, FAR_FROM_DB, NEAR_DB, OFF_DB, TWO_DB, owner
from judge.hand import gang, node, placed, put, world
from placer.judge.breaches import breaches
from placer.judge.measure import are_tier_values_better, measure
from placer.scheduler import Scheduler
from placer.scheduling.decision import Batch, Decision
from placer.scheduling.errors import ContradictionError
from placer.scheduling.refusal import Refusal
from placer.search.budget import SolveBudget
from placer.search.neighbourhoods import NeighbourhoodSearch
from placer.search.options import Engine, SolveOptions
from placer.search.outside_witnesses import (
    nodes_of_pods_without_company,
    witness_pods_on_outside_nodes,
)
from placer_models.affinity import AffinityTerm
from placer_models.cluster import RunningPod
from placer_models.network import GangNetworkLevelRule, GangNetworkLevelRuleKind
from placer_models.pod import Pod, lone_gang
from placer_models.policy import QosClass, RequiredOrPreferred
from search.by_parts import answer


def test_a_part_knows_what_is_beyond_it() -> None:
    """
    A lonely first belongs to every part; a pod of its kind elsewhere comes as a witness.
    """
    nodes = [node("n"), node("m")]
    first = RunningPod(FIRST, on("first", "n"))
    other = RunningPod(DB, on("db", "m"))
    gangs = [lone_gang(SECOND)]

    assert nodes_of_pods_without_company([first], [first]) == {"n"}
    assert nodes_of_pods_without_company([first], [first, RunningPod(DB, on("db", "n"))]) == set()
    assert nodes_of_pods_without_company([other], [first, other]) == set()
    assert [w.pod.key for w in witness_pods_on_outside_nodes([other], {"n"}, gangs, nodes)] == [
        DB.key
    ]
    assert witness_pods_on_outside_nodes([other], {"m"}, gangs, nodes) == []
    assert witness_pods_on_outside_nodes([other], {"n"}, [lone_gang(WEB)], nodes) == []


def test_a_pod_that_stays_in_a_part_keeps_its_company() -> None:
    """
    A member of a gang that spreads beyond the part runs there as others do; whom it needs
    would rather be on the other node, and no wish is worth that.
    """
    spread = GangNetworkLevelRule("rack", GangNetworkLevelRuleKind.SPREAD, count=1)
    racks = [replace(node(name), domains=(("rack", name),)) for name in ("n", "m", "far")]
    needy = app("needy", "web", WITH_DB)
    longing = app(
        "db", "db", replace(AffinityTerm((("app", "old"),)), strength=RequiredOrPreferred.PREFERRED)
    )
    instance = world(
        gang("g", needy, app("beyond", "web"), levels=[spread]),
        longing,
        nodes=racks,
        running=[(app("old", "old"), on("old", "m"))],
    )
    start = placed(
        replace(on("needy", "n"), gang="g"),
        replace(on("beyond", "far"), gang="g"),
        on("db", "n"),
    )
    worth = measure(instance, start)
    search = NeighbourhoodSearch(
        instance,
        start,
        [tier for tier, _ in worth],
        [value for _, value in worth],
        [None] * len(worth),
        SolveBudget(SolveOptions(workers=1, seed=1)),
        Random(1),
        size=3,
    )
    for names in ({"n", "m"}, {"n", "m", "far"}):
        search.solve_part(names, [])  # the part that matters, not one by chance

        assert breaches(instance, search.placement) == ()


@pytest.mark.parametrize("engine", [Engine.GREEDY, Engine.EXACT])
@pytest.mark.parametrize(
    ("pods", "placed"),
    [
        ((WEB,), 0),
        ((WEB, DB), 2),
        ((FIRST,), 1),
        ((FIRST, SECOND, OTHER_DB), 3),
        ((SHY, DB), 2),
        ((ALOOF, OTHER_DB, DB), 3),
        ((ALOOF, replace(ALOOF, name="also"), replace(ALOOF, name="third")), 2),
    ],
)
def test_both_engines_place_who_can_be_together(
    engine: Engine, pods: tuple[Pod, ...], placed: int
) -> None:
    """
    Two nodes: who needs company comes after it, and who keeps apart has a node for itself.
    """
    instance = world(*pods, nodes=NODES)
    found = answer(instance, engine)

    assert breaches(instance, found) == ()
    assert len(found.pods) == placed


def test_only_the_exact_search_places_two_that_need_each_other() -> None:
    """
    Neither can come first, so the fast path has no place for them.
    """
    left = app("left", "left", AffinityTerm((("app", "right"),)))
    right = app("right", "right", AffinityTerm((("app", "left"),)))
    instance = world(left, right, nodes=NODES)

    assert len(answer(instance, Engine.EXACT).pods) == 2
    assert answer(instance, Engine.GREEDY).pods == ()


def placing(scheduler: Scheduler, pod: Pod, *, dry_run: bool = False) -> Decision:
    options = SolveOptions(workers=1, seed=1)
    return scheduler.place(Batch((lone_gang(pod),)), 30, dry_run, options)


def test_a_scheduler_keeps_affinity_from_batch_to_batch() -> None:
    """
    Later pods find their company, and keep away from it and from who keeps away.
    """
    scheduler = Scheduler(NODES)
    db = placing(scheduler, DB).placement.pods[0]

    assert placing(scheduler, WEB).placement.pods[0].node == db.node
    assert placing(scheduler, SHY).placement.pods[0].node != db.node
    assert placing(scheduler, OTHER_DB).placement.pods[0].node == db.node
    assert placing(scheduler, ALOOF).placement.pods == ()
    assert scheduler.misfits() == ()


def test_a_first_of_its_kind_is_refused_once_there_is_another() -> None:
    """
    Its node is as it was, but it would no longer be alone in the cluster.
    """
    names = ("n", "m")
    scheduler = Scheduler(node(name, labels={"host": name}) for name in names)
    first, other = (
        replace(pod, spec=replace(pod.spec, node_selector=(("host", name),)))
        for pod, name in zip((FIRST, DB), names, strict=True)
    )
    decision = placing(scheduler, first, dry_run=True)
    assert len(decision.placement.pods) == len(placing(scheduler, other).placement.pods) == 1

    refusal = expect(Refusal, scheduler.confirm(decision))

    assert refusal.gone == ()
    assert [one.name for one in refusal.unplaced] == [first.name]
    assert "affinity" in refusal.message


FIRST_OWNER = owner("first", 2, "db", NEAR_DB)


@pytest.mark.check
@pytest.mark.usefixtures("parts_only")
def test_parts_keep_pods_together_and_apart_and_never_lose() -> None:
    """
    Two nodes of three at a time: who is beyond them keeps others from being the first.
    """
    for seed in range(30):
        instance = in_node_affinity_instance(seed)
        nodes = (*instance.nodes, replace(instance.nodes[0], name="more"))
        instance = replace(instance, nodes=nodes)
        found = answer(instance, Engine.AUTO)
        greedy = answer(instance, Engine.GREEDY)

        assert breaches(instance, found) == ()
        assert not are_tier_values_better(measure(instance, greedy), measure(instance, found))


def test_a_part_knows_who_owns_cpus_beyond_it() -> None:
    """
    A witness owns CPUs as the pod it stands for does; who owns none is no witness.
    """
    nodes = [node("n"), node("m")]
    first = RunningPod(FIRST_OWNER, put("first", "0,2"))
    other = RunningPod(TWO_DB, put("db", "0,2", on="m"))
    floating = RunningPod(LS_DB, on("db", "n"))
    gangs = [lone_gang(owner("second", 1, "db", NEAR_DB))]

    assert nodes_of_pods_without_company([first], [first, floating]) == {"n"}
    assert (
        nodes_of_pods_without_company([first], [first, RunningPod(TWO_DB, put("db", "1,3"))])
        == set()
    )
    (witness,) = witness_pods_on_outside_nodes([floating, other], {"k"}, gangs, nodes)
    assert witness.pod.key == TWO_DB.key
    assert witness.pod.spec.qos is QosClass.LSR
    assert witness_pods_on_outside_nodes([floating], {"k"}, gangs, nodes) == []


@pytest.mark.parametrize("term", [BY_DB, NEAR_DB])
def test_a_scheduler_knows_who_is_on_which_cores(term: AffinityTerm) -> None:
    """
    A consumer comes to the CPUs beside its producer's, also after a restart; once the
    producer is gone nobody may come, and its accounts are as they were.
    """
    scheduler = Scheduler(NODES)
    empty = scheduler.account_of("n")
    assert placing(scheduler, owner("a", 1, "web", term)).placement.pods == ()
    producer = placing(scheduler, TWO_DB).placement.pods[0]
    restored = Scheduler.restore(scheduler.snapshot())
    for one in (scheduler, restored):
        consumer = placing(one, owner("a", 1, "web", term)).placement.pods[0]
        assert consumer.node == producer.node
        assert min(consumer.cpuset) ^ 1 in producer.cpuset or term is NEAR_DB

        one.release([("default", "db"), ("default", "a")])
        assert placing(one, owner("b", 1, "web", term)).placement.pods == ()
        assert one.account_of("n") == empty


@pytest.mark.parametrize("term", [OFF_DB, FAR_FROM_DB])
def test_a_scheduler_keeps_pods_apart_from_call_to_call(term: AffinityTerm) -> None:
    """
    Four cores, of which each pod takes two, in two NUMA nodes: room for two pods.
    """
    scheduler = Scheduler(NODES[:1])
    placed = [
        bool(placing(scheduler, owner(f"a{i}", 2, "db", term)).placement.pods) for i in range(5)
    ]

    assert placed == [True, True, False, False, False]
    assert scheduler.misfits() == ()


def test_a_decision_is_refused_once_a_first_of_its_kind_is_not_the_first() -> None:
    """
    Its node is as it was, but another of its kind owns CPUs elsewhere by now.
    """
    nodes = [replace(node, labels=(("host", node.name),)) for node in NODES]
    first, other = (
        replace(pod, spec=replace(pod.spec, node_selector=(("host", name),)))
        for pod, name in ((FIRST_OWNER, "n"), (TWO_DB, "m"))
    )
    scheduler = Scheduler(nodes)
    decision = placing(scheduler, first, dry_run=True)
    placing(scheduler, other)
    refusal = expect(Refusal, scheduler.confirm(decision))

    assert refusal.gone == ()
    assert [one.name for one in refusal.unplaced] == [first.name]
    assert "affinity" in refusal.message


def test_a_pod_without_cpus_of_its_own_is_beside_nobody() -> None:
    """
    Such a term would say nothing, so it is refused.
    """
    floating = replace(FIRST_OWNER, spec=replace(FIRST_OWNER.spec, qos=QosClass.LS))

    with pytest.raises(ContradictionError, match="needs CPUs of its own: qos LSE or LSR"):
        placing(Scheduler(NODES), floating)
