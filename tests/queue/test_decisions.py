"""Who is next, and what each flow was charged."""

import re
from collections.abc import Callable

import pytest

from placer.queue.explain import flow_choices_in_words, us_as_seconds_text_without_unit
from placer.queue.fair import FairQueue
from placer.queue.model import MAX_WEIGHT_MILLI, DispatchTicket, DispatchUnit, FlowChargeTime
from queue_worlds import take


def units(count: int, length_us: int | None = 60, first: int = 0) -> list[DispatchUnit]:
    return [DispatchUnit(i, length_us) for i in range(first, first + count)]


def two_jobs(a: int = 0, b: int = 0, **options: int) -> FairQueue:
    """Return a queue of two jobs, with so many units each."""
    queue = FairQueue(**options)
    queue.add_job("a")
    queue.add_job("b")
    for name, count in (("a", a), ("b", b)):
        if count:
            queue.submit(name, *units(count))
    return queue


def jobs_of(tickets: list[DispatchTicket]) -> str:
    return "".join(ticket.job for ticket in tickets)


def test_threads_that_become_free_together_are_shared() -> None:
    """
    Each unit counts from the moment it starts, so one instant's threads do not all go to one.
    """
    queue = two_jobs(a=9, b=9)

    assert jobs_of(take(queue, 6)) == "ababab"


def test_the_literal_rule_gives_one_instant_to_one_flow() -> None:
    """
    Charged only as threads run, the flow that is ahead at an instant gets all of it.
    """
    queue = FairQueue(charge=FlowChargeTime.RUNNING)
    queue.add_job("a")
    queue.add_job("b")
    queue.submit("a", *units(9))
    queue.submit("b", *units(9))

    assert jobs_of(take(queue, 6)) == "aaaaaa"


def test_a_double_weight_gets_double_the_turns() -> None:
    """
    Of 60 threads at weights 2 and 1, 40 go to the one and 20 to the other.
    """
    queue = FairQueue()
    queue.add_group("double", weight_milli=2000)
    queue.add_job("a", group="double")
    queue.add_job("b")
    queue.submit("a", *units(60))
    queue.submit("b", *units(60))

    turns = jobs_of(take(queue, 60))

    assert (turns.count("a"), turns.count("b")) == (40, 20)


def test_a_tie_goes_to_the_older_flow() -> None:
    """
    Equal values are served in the order in which the flows were added.
    """
    queue = FairQueue()
    queue.add_job("z")
    queue.add_job("a")
    queue.submit("a", *units(2))
    queue.submit("z", *units(2))

    assert jobs_of(take(queue, 4)) == "zaza"


def test_units_of_a_job_keep_their_order() -> None:
    """
    Within a job, who came first is served first.
    """
    queue = two_jobs(a=5)

    assert [ticket.unit.key for ticket in take(queue, 5)] == [0, 1, 2, 3, 4]


def test_an_empty_queue_has_nobody_next() -> None:
    """
    Where nothing waits there is no decision, and nothing to explain.
    """
    queue = two_jobs()

    assert queue.next(now_us=0) is None
    assert queue.explain(now_us=0) == ()
    assert flow_choices_in_words(queue.explain(now_us=0)) == "nobody else waits"


def test_values_are_compared_exactly() -> None:
    """
    1/3 of a microsecond decides, where floats and rounding would see a tie.
    """
    queue = FairQueue()
    queue.add_job("a", weight_milli=3000)
    queue.add_job("b", weight_milli=1000)
    queue.submit("a", DispatchUnit(0, 3 * 10**15 + 1), DispatchUnit(1, 1))
    queue.submit("b", DispatchUnit(0, 10**15), DispatchUnit(1, 1))
    take(queue, 2)

    assert jobs_of(take(queue, 1)) == "b"


