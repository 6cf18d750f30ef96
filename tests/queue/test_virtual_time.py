"""Where newcomers start: the virtual time of a group, on cases one can follow by hand."""

from itertools import pairwise

from placer.queue.fair import FairQueue
from placer.queue.fairness import FairnessMeter
from placer.queue.model import DispatchTicket, DispatchUnit, service_to_reach_key
from queue_worlds import take


def jobs_of(tickets: list[DispatchTicket]) -> str:
    return " ".join(ticket.job for ticket in tickets)


def virtual(queue: FairQueue, group: str = "default") -> int:
    """Return where a newcomer of weight 1 starts."""
    return service_to_reach_key(queue.tree.group(group).virtual, 1000)


def starts_of_big(newcomers: int, *, in_groups: bool) -> tuple[list[int], list[int]]:
    """Run BIG, 50 units of 10 s, on one thread; from 5 s on a job of 10 s comes every 10 s.

    Return when BIG's units start, and how many flows wait then.
    """
    queue = FairQueue()
    queue.add_group("big")
    queue.add_job("BIG", group="big" if in_groups else None)
    queue.submit("BIG", *(DispatchUnit(i, 10) for i in range(50)))
    now, came, starts, waiting = 0, 0, [], []
    while True:
        while came < newcomers and 5 + 10 * came <= now:
            if in_groups:
                queue.add_group(f"g{came}")
            queue.add_job(f"n{came}", group=f"g{came}" if in_groups else None)
            queue.submit(f"n{came}", DispatchUnit(0, 10), now_us=now)
            came += 1
        group = queue.tree.root if in_groups else queue.tree.group("default")
        active = group.active
        ticket = queue.next(now)
        if ticket is None:
            return starts, waiting
        if ticket.job == "BIG":
            starts.append(now)
            waiting.append(active)
        queue.finish(ticket, now + 10)
        now += 10


def test_newcomers_without_end_leave_a_large_job_its_share() -> None:
    """
    Beside 300 newcomers BIG never waits longer than 240 s, where it waited until the last
    had gone, and at most one turn for each flow that waits beside it.
    """
    for in_groups in (False, True):
        starts, waiting = starts_of_big(300, in_groups=in_groups)
        gaps = [b - a for a, b in pairwise(starts)]

        assert len(starts) == 50
        assert max(gaps) == 240
        most = [max(pair) for pair in pairwise(waiting)]
        assert all(gap <= 10 * (n + 1) for gap, n in zip(gaps, most, strict=True))


def test_it_rises_by_the_charge_over_the_weights_of_who_waits() -> None:
    """
    By hand: 12 over weights 1 + 2 is 4, then 9 over the same is 3, then 5 alone is 5.
    """
    queue = FairQueue()
    queue.add_job("a")
    queue.add_job("b", weight_milli=2000)
    queue.submit("a", DispatchUnit(0, 12), DispatchUnit(1, 5))
    queue.submit("b", DispatchUnit(0, 20))
    seen = []
    for expected in ("a", "b", "a"):
        (ticket,) = take(queue, 1)
        assert ticket.job == expected
        seen.append(virtual(queue))

    # a: 12 / 3 = 4. b: 20 / 3 more, but to the lowest left, a's 12, at least. a alone: 17.
    assert seen == [4, 12, 17]


def test_it_rises_no_further_than_the_highest_value() -> None:
    """
    Six jobs of one unit leave one after another: by weights alone that is 10 (1/8 + ... + 1/3),
    more than a unit; nobody has had more than 10, so a newcomer starts at 10.
    """
    queue = FairQueue()
    for i in range(6):
        queue.add_job(f"single{i}")
        queue.submit(f"single{i}", DispatchUnit(0, 10))
    for job in ("x", "y"):
        queue.add_job(job)
        queue.submit(job, DispatchUnit(0, 10), DispatchUnit(1, 10))
    take(queue, 6)
    queue.add_job("new")
    queue.submit("new", DispatchUnit(0, 10))

    assert queue.report("new", 0).tally == 10
    assert jobs_of(take(queue, 5)) == "x y x y new"


