"""Units that do not fit: who may go before them, how often, and what is reported."""

from answers import expect
from placer.queue.bypass import UnitFits
from placer.queue.fair import FairQueue
from placer.queue.model import (
    BypassedUnit,
    DispatchTicket,
    DispatchUnit,
    QueueBatch,
    ReservedUnit,
)


def singles(count: int) -> list[DispatchUnit]:
    return [DispatchUnit(i, 60) for i in range(count)]


def gang(width: int, key: str = "gang") -> DispatchUnit:
    return DispatchUnit(key, 60, width)


def queue_of(*jobs: str, bypass_limit: int = 2, hold_us: int = 1000) -> FairQueue:
    queue = FairQueue(bypass_limit=bypass_limit, hold_us=hold_us)
    for job in jobs:
        queue.add_job(job)
    return queue


def fits(free: int) -> UnitFits:
    return lambda unit: unit.width <= free


def job_of(chosen: DispatchTicket | ReservedUnit | None) -> str | None:
    return chosen.job if isinstance(chosen, DispatchTicket) else None


def sequences(batch: QueueBatch, *jobs: str) -> set[int]:
    return {pick.ticket.sequence for pick in batch.picks if pick.ticket.job in jobs}


def test_a_gang_that_does_not_fit_lets_others_go() -> None:
    """
    The least served job's gang needs four threads; with one free, another job's thread runs.
    """
    queue = queue_of("wide", "narrow")
    queue.submit("wide", gang(4))
    queue.submit("narrow", *singles(3))

    assert job_of(queue.next_that_fits(0, fits(1))) == "narrow"
    assert queue.bypasses(0) == (BypassedUnit("wide", gang(4), passes=1, held=False),)


def test_a_younger_unit_of_the_same_job_goes_first() -> None:
    """
    Its own flow's turn is not lost: the next unit of the job that fits takes it.
    """
    queue = queue_of("mixed", "other")
    queue.submit("mixed", gang(4), *singles(2))
    queue.submit("other", *singles(2))

    chosen = expect(DispatchTicket, queue.next_that_fits(0, fits(1)))

    assert (chosen.job, chosen.unit.key) == ("mixed", 0)
    assert queue.bypasses(0)[0].passes == 1


def test_after_the_limit_nothing_goes_before_it() -> None:
    """
    Passed over twice, the gang is held; threads that become free wait for it.
    """
    queue = queue_of("wide", "narrow", bypass_limit=2)
    queue.submit("wide", gang(4))
    queue.submit("narrow", *singles(9))
    first = [job_of(queue.next_that_fits(0, fits(1))) for _ in range(2)]

    held = queue.next_that_fits(0, fits(3))
    started = queue.next_that_fits(0, fits(4))

    assert first == ["narrow", "narrow"]
    assert held == ReservedUnit("wide", gang(4), passes=2)
    assert isinstance(started, DispatchTicket)
    assert (started.job, started.passes) == ("wide", 2)
    assert queue.bypasses(0) == ()


def test_a_unit_that_is_held_for_too_long_is_set_aside() -> None:
    """
    What finds no room in all that time no longer blocks its job or anybody else.
    """
    queue = queue_of("wide", "narrow", bypass_limit=0, hold_us=1000)
    queue.submit("wide", gang(4), gang(1, "small"))
    queue.submit("narrow", *singles(9))

    assert queue.next_that_fits(0, fits(1)) == ReservedUnit("wide", gang(4), passes=0)
    assert isinstance(queue.next_that_fits(999, fits(1)), ReservedUnit)
    chosen = expect(DispatchTicket, queue.next_that_fits(1000, fits(1)))
    assert (chosen.job, chosen.unit.key) == ("wide", "small")
    assert queue.set_aside == [("wide", gang(4))]


def test_what_was_set_aside_can_be_tried_again() -> None:
    """
    When the cluster has changed, the unit waits again, at the front of its job.
    """
    queue = queue_of("wide", bypass_limit=0, hold_us=0)
    queue.submit("wide", gang(4), gang(4, "second"))

    assert queue.next_that_fits(0, fits(1)) is None
    assert [unit.key for _, unit in queue.set_aside] == ["gang", "second"]
    queue.retry(now_us=5)
    chosen = expect(DispatchTicket, queue.next_that_fits(5, fits(4)))
    assert chosen.unit.key == "gang"
    assert queue.set_aside == []