def test_the_largest_weights_are_compared_exactly() -> None:
    """
    1 / (2**31 - 1) against 1 / (2**31 - 2), the closest that two values can be.
    """
    queue = FairQueue()
    queue.add_job("b", weight_milli=MAX_WEIGHT_MILLI - 1)
    queue.add_job("a", weight_milli=MAX_WEIGHT_MILLI)
    queue.submit("b", *units(2, 1))
    queue.submit("a", *units(2, 1))

    assert jobs_of(take(queue, 3)) == "baa"


def test_a_late_starter_begins_at_the_virtual_time() -> None:
    """
    A job that comes after an hour gets every other thread at once, not all of them.
    """
    queue = two_jobs(a=100)
    for ticket in take(queue, 50):
        queue.finish(ticket, ticket.start_us + 60)
    queue.submit("b", *units(100), now_us=3000)

    assert jobs_of(take(queue, 6, now_us=3000)) == "ababab"


def test_idle_time_banks_no_credit() -> None:
    """
    Q8: a flow that was idle while others worked comes back as their equal.
    """
    queue = two_jobs(a=100, b=1)
    take(queue, 40)
    queue.submit("b", *units(10))

    assert jobs_of(take(queue, 4)) in ("abab", "baba")


def test_idle_time_banks_no_credit_when_all_were_idle() -> None:
    """
    Who worked alone last week is not behind who did nothing then.
    """
    queue = two_jobs()
    queue.submit("b", *units(1))
    queue.submit("a", *units(50))
    take(queue, 51)
    queue.submit("b", *units(10))
    queue.submit("a", *units(10))

    assert jobs_of(take(queue, 4)) == "abab"


def test_service_above_the_share_is_not_forgotten() -> None:
    """
    To dry up for a moment does not wipe out a long thread just served.
    """
    queue = two_jobs()
    queue.submit("a", DispatchUnit(0, 600))
    queue.submit("b", *units(20))
    take(queue, 1)
    queue.submit("a", *units(5))

    assert jobs_of(take(queue, 12)) == "b" * 10 + "ab"


def test_an_unknown_length_is_charged_as_the_guess_and_corrected() -> None:
    """
    Q10: the guess is 60; the thread took 10, so 50 are given back at its end.
    """
    queue = two_jobs(guess_us=60)
    queue.submit("a", *units(5, None))
    ticket = take(queue, 1)[0]
    before = queue.report("a", now_us=0).tally
    queue.finish(ticket, now_us=10)

    assert (before, queue.report("a", now_us=10).tally) == (60, 10)


def test_the_next_estimate_is_the_mean_of_what_ended() -> None:
    """
    After threads of 10 and 20 the third is charged 15.
    """
    queue = two_jobs(guess_us=60)
    queue.submit("a", *units(5, None))
    first, second = take(queue, 2)
    queue.finish(first, now_us=10)
    queue.finish(second, now_us=20)

    assert take(queue, 1, now_us=20)[0].charge == 15


def test_a_known_length_that_was_wrong_is_corrected_too() -> None:
    """
    A thread that was told as 60 and took 100 is charged 100 in the end.
    """
    queue = two_jobs(a=2)
    ticket = take(queue, 1)[0]
    queue.finish(ticket, now_us=100)

    assert queue.report("a", now_us=100).tally == 100


def test_a_refund_after_idling_is_no_credit() -> None:
    """
    A long estimate, given back after the flow was lifted, must not take it below the rest.
    """
    queue = two_jobs(guess_us=500)
    queue.submit("a", DispatchUnit(0, None))
    queue.submit("b", *units(100))
    (ticket,) = take(queue, 1)  # a is charged 500 and has nothing more to do
    take(queue, 50)  # b goes on to 3,000
    queue.submit("a", *units(50))  # a comes back at b's value
    queue.finish(ticket, now_us=1)  # and its old thread was much shorter than thought

    assert jobs_of(take(queue, 6)) in ("ababab", "bababa")


