"""Pods that care who is on their cores and NUMA nodes, part by part and call by call (C18)."""

from dataclasses import replace

import pytest

from features.in_node_affinity import in_node_affinity_instance
from judge.cases_affinity import DB as LS_DB
from judge.cases_affinity import on
from judge.cases_in_node_affinity import BY_DB, FAR_FROM_DB, NEAR_DB, NODES, OFF_DB, TWO_DB, owner
from judge.hand import node, put
from placer.judge.breaches import breaches
from placer.judge.measure import is_better, measure
from placer.scheduler import Scheduler
from placer.scheduling.decision import Batch, Decision, lone_gang
from placer.scheduling.errors import ContradictionError
from placer.scheduling.refusal import Refusal
from placer.search.options import Engine, SolveOptions
from placer.search.outside_witnesses import nodes_hosting_lonely_pods, outside_pods_that_match
from placer_models.affinity import AffinityTerm
from placer_models.cluster import RunningPod
from placer_models.pod import Pod
from placer_models.policy import QosClass
from search.by_parts import answer

FIRST = owner("first", 2, "db", NEAR_DB)


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
        assert not is_better(measure(instance, greedy), measure(instance, found))


def test_a_part_knows_who_owns_cpus_beyond_it() -> None:
    """
    A witness owns CPUs as the pod it stands for does; who owns none is no witness.
    """
    nodes = [node("n"), node("m")]
    first = RunningPod(FIRST, put("first", "0,2"))
    other = RunningPod(TWO_DB, put("db", "0,2", on="m"))
    floating = RunningPod(LS_DB, on("db", "n"))
    gangs = [lone_gang(owner("second", 1, "db", NEAR_DB))]

    assert nodes_hosting_lonely_pods([first], [first, floating]) == {"n"}
    assert (
        nodes_hosting_lonely_pods([first], [first, RunningPod(TWO_DB, put("db", "1,3"))]) == set()
    )
    (witness,) = outside_pods_that_match([floating, other], {"k"}, gangs, nodes)
    assert witness.pod.key == TWO_DB.key
    assert witness.pod.spec.qos is QosClass.LSR
    assert outside_pods_that_match([floating], {"k"}, gangs, nodes) == []


def placing(scheduler: Scheduler, pod: Pod, *, dry_run: bool = False) -> Decision:
    options = SolveOptions(workers=1, seed=1)
    return scheduler.place(Batch((lone_gang(pod),)), 30, dry_run, options)


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
        for pod, name in ((FIRST, "n"), (TWO_DB, "m"))
    )
    scheduler = Scheduler(nodes)
    decision = placing(scheduler, first, dry_run=True)
    placing(scheduler, other)
    refusal = scheduler.confirm(decision)

    assert isinstance(refusal, Refusal)
    assert refusal.gone == ()
    assert [one.name for one in refusal.unplaced] == [first.name]
    assert "affinity" in refusal.message


def test_a_pod_without_cpus_of_its_own_is_beside_nobody() -> None:
    """
    Such a term would say nothing, so it is refused.
    """
    floating = replace(FIRST, spec=replace(FIRST.spec, qos=QosClass.LS))

    with pytest.raises(ContradictionError, match="needs CPUs of its own: qos LSE or LSR"):
        placing(Scheduler(NODES), floating)
