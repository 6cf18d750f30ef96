"""Nodes come, change and go; pods keep their places."""

from dataclasses import replace
from typing import Any

import pytest

from placer.greedy.scorer import NodeScoringMethod
from placer.greedy.scorers.best_fit import BestFitScoring
from placer.scheduler import Scheduler
from placer.scheduling.decision import ClusterChange
from placer.scheduling.errors import (
    ContradictionError,
    NodeExistsError,
    NodeInUseError,
    PodAlreadyRunningError,
    UnknownNodeError,
    UnknownPodError,
)
from placer.search.options import Engine, SolveOptions
from placer_models.cluster import Node
from placer_models.device import GPU
from placer_models.placement import Infeasible, Placed
from placer_models.policy import AlignmentPolicy, QosClass
from scheduler.cluster import (
    BOX,
    DEADLINE_S,
    EXACT,
    GIB,
    QUICK,
    batch,
    check_fresh_count,
    key,
    machine,
    pod,
    running,
)

NODE = Node("n0", BOX)


def with_one() -> Scheduler:
    """Return a node on which a pod of 4 CPUs, 2 GPUs and 2 GiB runs, and an LS pod."""
    scheduler = Scheduler([NODE])
    pods = pod("a", 4, gpus=2, gib=2), pod("web", 1, QosClass.LS)
    assert isinstance(scheduler.place(batch(*pods), DEADLINE_S, options=QUICK).answer, Placed)
    return scheduler


def test_a_new_node_takes_pods() -> None:
    """
    What did not fit fits once a node is added.
    """
    scheduler = Scheduler()
    wanted = batch(pod("a", 4))
    assert isinstance(scheduler.place(wanted, DEADLINE_S, options=EXACT).answer, Infeasible)

    assert scheduler.add_node(NODE) == ClusterChange(version=1)

    assert isinstance(scheduler.place(wanted, DEADLINE_S, options=EXACT).answer, Placed)


def test_a_cordoned_node_keeps_its_pods_and_takes_none() -> None:
    """
    Cordon and uncordon are inverses; doing it twice changes nothing.
    """
    scheduler = with_one()
    before = scheduler.snapshot().instance

    scheduler.cordon("n0")
    version = scheduler.version
    assert scheduler.cordon("n0") == ClusterChange(version)

    late = batch(pod("late", 1))
    assert isinstance(scheduler.place(late, DEADLINE_S, options=EXACT).answer, Infeasible)
    assert scheduler.misfits() == ()
    check_fresh_count(scheduler)

    scheduler.uncordon("n0")

    assert scheduler.snapshot().instance == before


def test_a_broken_device_is_reported_with_its_pod() -> None:
    """
    The pod keeps its place, the device is free for nobody (D6).
    """
    scheduler = with_one()
    (broken, _) = scheduler.placement_of(key("a")).minors("gpu")

    change = scheduler.update_node(replace(NODE, unhealthy=frozenset({("gpu", broken)})))

    assert [(m.pod, m.node, m.rule) for m in change.misfits] == [(key("a"), "n0", "device-health")]
    assert change.misfits == scheduler.misfits()
    assert broken in scheduler.placement_of(key("a")).minors("gpu")
    scheduler.release([key("a")])
    assert ("gpu", broken) not in scheduler.account_of("n0").devices.free
    assert scheduler.misfits() == ()


@pytest.mark.parametrize("scoring", [None, BestFitScoring()], ids=["expected", "best fit"])
def test_a_device_that_is_healthy_again_is_given(scoring: NodeScoringMethod | None) -> None:
    """
    A scorer that has seen the node with three GPUs sees four, and the pod that wants all gets them.
    """
    options = SolveOptions(Engine.GREEDY, scoring=scoring)
    scheduler = Scheduler([Node("n", BOX, unhealthy=frozenset({(GPU, 3)}))])
    wanted = batch(pod("all", 1, QosClass.LS, gpus=4))
    refused = scheduler.place(wanted, DEADLINE_S, options=options)

    scheduler.update_node(Node("n", BOX))
    placed = scheduler.place(wanted, DEADLINE_S, options=options)

    assert isinstance(refused.answer, Infeasible)
    assert isinstance(placed.answer, Placed)


@pytest.mark.parametrize(
    ("change", "rules"),
    [
        ({"labels": (("zone", "a"),)}, set()),
        ({"cordoned": True}, set()),
        ({"machine": machine(gpus=1)}, {"device-known"}),
        ({"machine": machine(cores=1)}, {"shared-pool"}),
        ({"machine": machine(cores=1, numa_nodes=1)}, {"cpu-allocatable", "shared-pool"}),
        ({"machine": machine(cores=8, numa_nodes=1)}, set()),
        ({"reserved_cpus": frozenset(range(16))}, {"cpu-allocatable", "shared-pool"}),
    ],
    ids=["labels", "cordon", "fewer GPUs", "fewer cores", "one core", "one NUMA node", "reserved"],
)
def test_an_update_reports_who_no_longer_fits(change: dict[str, Any], rules: set[str]) -> None:
    """
    The accounts are those of the new facts, and the pods stay where they are.
    """
    scheduler = with_one()
    before = {runner.pod.key for runner in scheduler.running_on("n0")}

    reported = scheduler.update_node(replace(NODE, **change))

    assert {misfit.rule for misfit in reported.misfits} == rules
    assert {runner.pod.key for runner in scheduler.running_on("n0")} == before
    check_fresh_count(scheduler)


