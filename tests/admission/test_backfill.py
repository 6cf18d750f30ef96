"""Gangs that wait, and who starts beside them (Q12)."""

from collections import Counter
from dataclasses import replace

import pytest

from admission.admission_worlds import GREEDY, MINUTE, desk_of, names, nodes, pod, work
from placer.admission import AdmissionQueue, Workload
from placer.admission.workload import batch_of_workloads
from placer.queue.snapshot import take_queue_snapshot
from placer.scheduler import Scheduler
from placer.scheduling.decision import Decision
from placer.scheduling.errors import BadPodError
from placer.search.options import SolveOptions
from placer_models.node_strategy import NodeStrategy
from placer_models.pod import Container, Gang, Pod, PodSpec, Resources, lone_gang
from placer_models.policy import QosClass

EXACT = SolveOptions(workers=1, seed=1)


@pytest.mark.parametrize(
    "options",
    [
        pytest.param(GREEDY, id="greedy"),
        pytest.param(EXACT, id="auto", marks=pytest.mark.check),
    ],
)
@pytest.mark.parametrize("minutes", [1, None], ids=["known", "unknown"])
def test_in_lockstep_every_node_is_used_and_shares_follow_weights(
    minutes: int | None, options: SolveOptions
) -> None:
    """
    Weight 4 with gangs of one node, weight 1 with gangs of two, on two nodes: 80 of 80
    node-rounds, 4 to 1, and after every five rounds at that.
    """
    desk = desk_of(nodes(1, 1), {"a": 4000, "b": 1000})
    desk.submit("a", *(work(f"a{i}", 1, minutes=minutes) for i in range(100)), now_us=0)
    desk.submit("b", *(work(f"b{i}", 2, minutes=minutes) for i in range(50)), now_us=0)
    used: Counter[str] = Counter()
    for minute in range(40):
        for key in desk.running:
            desk.finish(key, minute * MINUTE)
        started = names(desk.step(minute * MINUTE, 20, options))
        used.update({"a": sum(key[0] == "a" for key in started)})
        used.update({"b": 2 * sum(key[0] == "b" for key in started)})
        if minute % 5 == 4:
            assert used == {"a": 8 * (minute + 1) // 5, "b": 2 * (minute + 1) // 5}

    assert used == {"a": 64, "b": 16}


def two_nodes_one_busy(**options: int) -> AdmissionQueue:
    """Return a desk where one of two nodes is busy for ten minutes, and a gang waits for both."""
    desk = desk_of(nodes(1, 1), {"b": 1000, "a": 1000}, **options)
    desk.submit("a", work("busy", minutes=10), now_us=0)
    desk.step(0, 20, GREEDY)
    desk.submit("b", work("gang", size=2), now_us=0)
    return desk


def test_who_ends_before_the_gang_is_due_starts_and_who_does_not_waits() -> None:
    """
    One node is busy for ten minutes, a gang of two waits: nine minutes start, eleven do not.
    """
    desk = two_nodes_one_busy()
    desk.submit("a", work("long", minutes=11), work("short", minutes=9), now_us=0)
    round_ = desk.step(MINUTE, 20, GREEDY)

    assert names(round_) == ["short"]
    assert round_.reserved is not None
    assert (round_.reserved.workload.key, round_.reserved.job) == ("gang", "b")
    assert (round_.reserved.since_us, round_.reserved.due_us) == (MINUTE, 10 * MINUTE)
    assert round_.reserved.unplaced[0].reasons[0].startswith("not now: only 1 of 2 members of")
    desk.finish("busy", 10 * MINUTE)
    desk.finish("short", 10 * MINUTE)
    (started,) = desk.step(10 * MINUTE, 20, GREEDY).admitted
    assert (started.workload.key, started.turn_us) == ("gang", MINUTE)


def test_who_runs_where_the_gang_does_not_is_not_in_its_way() -> None:
    """
    Two nodes are free, four will be in ten minutes, and a gang of three waits: of those that
    run for eleven minutes one starts, and the other waits beside a free node.
    """
    desk = desk_of(nodes(1, 1, 1, 1), {"b": 1000, "a": 1000})
    desk.submit("a", *(work(f"busy-{i}", minutes=10) for i in range(2)), now_us=0)
    desk.step(0, 20, GREEDY)
    desk.submit("b", work("gang", size=3), now_us=0)
    desk.submit("a", *(work(f"long-{i}", minutes=11) for i in range(2)), now_us=0)

    assert names(desk.step(0, 20, GREEDY)) == ["long-0"]
    assert names(desk.step(MINUTE, 20, GREEDY)) == []
    for key in ("busy-0", "busy-1"):
        desk.finish(key, 10 * MINUTE)
    assert names(desk.step(10 * MINUTE, 20, GREEDY)) == ["gang"]


def test_nobody_counts_on_the_end_of_what_has_no_length() -> None:
    """
    Nobody knows when the node is free: two go before the gang, then the other one is kept free.
    """
    desk = desk_of(nodes(1, 1), {"b": 1000, "a": 1000}, bypass_limit=2)
    desk.submit("a", work("busy", minutes=None), now_us=0)
    desk.step(0, 20, GREEDY)
    desk.submit("b", work("gang", size=2), now_us=0)
    desk.submit("a", *(work(f"next-{i}") for i in range(3)), now_us=0)
    started = []
    for minute in range(4):
        round_ = desk.step(minute * MINUTE, 20, GREEDY)
        started += names(round_)
        assert round_.reserved is not None
        assert round_.reserved.due_us is None
        for key in names(round_):
            desk.finish(key, (minute + 1) * MINUTE)

    assert started == ["next-0", "next-1"]


def test_pods_of_others_never_end() -> None:
    """
    What the caller has placed on the Scheduler himself is no part of what is known.
    """
    desk = desk_of(nodes(1, 1), {"a": 1000, "b": 1000})
    desk.scheduler.place(batch_of_workloads([work("other")]), 20, options=GREEDY)
    desk.submit("b", work("gang", size=2), now_us=0)
    round_ = desk.step(0, 20, GREEDY)

    assert round_.reserved is not None
    assert round_.reserved.due_us is None


def test_what_runs_for_too_long_gives_its_place_to_nobody() -> None:
    """
    The gang is due, and the node is still busy: the other node stays free until the gang has
    waited for ten minutes more, and is set aside.
    """
    desk = two_nodes_one_busy(hold_us=10 * MINUTE)
    desk.step(0, 20, GREEDY)
    desk.submit("a", work("next"), now_us=0)

    assert names(desk.step(10 * MINUTE, 20, GREEDY)) == []
    assert names(desk.step(19 * MINUTE, 20, GREEDY)) == []
    round_ = desk.step(20 * MINUTE, 20, GREEDY)
    assert (names(round_), round_.reserved) == (["next"], None)
    assert [unit.key for _, unit in desk.queue.set_aside] == ["gang"]


def test_a_gang_that_is_due_in_time_is_not_set_aside() -> None:
    """
    It may be held for a minute only; but it is due after ten, and until then it waits.
    """
    desk = two_nodes_one_busy(bypass_limit=0, hold_us=MINUTE)
    for minute in range(1, 10):
        assert names(desk.step(minute * MINUTE, 20, GREEDY)) == []
    desk.finish("busy", 10 * MINUTE)

    assert names(desk.step(10 * MINUTE, 20, GREEDY)) == ["gang"]


def test_what_does_not_fit_one_by_one_may_fit_together() -> None:
    """
    One by one the pods of one and two CPUs leave no node with two CPUs free.
    """
    desk = desk_of(nodes(3, 2, 2), {"a": 1000})
    desk.submit("a", work("one"), *(work(f"two-{i}", cpus=2) for i in range(3)), now_us=0)
    round_ = desk.step(0, 20, GREEDY)

    assert (len(round_.admitted), round_.reserved) == (4, None)


@pytest.mark.parametrize("options", [GREEDY, EXACT], ids=["greedy", "auto"])
def test_the_options_decide_where_the_fast_path_finds_no_place(options: SolveOptions) -> None:
    """
    Pods of 3, 3, 5, 3, 2 and 5 CPUs on nodes of 8, 7 and 7: the fast path leaves one out.
    """
    desk = desk_of(nodes(8, 7, 7), {"a": 1000})
    pods = tuple(pod(f"gang-{i}", cpus) for i, cpus in enumerate((3, 3, 5, 3, 2, 5)))
    desk.submit("a", Workload("gang", (Gang("gang", "default", pods, 6),)), now_us=0)
    round_ = desk.step(0, 20, options)

    assert names(round_) == (["gang"] if options is EXACT else [])
    assert (round_.reserved is None) == (options is EXACT)


def test_a_better_place_is_not_taken_where_it_puts_off_the_gang() -> None:
    """
    Spread would put the small pod on the emptier node, which the gang needs in five minutes.
    """
    spread = replace(EXACT, strategy=NodeStrategy.SPREAD)
    desk = desk_of(nodes(2, 2, 1), {"b": 1000, "a": 1000})
    desk.submit("a", work("busy", minutes=5), now_us=0)
    desk.step(0, 20, GREEDY)
    busy = desk.scheduler.placement_of(("default", "busy-0")).node
    desk.submit("b", work("gang", size=2, cpus=2), now_us=0)
    desk.submit("a", work("small", minutes=9), now_us=0)
    alone = desk.scheduler.fork().place(batch_of_workloads([work("small")]), 20, options=spread)
    round_ = desk.step(0, 20, spread)

    assert names(round_) == ["small"]
    assert {alone.placement.pods[0].node, busy} <= {"n0", "n1"}
    assert desk.scheduler.placement_of(("default", "small-0")).node == "n2"


def test_a_cluster_that_changes_meanwhile_leaves_the_queue_as_it_was(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """
    Someone else takes the node while the round is decided: nothing starts, and the next
    round begins as this one did, with the reservation and all counts.
    """
    desk = two_nodes_one_busy()
    desk.submit("a", work("short", minutes=2), now_us=0)
    before = take_queue_snapshot(desk.queue)
    place = Scheduler.place

    def taken_by_another(self: Scheduler, *args: object, **options: object) -> Decision:
        if self is desk.scheduler:
            place(self, batch_of_workloads([work("other", minutes=None)]), 20, options=GREEDY)
        return place(self, *args, **options)

    with monkeypatch.context() as patch:
        patch.setattr(Scheduler, "place", taken_by_another)
        round_ = desk.step(0, 20, EXACT)

    assert (round_.admitted, desk.running) == ((), ("busy",))
    assert take_queue_snapshot(desk.queue).flows == before.flows
    assert take_queue_snapshot(desk.queue).reserved == before.reserved
    desk.scheduler.release([("default", "other-0")])
    assert names(desk.step(0, 20, GREEDY)) == ["short"]


def test_a_pod_that_no_pod_may_be_is_refused_before_it_waits() -> None:
    """
    It would stop every round from then on; so would a pod that is in two workloads.
    """
    desk = desk_of(nodes(1), {"a": 1000})
    half = PodSpec((Container("main", Resources(500)),), qos=QosClass.LSR)
    with pytest.raises(BadPodError, match=r"got 0\.5 CPUs"):
        desk.submit("a", Workload("x", (lone_gang(Pod("x", "default", half)),)), now_us=0)
    desk.submit("a", work("y"), now_us=0)
    twin = Workload("z", work("y").gangs)
    with pytest.raises(ValueError, match="pod 'y-0' of workload 'z' waits or runs already"):
        desk.submit("a", twin, now_us=0)

    assert desk.waiting == ("y",)