def test_a_newcomer_waits_for_its_share_of_turns() -> None:
    """
    Three jobs had a unit each in a round; who comes in the middle of the next one waits for
    those behind it, and is not first.
    """
    queue = FairQueue()
    for job in "abc":
        queue.add_job(job)
        queue.submit(job, *(DispatchUnit(i, 9) for i in range(9)))
    take(queue, 4)  # a 18, b 9, c 9: the virtual time is 12
    queue.add_job("new")
    queue.submit("new", DispatchUnit(0, 9))

    assert queue.report("new", 0).tally == 12
    assert jobs_of(take(queue, 3)) == "b c new"


def test_a_settled_estimate_takes_its_part_of_the_rise_back() -> None:
    """
    A guess of 600 beside one other flow raises it by 300; the unit took 20, so 10 remain.
    """
    queue = FairQueue(guess_us=600)
    queue.add_job("a")
    queue.add_job("b")
    queue.submit("a", DispatchUnit(0, None), DispatchUnit(1, None))
    queue.submit("b", DispatchUnit(0, 50))
    (ticket,) = take(queue, 1)
    before = virtual(queue)
    queue.finish(ticket, now_us=20)

    assert (before, virtual(queue)) == (300, 10)


def test_an_estimate_that_was_too_low_raises_it() -> None:
    """
    Told 10, took 50: its flow has 50, and the virtual time half of it, as if it had been told.
    """
    queue = FairQueue()
    for job in "ab":
        queue.add_job(job)
        queue.submit(job, DispatchUnit(0, 10), DispatchUnit(1, 10))
    (ticket,) = take(queue, 1)
    queue.finish(ticket, now_us=50)

    assert virtual(queue) == 25


def test_a_refund_takes_nobody_behind_where_he_started() -> None:
    """
    a was charged 100 and left; back again it starts ahead, at 100, for the virtual time is
    50. Its unit took 10: of the 90 given back the lift swallows what is below 50.
    """
    queue = FairQueue()
    for job in "ab":
        queue.add_job(job)
    queue.submit("a", DispatchUnit(0, 100))
    queue.submit("b", *(DispatchUnit(i, 1) for i in range(99)))
    (ticket,) = take(queue, 1)
    queue.submit("a", DispatchUnit(1, 100))
    before = queue.report("a", 0).tally
    queue.finish(ticket, now_us=10)

    assert (before, queue.report("a", 10).tally) == (100, 50)


def test_a_batch_that_was_not_placed_leaves_it_where_it_was() -> None:
    """
    Units of all flows were chosen, so that it rose to the last of them; none had a place.
    """
    queue = FairQueue()
    for job, count in (("a", 1), ("b", 3), ("c", 2)):
        queue.add_job(job)
        queue.submit(job, *(DispatchUnit(i, 7) for i in range(count)))
    take(queue, 2)
    before = virtual(queue)
    batch = queue.select(0, limit=9)
    between = virtual(queue)
    queue.settle(batch, (), 0)

    assert before < between
    assert virtual(queue) == before


def test_nobody_waits_and_it_stands_where_the_last_one_was() -> None:
    """
    Who comes to an idle queue starts there, so that the one before it is no worse off.
    """
    queue = FairQueue()
    queue.add_job("a")
    queue.submit("a", DispatchUnit(0, 60))
    take(queue, 1)
    queue.add_job("b")
    queue.submit("b", DispatchUnit(0, 60))

    assert queue.report("b", 0).tally == 60


def test_the_meter_follows_it() -> None:
    """
    The meter's newcomer starts at its own virtual time: after one of two has had 10 that is
    5, so the newcomer leads the other by 5, and by 15 of its 10 when it is served first.
    """
    meter = FairnessMeter({"a": "", "b": "", "new": ""}, dict.fromkeys(("a", "b", "new"), 1000))
    meter.arrived("a", 2)
    meter.arrived("b", 2)
    meter.dispatched("a", 10, now_us=0)
    meter.arrived("new", 2)
    meter.dispatched("new", 10, now_us=1)

    assert (meter.worst.flow, meter.worst.over, meter.worst.lead) == ("new", "b", 15)
