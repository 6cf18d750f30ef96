"""Decisions that wait to be taken, and what may happen to them meanwhile (B16)."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from placer.scheduler import Scheduler
from placer.scheduling.words import Change, Decision, Refusal
from placer_models.cluster import Node
from placer_models.placement import Placed, Placement
from scheduler.cluster import (
    BOX,
    DEADLINE_S,
    QUICK,
    batch,
    check_fresh_count,
    key,
    pod,
)


def dry(scheduler: Scheduler, *names: str) -> Decision:
    """Decide on pods of 4 CPUs each."""
    pods = [pod(name, 4, gpus=1, gib=1) for name in names]
    return scheduler.place(batch(*pods), DEADLINE_S, dry_run=True, options=QUICK)


def on(scheduler: Scheduler, node: str, name: str) -> Decision:
    """Decide on a pod that asks for one node."""
    wanted = pod(name, 4, node_selector=(("name", node),))
    return scheduler.place(batch(wanted), DEADLINE_S, dry_run=True, options=QUICK)


def labelled() -> Scheduler:
    return Scheduler([Node(name, BOX, (("name", name),)) for name in ("n0", "n1")])


def test_a_fresh_decision_is_taken() -> None:
    """
    Confirming does what place would have done.
    """
    scheduler, other = labelled(), labelled()
    decision = dry(scheduler, "a", "b")

    change = scheduler.confirm(decision)

    assert change == Change(version=1)
    taken = other.place(decision.batch, DEADLINE_S, options=QUICK)
    assert taken.change == change
    assert scheduler.snapshot() == other.snapshot()
    check_fresh_count(scheduler)


CHANGES: dict[str, Callable[[Scheduler], object]] = {
    "a pod came": lambda s: s.confirm(on(s, "n0", "other")),
    "a pod went": lambda s: s.release([key("old")]),
    "cordon": lambda s: s.cordon("n0"),
    "a device broke": lambda s: s.update_node(
        Node("n0", BOX, (("name", "n0"),), unhealthy=frozenset({("gpu", 3)}))
    ),
    "came and went": lambda s: (s.confirm(on(s, "n0", "other")), s.release([key("other")])),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_decision_on_a_node_that_changed_is_refused(
    change: Callable[[Scheduler], object],
) -> None:
    """
    The node is named, and nothing is taken.
    """
    scheduler = labelled()
    scheduler.confirm(on(scheduler, "n0", "old"))
    decision = on(scheduler, "n0", "late")
    change(scheduler)
    before = scheduler.snapshot()

    refusal = scheduler.confirm(decision)

    assert refusal == Refusal(stale=("n0",))
    assert "n0" in refusal.message
    assert scheduler.snapshot() == before


def test_a_decision_on_a_node_that_is_gone_is_refused() -> None:
    """
    A node that was removed is stale for ever, also when one of its name comes back.
    """
    scheduler = labelled()
    decision = on(scheduler, "n0", "late")
    scheduler.remove_node("n0")

    assert scheduler.confirm(decision) == Refusal(stale=("n0",))

    scheduler.add_node(Node("n0", BOX, (("name", "n0"),)))

    assert scheduler.confirm(decision) == Refusal(stale=("n0",))


def test_changes_elsewhere_do_not_matter() -> None:
    """
    A decision is stale only for the nodes it touches.
    """
    scheduler = labelled()
    decision = on(scheduler, "n0", "a")
    scheduler.confirm(on(scheduler, "n1", "b"))
    scheduler.cordon("n1")

    assert isinstance(scheduler.confirm(decision), Change)
    check_fresh_count(scheduler)


def test_a_decision_is_taken_once() -> None:
    """
    Confirming again, or confirming what place has taken, is refused.
    """
    scheduler = labelled()
    decision = dry(scheduler, "a")
    scheduler.confirm(decision)
    placed = scheduler.place(batch(pod("b", 2)), DEADLINE_S, options=QUICK)
    before = scheduler.snapshot()

    assert isinstance(scheduler.confirm(decision), Refusal)
    assert isinstance(scheduler.confirm(placed), Refusal)
    assert scheduler.snapshot() == before


def test_a_pod_has_one_place_whoever_decided() -> None:
    """
    Of two decisions on one pod, on different nodes, the second is refused.
    """
    scheduler = labelled()
    here, there = on(scheduler, "n0", "a"), on(scheduler, "n1", "a")
    scheduler.confirm(here)

    refusal = scheduler.confirm(there)

    assert refusal == Refusal(running=(key("a"),))
    assert "running already: pods a" in refusal.message


def test_a_decision_that_places_nothing_holds_for_ever() -> None:
    """
    It touches no node, so it can be taken at any time and changes nothing.
    """
    scheduler = labelled()
    decision = scheduler.place(batch(pod("huge", 999)), DEADLINE_S, dry_run=True, options=QUICK)
    scheduler.cordon("n0")

    assert scheduler.confirm(decision) == Change(version=1)
    assert scheduler.version == 1


def test_a_forged_decision_is_judged() -> None:
    """
    A decision that would give a CPU to two pods is refused, whatever version it claims.
    """
    scheduler = labelled()
    scheduler.confirm(on(scheduler, "n0", "a"))
    own = scheduler.placement_of(key("a"))
    honest = on(scheduler, "n0", "b")
    (place,) = honest.placement.pods
    containers = tuple(replace(c, cpuset=own.cpuset) for c in place.containers)
    forged_place = replace(place, cpuset=own.cpuset, containers=containers)
    assert isinstance(honest.answer, Placed)
    forged = replace(honest, answer=replace(honest.answer, placement=Placement((forged_place,))))

    refusal = scheduler.confirm(forged)

    assert isinstance(refusal, Refusal)
    assert {breach.rule for breach in refusal.breaches} == {"cpu-exclusive"}
    assert "cpu-exclusive" in refusal.message
    check_fresh_count(scheduler)


def test_a_decision_of_another_scheduler_is_stale() -> None:
    """
    A version that has not come yet was never seen here.
    """
    scheduler, other = labelled(), labelled()
    other.cordon("n1")

    assert scheduler.confirm(dry(other, "a")) == Refusal(stale=("n0",))