def test_a_refund_while_a_flow_waits_is_its_due() -> None:
    """
    A flow that waited all the while gets back what the estimate took too much.
    """
    queue = two_jobs(guess_us=500)
    queue.submit("a", DispatchUnit(0, None), *units(20, first=1))
    queue.submit("b", *units(100))
    (ticket,) = take(queue, 1)
    take(queue, 3)
    queue.finish(ticket, now_us=1)

    assert jobs_of(take(queue, 3)) == "aaa"


def test_a_tree_may_be_deeper_than_two_levels() -> None:
    """
    Q5: a group inside a group shares the outer group's turns, here a half and a quarter each.
    """
    queue = FairQueue()
    queue.add_group("outer")
    queue.add_group("inner", parent="outer")
    queue.add_job("x", group="inner")
    queue.add_job("y", group="outer")
    queue.add_job("z")
    for job in "xyz":
        queue.submit(job, *units(40))

    turns = jobs_of(take(queue, 40))

    assert (turns.count("x"), turns.count("y"), turns.count("z")) == (10, 10, 20)


def test_a_gang_counts_with_its_whole_service() -> None:
    """
    Four threads for 60 s are charged 240 thread-seconds, as four threads of work would be.
    """
    queue = two_jobs()
    queue.submit("a", DispatchUnit("gang", 60, width=4), DispatchUnit("gang 2", 60, width=4))
    queue.submit("b", *units(10))

    assert jobs_of(take(queue, 6)) == "abbbba"
    assert queue.report("a", now_us=30).service == 120 + 120


def test_a_recent_past_is_where_a_flow_begins() -> None:
    """
    A job with known service is not lifted to its siblings when it first waits.
    """
    queue = FairQueue()
    queue.add_job("late", served=500)
    queue.add_job("early", served=100)
    queue.submit("late", *units(10))
    queue.submit("early", *units(10))

    assert jobs_of(take(queue, 7)).count("early") == 7


def test_what_runs_already_is_charged_and_reported() -> None:
    """
    A unit that nobody chose counts against its job like any other.
    """
    queue = two_jobs(a=5, b=5)
    running = queue.adopt("a", DispatchUnit("old", 120), now_us=0)
    turns = jobs_of(take(queue, 3))
    queue.finish(running, now_us=120)

    assert turns == "bba"
    assert queue.report("a", now_us=120).service == 120 + 120


def test_a_decision_explains_itself() -> None:
    """
    Q12: group value, job value, runner-up and gap, at each level.
    """
    queue = FairQueue()
    queue.add_group("P20", weight_milli=4000)
    queue.add_job("MED1", group="P20", served=808_000_000)
    queue.add_job("DEFAULT1", served=100_000_000)
    queue.add_job("DEFAULT2", served=101_500_000)
    for job in ("MED1", "DEFAULT1", "DEFAULT2"):
        queue.submit(job, *units(1))

    steps = queue.explain(now_us=0)

    assert [(step.group, step.chosen, step.runner_up, step.gap) for step in steps] == [
        (None, "default", "P20", 500_000),
        ("default", "DEFAULT1", "DEFAULT2", 1_500_000),
    ]
    assert flow_choices_in_words(steps) == (
        "default 201.5 against P20 202 (gap 0.5); "
        "in default: DEFAULT1 100 against DEFAULT2 101.5 (gap 1.5)"
    )


def test_the_explained_flow_is_the_one_that_is_served() -> None:
    """
    What explain says comes true in the next decision, under both rules.
    """
    for charge in FlowChargeTime:
        queue = FairQueue(charge=charge)
        queue.add_group("g", weight_milli=1500)
        for job, group in (("a", "g"), ("b", "g"), ("c", None)):
            queue.add_job(job, group=group)
            queue.submit(job, *units(10, 7))
        for now_us in range(0, 60, 2):
            steps = queue.explain(now_us)
            ticket = queue.next(now_us)

            assert (steps[-1].chosen if steps else None) == (ticket.job if ticket else None)


