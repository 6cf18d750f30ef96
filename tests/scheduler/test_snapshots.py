"""The whole state as a value, and calls that undo each other (D14)."""

import pytest

from placer.scheduler import Scheduler
from placer.scheduling.decision import Batch, ClusterChange, SchedulerSnapshot
from placer.scheduling.errors import NodeExistsError, UnknownPodError
from placer_models.cluster import Instance, Node
from placer_models.placement import Placed
from placer_models.policy import QosClass
from scheduler.cluster import BOX, DEADLINE_S, QUICK, batch, busy, check_fresh_count, gang, key, pod


@pytest.mark.parametrize("qos", list(QosClass))
def test_releasing_undoes_placing(qos: QosClass) -> None:
    """
    Nodes, pods and pools are as before, to the last CPU; only the version has gone on.
    """
    scheduler = busy()
    before = scheduler.snapshot()

    placed = scheduler.place(
        batch(pod("a", 4, qos, gib=2, gpus=2), pod("b", 1, qos)), DEADLINE_S, options=QUICK
    )
    assert scheduler.snapshot().instance != before.instance
    scheduler.release(place.key for place in placed.placement.pods)

    assert scheduler.snapshot().instance == before.instance
    assert scheduler.version == before.version + 2


def test_a_released_pod_is_unknown_and_may_come_again() -> None:
    """
    Its key is free: it is not released twice, and it can be placed.
    """
    scheduler = busy()
    scheduler.release([key("old-lsr")])

    with pytest.raises(UnknownPodError):
        scheduler.release([key("old-lsr")])
    with pytest.raises(UnknownPodError):
        scheduler.placement_of(key("old-lsr"))

    again = scheduler.place(batch(pod("old-lsr", 2)), DEADLINE_S, options=QUICK)
    assert isinstance(again.answer, Placed)
    check_fresh_count(scheduler)


def test_starting_anew_with_what_runs_is_the_same_state() -> None:
    """
    A Scheduler that is told what was found recovers every account.
    """
    scheduler = busy()
    found = scheduler.snapshot().instance

    recovered = Scheduler(found.nodes[::-1], found.running[::-1])

    assert recovered.snapshot().instance == found
    check_fresh_count(recovered)


def test_a_restored_scheduler_goes_on() -> None:
    """
    It has the same state and version, and takes what was decided before.
    """
    scheduler = busy()
    wanted = batch(pod("a", 2))
    early = scheduler.place(wanted, DEADLINE_S, dry_run=True, options=QUICK)
    scheduler.cordon("n1")
    snapshot = scheduler.snapshot()
    assert isinstance(Scheduler.restore(snapshot).confirm(early), ClusterChange)
    late = scheduler.place(wanted, DEADLINE_S, dry_run=True, options=QUICK)

    restored = Scheduler.restore(snapshot)

    assert restored.snapshot() == snapshot
    assert isinstance(restored.confirm(late), ClusterChange)
    assert isinstance(scheduler.confirm(late), ClusterChange)
    assert restored.snapshot() == scheduler.snapshot()


def test_a_snapshot_does_not_change() -> None:
    """
    What is taken later is not in it.
    """
    scheduler = busy()
    snapshot = scheduler.snapshot()
    running = snapshot.instance.running

    scheduler.place(batch(pod("a", 2)), DEADLINE_S, options=QUICK)
    scheduler.release([key("old-be")])

    assert snapshot.instance.running == running
    assert Scheduler.restore(snapshot).snapshot() == snapshot


def test_a_snapshot_is_judged_like_any_words() -> None:
    """
    Words that contradict each other are refused on the way in.
    """
    node = Node("n0", BOX)

    with pytest.raises(NodeExistsError):
        Scheduler.restore(SchedulerSnapshot(Instance((node, node), ()), version=3))


def test_releasing_nothing_changes_nothing() -> None:
    """
    And a pod that is named twice goes once.
    """
    scheduler = busy()
    before = scheduler.snapshot()

    assert scheduler.release([]) == ClusterChange(before.version)
    assert scheduler.snapshot() == before

    scheduler.release([key("old-ls"), key("old-ls")])

    assert len(scheduler.snapshot().instance.running) == 3
    check_fresh_count(scheduler)


def test_members_of_a_gang_may_go_one_by_one() -> None:
    """
    A pod that has ended is gone, whatever its gang's minimum is.
    """
    scheduler = Scheduler([Node("n0", BOX)])
    members = [pod(f"g-{i}", 2) for i in range(3)]
    wanted = Batch((gang("g", members),))
    scheduler.place(wanted, DEADLINE_S, options=QUICK)

    scheduler.release([key("g-1")])

    assert [r.placement.gang for r in scheduler.running_on("n0")] == ["g", "g"]
    check_fresh_count(scheduler)


def test_a_fork_goes_its_own_way() -> None:
    """
    What happens in one of them leaves the other as it is, and both count afresh.
    """
    scheduler = busy()
    before = scheduler.snapshot()
    fork = scheduler.fork()

    assert fork.snapshot() == before
    fork.place(batch(pod("a", 4, QosClass.LSR)), DEADLINE_S, options=QUICK)
    fork.release([key("old-lse")])
    fork.cordon("n1")
    assert scheduler.snapshot() == before
    scheduler.place(batch(pod("b", 2, QosClass.LSE)), DEADLINE_S, options=QUICK)
    assert [r.pod.name for r in fork.snapshot().instance.running if r.pod.name in "ab"] == ["a"]
    check_fresh_count(fork)
    check_fresh_count(scheduler)


def test_a_decision_of_a_fork_can_be_taken() -> None:
    """
    The fork was asked what if; nothing has happened since, so its answer holds here.
    """
    scheduler = busy()
    fork = scheduler.fork()
    decision = fork.place(batch(pod("a", 4, QosClass.LSR)), DEADLINE_S, options=QUICK)

    assert isinstance(scheduler.confirm(decision), ClusterChange)
    assert scheduler.placement_of(key("a")) == fork.placement_of(key("a"))
