"""Several threads at one Scheduler."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event
from typing import Any

import pytest

from answers import expect
from placer.scheduler import Scheduler
from placer.scheduling import decide
from placer.scheduling.decision import ClusterChange
from placer.scheduling.refusal import DecisionResourceShortage, Refusal
from placer_models.cluster import Node
from placer_models.placement import Placed
from placer_models.policy import QosClass
from scheduler.cluster import BOX, DEADLINE_S, QUICK, batch, check_fresh_count, key, pod

THREADS = 4


def test_of_decisions_on_one_view_of_a_node_as_many_are_taken_as_fit() -> None:
    """
    All decide on the empty node at once, each on 7 of 16 CPUs; the first two confirm (B16).
    """
    scheduler = Scheduler([Node("n0", BOX)])
    decided = Barrier(THREADS)

    def decide_and_confirm(name: str) -> ClusterChange | Refusal:
        wanted = batch(pod(name, 7, gpus=1))
        decision = scheduler.place(wanted, DEADLINE_S, dry_run=True, options=QUICK)
        decided.wait(DEADLINE_S)
        return scheduler.confirm(decision)

    with ThreadPoolExecutor(THREADS) as pool:
        outcomes = list(pool.map(decide_and_confirm, [f"p{i}" for i in range(THREADS)]))

    assert sorted(type(outcome).__name__ for outcome in outcomes) == [
        *["ClusterChange"] * 2,
        *["Refusal"] * (THREADS - 2),
    ]
    gone = {o.gone for o in outcomes if isinstance(o, Refusal)}
    assert gone == {(DecisionResourceShortage("n0", "cpu", 7_000, 2_000),)}
    assert len(scheduler.running_on("n0")) == 2
    check_fresh_count(scheduler)


def test_calls_that_take_their_decision_never_meet() -> None:
    """
    Each place sees what the others have taken, so all find room and none is refused.
    """
    scheduler = Scheduler([Node("n0", BOX), Node("n1", BOX)])

    def come_and_go(name: str) -> None:
        for i in range(5):
            wanted = batch(pod(f"{name}-{i}", 4), pod(f"{name}-{i}-web", 0.5, QosClass.LS))
            decision = scheduler.place(wanted, DEADLINE_S, options=QUICK)
            assert isinstance(decision.answer, Placed)
            scheduler.snapshot()
            scheduler.release([key(f"{name}-{i}")])

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(come_and_go, [f"p{i}" for i in range(THREADS)]))

    assert scheduler.version == THREADS * 5 * 2
    assert len(scheduler.snapshot().instance.running) == THREADS * 5
    check_fresh_count(scheduler)


def test_reading_and_dry_runs_wait_for_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    While a place solves, others read and decide on the state before it.
    """
    scheduler = Scheduler([Node("n0", BOX)])
    before = scheduler.snapshot()
    solving, go_on = Event(), Event()
    solve = decide.solve

    def solve_slowly(*args: Any, **known: Any) -> object:
        solving.set()
        go_on.wait()
        return solve(*args, **known)

    with ThreadPoolExecutor(1) as pool:
        with monkeypatch.context() as patch:
            patch.setattr(decide, "solve", solve_slowly)
            slow = pool.submit(scheduler.place, batch(pod("a", 4)), DEADLINE_S, False, QUICK)
            solving.wait()
        try:
            quick = scheduler.place(batch(pod("b", 4)), DEADLINE_S, dry_run=True, options=QUICK)
            assert isinstance(quick.answer, Placed)
            assert scheduler.snapshot() == before
        finally:
            go_on.set()
        assert isinstance(slow.result().answer, Placed)

    change = expect(ClusterChange, scheduler.confirm(quick))
    assert [place.name for place in change.laid_anew] == ["b"]