def test_corrections_leave_nothing_behind() -> None:
    """
    However often values change, a group keeps room for its flows and no more.
    """
    queue = two_jobs(a=1, b=1, guess_us=60)
    running = [queue.adopt("a", DispatchUnit(i, 60), now_us=0) for i in range(1000)]
    for ticket in running:
        queue.finish(ticket, now_us=1)

    assert len(queue.tree.group("default").heap) < 25


def test_an_idle_job_can_be_forgotten() -> None:
    """
    A removed job leaves its service with its group, and its name is free again.
    """
    queue = two_jobs(a=1)
    (ticket,) = take(queue, 1)
    queue.finish(ticket, now_us=60)
    queue.remove("a")
    queue.add_job("a")

    assert queue.report("default", now_us=60).service == 60
    assert queue.report("a", now_us=60).service == 0


def test_the_default_group_may_be_named_before_there_is_one() -> None:
    """
    A job that names it is where jobs that name none are.
    """
    queue = FairQueue()
    queue.add_job("a", group="default")
    queue.add_job("b")

    assert list(queue.tree.group("default").children) == ["a", "b"]


@pytest.mark.parametrize(
    ("attempt", "message"),
    [
        (lambda q: q.add_job("a"), "two flows are called 'a'; names are unique in the whole tree"),
        (lambda q: q.add_job(""), "a flow needs a name; got an empty one"),
        (
            lambda q: q.add_job("default"),
            "'default' is the group of jobs that name none; rename the job",
        ),
        (lambda q: q.add_job("c", group="nobody"), "there is no flow 'nobody'; add it first"),
        (lambda q: q.add_job("c", group="a"), "'a' is a job; only groups hold other flows"),
        (
            lambda q: q.submit("default", DispatchUnit(0, 1)),
            "'default' is a group; units belong to jobs",
        ),
        (
            lambda q: q.add_group("g", weight_milli=0),
            "flow 'g' has a weight of 0 thousandths; a weight is 1 to 2147483647 thousandths",
        ),
        (
            lambda q: q.add_group("g", weight_milli=-5),
            "flow 'g' has a weight of -5 thousandths; a weight is 1 to 2147483647 thousandths",
        ),
        (
            lambda q: q.submit("a", DispatchUnit(7, -1)),
            "unit 7 of job 'a' has length -1 us and width 1; both are at least 1, "
            "and an unknown length is None",
        ),
        (
            lambda q: q.remove("a"),
            "flow 'a' still has units or flows; only an idle, empty flow can be removed",
        ),
        (
            lambda q: q.finish(q.next(now_us=50), now_us=40),
            "unit 0 of job 'a' started at 50 us and cannot end at 40 us; "
            "times must not go backwards",
        ),
        (lambda q: FairQueue(guess_us=0), "guess_us is 0; it must be 1 or more"),
    ],
)
def test_a_mistake_is_told_with_its_mend(
    attempt: Callable[[FairQueue], object], message: str
) -> None:
    """
    Q6 and more: each misuse of the queue is refused by name, value and what is allowed.
    """
    queue = two_jobs(a=1)

    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        attempt(queue)


def test_a_unit_ends_once() -> None:
    """
    A ticket that was finished, or comes from another queue, is refused; nothing changes.
    """
    queue = two_jobs(a=1)
    (ticket,) = take(queue, 1)
    queue.finish(ticket, now_us=60)

    with pytest.raises(ValueError, match="unit 0 of job 'a' is not in flight"):
        queue.finish(ticket, now_us=60)

    assert queue.report("a", now_us=60).service == 60


def test_seconds_are_told_to_the_millisecond() -> None:
    """
    In explanations as in tables.
    """
    told = [us_as_seconds_text_without_unit(us) for us in (0, 250_000, 101_500_000, 1_020_000_400)]

    assert told == ["0", "0.25", "101.5", "1,020"]