def test_nothing_that_fits_is_no_decision() -> None:
    """
    Where no unit fits and none was passed too often, everybody waits and nobody is blamed.
    """
    queue = queue_of("wide", bypass_limit=2)
    queue.submit("wide", gang(4))

    assert queue.next_that_fits(0, fits(1)) is None
    assert queue.bypasses(0) == ()


def test_a_flow_of_gangs_cannot_be_passed_again_and_again() -> None:
    """
    A started gang does not wipe out what the flow is behind: the next one is held at once.
    """
    queue = queue_of("wide", "narrow", bypass_limit=2)
    queue.submit("wide", *(DispatchUnit(i, 1, 4) for i in range(3)))
    queue.submit("narrow", *singles(9))
    for _ in range(2):
        queue.next_that_fits(0, fits(1))

    assert job_of(queue.next_that_fits(0, fits(4))) == "wide"
    assert isinstance(queue.next_that_fits(0, fits(1)), ReservedUnit)


def test_a_flow_that_has_caught_up_can_be_passed_again() -> None:
    """
    Once its value has reached the others', its passes count from 0.
    """
    queue = queue_of("wide", "narrow", bypass_limit=2)
    queue.submit("wide", DispatchUnit(0, 100, 4), DispatchUnit(1, 100, 4))
    queue.submit("narrow", *singles(20))
    for _ in range(2):
        queue.next_that_fits(0, fits(1))  # narrow has had 120
    queue.next_that_fits(0, fits(4))  # wide has had 400
    before = [job_of(queue.next_that_fits(0, fits(1))) for _ in range(5)]

    assert before == ["narrow"] * 5  # narrow has had 420, wide is first again
    assert job_of(queue.next_that_fits(0, fits(1))) == "narrow"
    assert job_of(queue.next_that_fits(0, fits(1))) == "narrow"
    assert isinstance(queue.next_that_fits(0, fits(1)), ReservedUnit)


def test_groups_are_not_passed_without_end_either() -> None:
    """
    A group of many jobs of gangs is behind as a whole, not each of its jobs by itself.
    """
    queue = FairQueue(bypass_limit=3, hold_us=1000)
    queue.add_group("gangs")
    for i in range(5):
        queue.add_job(f"g{i}", group="gangs")
        queue.submit(f"g{i}", gang(4))
    queue.add_job("narrow")
    queue.submit("narrow", *singles(20))

    chosen = [job_of(queue.next_that_fits(0, fits(1))) for _ in range(4)]

    assert chosen == ["narrow", "narrow", "narrow", None]


def test_a_batch_is_chosen_in_order_of_fairness() -> None:
    """
    Q12: the batch has the least served first, each pick with its reasons.
    """
    queue = queue_of("a", "b")
    queue.submit("a", *singles(5))
    queue.submit("b", *singles(5))

    batch = queue.select(0, limit=4)

    assert [pick.ticket.job for pick in batch.picks] == ["a", "b", "a", "b"]
    assert [pick.steps[-1].runner_up for pick in batch.picks] == ["b", "a", "b", "a"]
    assert batch.held is False


def test_a_batch_is_no_larger_than_what_waits() -> None:
    """
    A limit above the number of units takes them all.
    """
    queue = queue_of("a")
    queue.submit("a", *singles(2))

    assert len(queue.select(0, limit=10).picks) == 2
    assert queue.select(0, limit=10).picks == ()


def test_what_was_not_placed_waits_as_if_it_had_never_left() -> None:
    """
    The solver had no place for a's gang: its charge is undone, and it leads the next batch.
    """
    queue = queue_of("a", "b")
    queue.submit("a", gang(4))
    queue.submit("b", *singles(4))
    batch = queue.select(0, limit=4)

    bypasses = queue.settle(batch, sequences(batch, "b"), now_us=0)

    assert bypasses == (BypassedUnit("a", gang(4), passes=3, held=True),)
    assert queue.report("a", now_us=0).tally == 0
    assert queue.select(0, limit=4).picks[0].ticket.job == "a"