def test_a_label_that_a_pod_asks_for_is_missed() -> None:
    """
    The pod's own rule is named, and it is the pod that is blamed.
    """
    labelled = replace(NODE, labels=(("zone", "a"),))
    scheduler = Scheduler([labelled])
    wanted = pod("a", 1, node_selector=(("zone", "a"),))
    scheduler.place(batch(wanted, pod("b", 1)), DEADLINE_S, options=QUICK)

    change = scheduler.update_node(NODE)

    assert [(m.pod, m.rule) for m in change.misfits] == [(key("a"), "node-selector")]


def test_memory_of_a_numa_node_that_is_gone_is_no_account_of_the_rest() -> None:
    """
    A machine that comes back with fewer NUMA nodes goes on taking pods.
    """
    scheduler = Scheduler([Node("n0", BOX)])
    hold = [pod(name, 1, gib=5, alignment=AlignmentPolicy.SINGLE_NUMA_NODE) for name in ("a", "b")]
    scheduler.place(batch(*hold), DEADLINE_S, options=QUICK)
    places = {name: scheduler.placement_of(key(name)) for name in ("a", "b")}
    assert {place.memory_bytes for place in places.values()} == {
        ((0, 5 * GIB),),
        ((1, 5 * GIB),),
    }

    change = scheduler.update_node(Node("n0", machine(numa_nodes=1)))

    (stray,) = [name for name, place in places.items() if place.memory_bytes[0][0] == 1]
    assert key(stray) in {misfit.pod for misfit in change.misfits if misfit.rule == "memory"}
    assert scheduler.placement_of(key(stray)) == places[stray]
    assert scheduler.account_of("n0").memory.bytes_in == {0: 3 * GIB}
    check_fresh_count(scheduler)
    late = batch(pod("late", 1, gib=3))
    assert isinstance(scheduler.place(late, DEADLINE_S, options=EXACT).answer, Placed)
    scheduler.update_node(Node("n0", BOX))
    assert scheduler.account_of("n0").memory.bytes_in[1] == 3 * GIB


def test_pools_follow_new_facts() -> None:
    """
    When CPUs go offline or come, LS pods run on what there is.
    """
    scheduler = with_one()

    change = scheduler.update_node(replace(NODE, machine=machine(cores=8)))

    assert [place.name for place in change.followers] == ["web"]
    assert len(change.followers[0].cpuset) == 28


def test_an_update_without_news_changes_nothing() -> None:
    """
    The same facts again leave the version, so no decision becomes stale.
    """
    scheduler = with_one()
    before = scheduler.snapshot()

    assert scheduler.update_node(Node("n0", machine())) == ClusterChange(before.version)
    assert scheduler.snapshot() == before


def test_only_an_empty_node_is_removed() -> None:
    """
    Pods are never dropped silently: the error names them.
    """
    scheduler = with_one()
    before = scheduler.snapshot()

    with pytest.raises(NodeInUseError, match="runs pods a, web; release them first") as refused:
        scheduler.remove_node("n0")

    assert refused.value.pods == (key("a"), key("web"))
    assert scheduler.snapshot() == before
    scheduler.release(refused.value.pods)
    scheduler.remove_node("n0")
    assert scheduler.snapshot().instance == Scheduler().snapshot().instance


def test_calls_that_name_the_wrong_node_or_pod_change_nothing() -> None:
    """
    Each is refused by its own error, with a hint at what there is.
    """
    scheduler = with_one()
    before = scheduler.snapshot()

    for call in (scheduler.cordon, scheduler.uncordon, scheduler.remove_node):
        with pytest.raises(UnknownNodeError, match="no node is called 'n0x'; did you mean 'n0'"):
            call("n0x")
    for read in (scheduler.running_on, scheduler.account_of):
        with pytest.raises(UnknownNodeError, match="there are 1 nodes of other names"):
            read("zzz")
    with pytest.raises(UnknownNodeError):
        scheduler.update_node(Node("n1", BOX))
    with pytest.raises(NodeExistsError, match="a node 'n0' is there already"):
        scheduler.add_node(NODE)
    with pytest.raises(UnknownPodError, match="pods b do not run") as refused:
        scheduler.release([key("a"), key("b"), key("b")])
    assert refused.value.pods == (key("b"),)
    with pytest.raises(UnknownPodError):
        scheduler.placement_of(key("b"))
    assert scheduler.snapshot() == before


def test_running_pods_are_taken_as_they_are() -> None:
    """
    A Scheduler that starts on a cluster in disorder says so, and goes on with it.
    """
    one, two = pod("a", 2), pod("b", 2)
    cpus = frozenset({0, 1})
    scheduler = Scheduler([NODE], [running(one, "n0", cpus), running(two, "n0", cpus)])

    assert {(m.pod, m.rule) for m in scheduler.misfits()} == {
        (key("a"), "cpu-exclusive"),
        (key("b"), "cpu-exclusive"),
    }
    check_fresh_count(scheduler)
    late = batch(pod("late", 14))
    assert isinstance(scheduler.place(late, DEADLINE_S, options=EXACT).answer, Placed)


def test_a_scheduler_begins_with_words_that_agree() -> None:
    """
    Nodes have names of their own; a pod runs once, in its own place, on a node that is there.
    """
    one = pod("a", 2)
    place = running(one, "n0", frozenset({0, 1}))

    with pytest.raises(NodeExistsError):
        Scheduler([NODE, Node("n0", BOX)])
    with pytest.raises(PodAlreadyRunningError):
        Scheduler([NODE], [place, place])
    with pytest.raises(UnknownNodeError):
        Scheduler([], [place])
    with pytest.raises(ContradictionError, match="running pod 'b' has the place of 'a'"):
        Scheduler([NODE], [replace(place, pod=pod("b", 2))])
