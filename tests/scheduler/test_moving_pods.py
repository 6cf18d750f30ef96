"""Decisions that move running pods: taken whole or not at all (G5)."""

from dataclasses import replace

import pytest

from answers import expect
from placer.scheduler import Scheduler
from placer.scheduling.decision import ClusterChange, Decision
from placer.scheduling.refusal import Refusal
from placer_models.cluster import Node
from placer_models.device import GPU
from placer_models.placement import DeviceGrant, Infeasible, Placed
from placer_models.policy import QosClass
from scheduler.cluster import BOX, DEADLINE_S, EXACT, batch, check_fresh_count, key, pod, running

LARGE = pod("large", 1, gpus=4)


def fragmented() -> Scheduler:
    """Return two nodes of four GPUs, each with a pod that has two of them."""
    grants = (DeviceGrant(GPU, 0), DeviceGrant(GPU, 1))
    return Scheduler(
        [Node("n0", BOX), Node("n1", BOX)],
        [
            running(pod("a", 1, gpus=2), "n0", frozenset({0}), devices=grants),
            running(pod("b", 1, QosClass.LS, gpus=2), "n1", BOX.topology.online, devices=grants),
        ],
    )


def moving(scheduler: Scheduler, *, dry_run: bool = False, budget: int = 1) -> Decision:
    return scheduler.place(
        batch(LARGE), DEADLINE_S, dry_run=dry_run, options=EXACT, move_budget=budget
    )


def test_a_decision_moves_running_pods_within_its_budget() -> None:
    """
    One change of the state: who moves is gone from its old place, and who waits has its room.
    """
    scheduler = fragmented()

    assert isinstance(moving(scheduler, budget=0).answer, Infeasible)
    assert scheduler.version == 0
    decision = moving(scheduler)
    assert isinstance(decision.answer, Placed)
    (move,) = decision.moves
    assert decision.change is not None
    assert decision.change.version == scheduler.version == 1
    assert decision.change.moved == decision.moves
    assert scheduler.placement_of(move.home.key).node == move.place.node != move.home.node
    assert scheduler.placement_of(LARGE.key).node == move.home.node
    check_fresh_count(scheduler)


def test_a_dry_run_with_moves_is_taken_later_whole() -> None:
    """
    As it was decided, also by a Scheduler that continues from a snapshot, and by a fork.
    """
    scheduler = fragmented()
    decision = moving(scheduler, dry_run=True)
    assert scheduler.version == 0
    others = [scheduler.fork(), Scheduler.restore(scheduler.snapshot())]

    for one in (scheduler, *others):
        change = expect(ClusterChange, one.confirm(decision, options=EXACT))
        assert (change.version, change.moved) == (1, decision.moves)
        assert one.version == 1
        check_fresh_count(one)
    assert others[0].snapshot() == others[1].snapshot() == scheduler.snapshot()


@pytest.mark.parametrize("how", ["ended", "elsewhere"])
def test_nothing_is_taken_if_who_was_to_move_is_no_longer_there(how: str) -> None:
    scheduler = fragmented()
    decision = moving(scheduler, dry_run=True)
    (move,) = decision.moves
    runner = next(r for r in scheduler.running_on(move.home.node) if r.pod.key == move.home.key)
    scheduler.release([move.home.key])
    if how == "elsewhere":
        again = replace(runner.pod, spec=replace(runner.pod.spec, labels=(("again", "yes"),)))
        scheduler.place(batch(again), DEADLINE_S, options=EXACT)
        if scheduler.placement_of(again.key).devices == move.home.devices:
            return  # it came back to where it was
    before = scheduler.snapshot()

    refusal = expect(Refusal, scheduler.confirm(decision, options=EXACT))
    assert refusal.left_home == (move.home.key,)
    assert "no longer where they were to move from" in refusal.message
    assert scheduler.snapshot() == before


def test_nothing_moves_if_the_new_place_is_gone() -> None:
    """
    All or nothing: not even the room that was to be made is made.
    """
    scheduler = fragmented()
    decision = moving(scheduler, dry_run=True)
    (move,) = decision.moves
    scheduler.place(batch(pod("thief", 1, gpus=1, node_selector=())), DEADLINE_S, options=EXACT)
    stolen = scheduler.placement_of(key("thief")).node
    scheduler.cordon(move.place.node)
    before = scheduler.snapshot()

    assert stolen in {"n0", "n1"}
    assert isinstance(scheduler.confirm(decision, options=EXACT), Refusal)
    assert scheduler.snapshot() == before


def test_a_negative_budget_is_refused() -> None:
    with pytest.raises(ValueError, match="move_budget is -1"):
        moving(fragmented(), budget=-1)