def test_a_held_unit_closes_the_batch() -> None:
    """
    After too many passes the gang enters a batch as its last, so nothing can go before it.
    """
    queue = queue_of("a", "b", bypass_limit=2)
    queue.submit("a", gang(4))
    queue.submit("b", *singles(9))
    batch = queue.select(0, limit=4)
    queue.settle(batch, sequences(batch, "b"), now_us=0)

    second = queue.select(10, limit=4)

    assert [pick.ticket.job for pick in second.picks] == ["a"]
    assert second.held is True


def test_a_flow_that_is_behind_closes_the_batch_with_its_next_unit() -> None:
    """
    Its first gang was passed twice and then ran; it is still behind, so its next is held.
    """
    queue = queue_of("a", "b", bypass_limit=2)
    queue.submit("a", DispatchUnit("first", 1, 4), DispatchUnit("second", 1, 4))
    queue.submit("b", *singles(9))
    batch = queue.select(0, limit=4)
    queue.settle(batch, sequences(batch, "b"), now_us=0)
    batch = queue.select(1, limit=4)
    queue.settle(batch, sequences(batch, "a"), now_us=1)

    third = queue.select(2, limit=4)

    assert [pick.ticket.unit.key for pick in third.picks] == ["second"]
    assert (third.held, third.picks[0].ticket.passes) == (True, 0)


def test_a_hold_counts_from_its_own_beginning() -> None:
    """
    While a younger unit of the job still starts, the oldest is not yet held for long.
    """
    queue = queue_of("wide", "narrow", bypass_limit=2, hold_us=100)
    queue.submit(
        "wide",
        DispatchUnit("first", 1, 4),
        DispatchUnit("second", 1, 4),
        DispatchUnit("double", 1, 2),
    )
    queue.submit("narrow", *singles(9))
    for now_us, free in ((0, 1), (0, 1), (1, 4)):
        queue.next_that_fits(now_us, fits(free))  # passed twice, then the first gang starts
    assert isinstance(queue.next_that_fits(10, fits(1)), ReservedUnit)
    chosen = expect(DispatchTicket, queue.next_that_fits(20, fits(2)))
    assert chosen.unit.key == "double"

    assert isinstance(queue.next_that_fits(115, fits(1)), ReservedUnit)
    assert queue.set_aside == []


def test_what_is_set_aside_takes_its_passes_along() -> None:
    """
    The flow of a gang that never fitted is not held on for its next unit.
    """
    queue = queue_of("wide", "narrow", bypass_limit=2, hold_us=50)
    queue.submit("wide", gang(4), gang(4, "second"))
    queue.submit("narrow", *singles(9))
    for now_us in (0, 1, 2):
        queue.next_that_fits(now_us, fits(1))

    chosen = [job_of(queue.next_that_fits(52, fits(1))) for _ in range(3)]

    assert [unit.key for _, unit in queue.set_aside] == ["gang"]
    assert chosen == ["narrow", "narrow", None]


def test_a_batch_that_cannot_place_a_held_unit_ends_by_setting_it_aside() -> None:
    """
    Held since the first batch, unplaced until the hold is over: it is set aside and told.
    """
    queue = queue_of("a", "b", bypass_limit=2, hold_us=100)
    queue.submit("a", gang(4))
    queue.submit("b", *singles(9))
    for now_us in (0, 50, 100):
        batch = queue.select(now_us, limit=4)
        bypasses = queue.settle(batch, sequences(batch, "b"), now_us)

    assert bypasses == (BypassedUnit("a", gang(4), passes=3, held=True),)
    assert queue.set_aside == [("a", gang(4))]
    assert [pick.ticket.job for pick in queue.select(200, limit=4).picks] == ["b"] * 4


def test_units_of_one_job_come_back_in_their_order() -> None:
    """
    A whole batch without a place leaves the queue as it was.
    """
    queue = queue_of("a", "b")
    queue.submit("a", *singles(3))
    queue.submit("b", *singles(3))
    batch = queue.select(0, limit=6)

    assert queue.settle(batch, set(), now_us=0) == ()
    again = queue.select(0, limit=6)
    assert [(p.ticket.job, p.ticket.unit) for p in again.picks] == [
        (p.ticket.job, p.ticket.unit) for p in batch.picks
    ]
    assert queue.report("default", now_us=0).queued == 0
    assert len(queue.in_flight) == 6
