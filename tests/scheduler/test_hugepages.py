"""The Scheduler's accounts know hugepages: given out, given back, never twice."""

from dataclasses import replace

from placer.scheduler import Scheduler
from placer.scheduling.decision import Batch, lone_gang
from placer_models.cluster import Node
from placer_models.placement import PartlyPlaced
from placer_models.pod import Container, Pod, PodSpec, Resources
from placer_models.topology import Hugepages
from scheduler.cluster import BOX, DEADLINE_S, QUICK

PAGE_BYTES = 2**21
NODE = Node("n", BOX, hugepages=((0, PAGE_BYTES, 2), (1, PAGE_BYTES, 1)))


def asking(name: str, pages: int) -> Pod:
    """Return a pod that asks for hugepages alone."""
    requests = Resources(hugepages=(Hugepages(PAGE_BYTES, pages),))
    return Pod(name, "default", PodSpec((Container("main", requests),)))


def test_pages_are_given_out_once_and_come_back() -> None:
    """
    Three pages: a pod of two leaves none for another of two until it is released.
    """
    scheduler = Scheduler([NODE])
    batch = Batch((lone_gang(asking("a", 2)),))
    scheduler.place(batch, DEADLINE_S, options=QUICK)
    other = Batch((lone_gang(asking("b", 2)),))

    refused = scheduler.place(other, DEADLINE_S, options=QUICK)
    left = sum(scheduler.account_of("n").memory.pages.values())
    restored = Scheduler.restore(scheduler.snapshot())
    scheduler.release([("default", "a")])
    placed = scheduler.place(other, DEADLINE_S, options=QUICK)

    assert not refused.placement.pods
    assert left == 1
    assert sum(restored.account_of("n").memory.pages.values()) == 1
    assert len(placed.placement.pods) == 1


def test_a_node_that_sets_fewer_pages_aside_has_misfits() -> None:
    """
    What runs stays, and is told of; nothing more goes there.
    """
    scheduler = Scheduler([NODE])
    scheduler.place(Batch((lone_gang(asking("a", 3)),)), DEADLINE_S, options=QUICK)

    change = scheduler.update_node(replace(NODE, hugepages=((0, PAGE_BYTES, 1),)))
    refused = scheduler.place(Batch((lone_gang(asking("b", 1)),)), DEADLINE_S, options=QUICK)

    assert {misfit.rule for misfit in change.misfits} == {"hugepages"}
    assert not isinstance(refused.answer, PartlyPlaced)
    assert not refused.placement.pods
