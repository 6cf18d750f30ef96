"""A queue that was written down and read again goes on as if nothing had happened."""

import random

import pytest

from placer.queue.fair import FairQueue
from placer.queue.model import DispatchUnit, FlowChargeTime
from placer.queue.snapshot import (
    parse_queue_snapshot_json,
    queue_snapshot_json_text,
    restore_queue,
    take_queue_snapshot,
)
from queue_worlds import queue_of, random_world, run


def again(queue: FairQueue) -> FairQueue:
    """Return the queue after a restart."""
    return restore_queue(
        parse_queue_snapshot_json(queue_snapshot_json_text(take_queue_snapshot(queue)))
    )


@pytest.mark.parametrize("charge", FlowChargeTime)
def test_a_restored_queue_makes_the_same_decisions(charge: FlowChargeTime) -> None:
    """
    A restart at any moment changes no decision, on trees with idling and unknown lengths.
    """
    for seed in range(40):
        world = random_world(random.Random(seed), known=seed % 2 == 0)
        rng = random.Random(seed)

        def sometimes(queue: FairQueue, rng: random.Random = rng) -> FairQueue:
            return again(queue) if rng.random() < 0.2 else queue

        undisturbed = run(world, queue_of(world, charge))

        assert run(world, queue_of(world, charge), renew=sometimes) == undisturbed


def test_a_snapshot_is_whole() -> None:
    """
    What waits, runs, was passed over, is held or set aside comes back; so do all settings.
    """
    queue = FairQueue(guess_us=7, bypass_limit=1, hold_us=9, look_ahead=3)
    queue.add_group("g", weight_milli=4321)
    for job in "ab":
        queue.add_job(job, group="g", served=5)
    queue.submit("a", DispatchUnit("gang", 60, 4), DispatchUnit(1, None))
    queue.submit("b", *(DispatchUnit(i, 60) for i in range(5)))
    for now_us in range(3):
        queue.next_that_fits(now_us, lambda unit: unit.width == 1)
    queue.next_that_fits(30, lambda unit: unit.width == 1)
    queue.add_job("c", group="g")
    queue.submit("c", DispatchUnit("gang 2", 60, 4))
    for now_us in range(31, 35):
        queue.next_that_fits(now_us, lambda unit: unit.width == 1)
    queue.adopt("b", DispatchUnit("old", 60), 40)
    assert max(flow.passes for flow in queue.tree.flows.values()) > 0

    restored = again(queue)

    assert take_queue_snapshot(restored) == take_queue_snapshot(queue)
    assert restored.set_aside == [("a", DispatchUnit("gang", 60, 4))]
    assert [restored.report(f, 50) for f in "abcg"] == [queue.report(f, 50) for f in "abcg"]


def test_a_snapshot_of_another_version_is_refused() -> None:
    """
    A newer Placer may write what this one would misread.
    """
    text = queue_snapshot_json_text(take_queue_snapshot(FairQueue())).replace(
        '"version":2', '"version":3'
    )

    with pytest.raises(ValueError, match="the snapshot is of version 3; this Placer reads 2"):
        parse_queue_snapshot_json(text)
