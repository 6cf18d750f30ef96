"""Defaults of a Scheduler: for nodes it has and nodes that come, kept in snapshots (C22)."""

from dataclasses import replace

import pytest

from placer.scheduler import Scheduler
from placer.scheduling.decision import Batch, Decision
from placer.scheduling.errors import ContradictionError
from placer_models.cluster import Node, RunningPod
from placer_models.cpuset import CpuSet
from placer_models.defaults import NO_DEFAULTS, Defaults
from placer_models.placement import PodPlacement
from placer_models.pod import Pod, lone_gang
from placer_models.policy import AlignmentPolicy, BindPolicy, NodeBindPolicy, QosClass
from scheduler.cluster import BOX, DEADLINE_S, QUICK, pod

SPREAD = Defaults(bind=BindPolicy.SPREAD_BY_PCPUS)
SINGLE = Defaults(alignment=AlignmentPolicy.SINGLE_NUMA_NODE)


def place(scheduler: Scheduler, *pods: Pod) -> Decision:
    """Place the pods, one after the other in one batch."""
    batch = Batch(tuple(map(lone_gang, pods)))
    return scheduler.place(batch, DEADLINE_S, options=QUICK)


def cores(decision: Decision, index: int = 0) -> int:
    """Return on how many cores the CPUs of a placed pod are."""
    return len({cpu // 2 for cpu in decision.placement.pods[index].cpuset})


def test_the_argument_holds_for_all_nodes() -> None:
    """
    Those at the start, those that are added, and those that are replaced.
    """
    scheduler = Scheduler([Node("a", BOX)], defaults=SPREAD)
    assert cores(place(scheduler, pod("p0", 2))) == 2
    scheduler.cordon("a")
    scheduler.add_node(Node("b", BOX))
    assert cores(place(scheduler, pod("p1", 2))) == 2
    scheduler.update_node(Node("b", BOX, labels=(("zone", "a"),)))

    assert cores(place(scheduler, pod("p2", 2))) == 2
    assert cores(place(Scheduler([Node("a", BOX)]), pod("p0", 2))) == 1


def test_a_node_of_the_same_words_is_no_other_node() -> None:
    """
    The caller's nodes need not carry the Scheduler's defaults.
    """
    scheduler = Scheduler([Node("a", BOX)], defaults=SPREAD)

    assert scheduler.update_node(Node("a", BOX)).version == 0


def test_pod_and_node_go_before_the_default() -> None:
    """
    Whole cores for a pod that says so, and on a node that has nothing else.
    """
    full = pod("full", 2, bind=BindPolicy.FULL_PCPUS)
    whole = Node("b", BOX, cpu_bind=NodeBindPolicy.FULL_PCPUS_ONLY)

    assert cores(place(Scheduler([Node("a", BOX)], defaults=SPREAD), full)) == 1
    assert cores(place(Scheduler([whole], defaults=SPREAD), pod("p", 2))) == 1


def test_a_snapshot_has_them() -> None:
    """
    Restored, the Scheduler goes on under the same defaults; a node that comes later has them.
    """
    scheduler = Scheduler([Node("a", BOX)], defaults=SPREAD)
    place(scheduler, pod("p0", 2))
    snapshot = scheduler.snapshot()
    restored = Scheduler.restore(snapshot)

    assert snapshot.instance.common_defaults == SPREAD
    assert restored.snapshot() == snapshot
    restored.cordon("a")
    restored.add_node(Node("b", BOX))
    assert cores(place(restored, pod("p1", 2))) == 2


def test_a_snapshot_without_nodes_has_them_too() -> None:
    """
    They are the Scheduler's, not those of its nodes.
    """
    restored = Scheduler.restore(Scheduler(defaults=SPREAD).snapshot())
    restored.add_node(Node("a", BOX))

    assert cores(place(restored, pod("p", 2))) == 2


def test_nodes_of_an_instance_bring_theirs() -> None:
    """
    Unless the argument says otherwise; nodes of two schedulers do not go together.
    """
    (spread,) = Scheduler([Node("a", BOX)], defaults=SPREAD).snapshot().instance.nodes
    theirs = Scheduler([spread])
    theirs.add_node(Node("b", BOX))

    assert theirs.snapshot().instance.common_defaults == SPREAD
    assert Scheduler([spread], defaults=NO_DEFAULTS).snapshot().instance.common_defaults == (
        NO_DEFAULTS
    )
    with pytest.raises(
        ContradictionError, match="the nodes have different defaults; give the Sched"
    ):
        Scheduler([spread, Node("b", BOX)])


def test_a_decision_is_confirmed_under_the_same_defaults() -> None:
    """
    An LS pod that the default binds is bound when it is taken, and followed when its pool shrinks.
    """
    scheduler = Scheduler([Node("a", BOX)], defaults=SINGLE)
    web = Batch((lone_gang(pod("web", 1, QosClass.LS)),))
    decision = scheduler.place(web, DEADLINE_S, dry_run=True, options=QUICK)
    scheduler.confirm(decision)
    bound = scheduler.placement_of(("default", "web")).cpuset

    assert len(bound) == 8
    decision = place(scheduler, pod("own", 2))
    (taken,) = decision.placement.pods
    left = scheduler.placement_of(("default", "web")).cpuset
    assert left == bound - taken.cpuset
    assert not scheduler.misfits()


def test_a_running_pod_in_breach_of_a_default_is_a_misfit() -> None:
    """
    As under the same word of its node; None is a word.
    """

    def running(name: str, cpus: CpuSet, alignment: AlignmentPolicy | None) -> RunningPod:
        one = pod(name, 2, alignment=alignment)
        return RunningPod(one, PodPlacement(name, "default", None, "a", cpus))

    runs = [
        running("silent", frozenset({0, 8}), None),
        running("says", frozenset({1, 9}), AlignmentPolicy.NONE),
    ]
    scheduler = Scheduler([Node("a", BOX)], runs, SINGLE)

    assert {(m.pod[1], m.rule) for m in scheduler.misfits()} >= {("silent", "alignment")}
    assert not any(m.pod[1] == "says" and m.rule == "alignment" for m in scheduler.misfits())


def test_defaults_that_change_nothing_change_no_state() -> None:
    """
    A Scheduler without defaults has the snapshots that it had before there were any.
    """
    node = Node("a", BOX)

    assert Scheduler([node]).snapshot().instance.nodes == (node,)
    assert Scheduler([node]).snapshot().instance.defaults is None
    assert replace(node, defaults=SPREAD) != node
