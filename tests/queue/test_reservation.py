"""Reservations: how long a unit waits, who goes before it, and what stays free (Q12)."""

import random
from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction

import pytest

from answers import expect
from placer.queue.fair import FairQueue
from placer.queue.flow import QueueJob
from placer.queue.model import DispatchTicket, DispatchUnit, ReservedUnit
from placer.queue.reservation import UnitReservation
from placer.queue.snapshot import (
    parse_queue_snapshot_json,
    queue_snapshot_json_text,
    restore_queue,
    take_queue_snapshot,
)
from queue_meters import TallyMeter
from queue_worlds import (
    Capacity,
    Meter,
    World,
    endless_gang_world,
    queue_of,
    random_gang_world,
    run,
    say,
    trees,
)

NO_LIMIT = 10**6
"""Passes without end: use of capacity goes before shares."""


class TurnMeter(Meter):
    """Watches the unit whose turn has come, and holds its wait against what is promised.

    It says the turn, the time and the harm in its own words: the least served path of the
    tree, and all that runs, event by event.

    Attributes:
        ratio: Worst wait from the turn on, over the longest that anything that ran then had
            still to run; where that was not known, over 1 + bypass limit longest lengths.
        waits: How many units had to wait when their turn came.
        backfilled: How many units went before one that waited.
    """

    def __init__(self, world: World) -> None:
        self.world = world
        self.longest = max(length for _, _, lengths in world.arrivals for length in lengths)
        self.first = ""
        self.turn: tuple[UnitReservation, int | None, int] | None = None
        self.ends: dict[int, tuple[int, int]] = {}
        self.ratio = Fraction(0)
        self.waits = self.backfilled = 0

    def asking(self, queue: FairQueue, capacity: Capacity) -> None:
        """Note whose turn it is, and that nothing that was promised is late."""
        steps = queue.explain(capacity.now)
        self.first = steps[-1].chosen if steps else ""
        if self.turn is not None and self.turn[1] is not None:
            waiting, due, _ = self.turn
            assert capacity.now <= due or capacity.fits(waiting.unit)

    def answered(
        self, queue: FairQueue, capacity: Capacity, chosen: DispatchTicket | ReservedUnit | None
    ) -> None:
        """Note a reservation that was given, and check who started beside one."""
        now = capacity.now
        if self.turn is not None:
            waiting, due, until = self.turn
            if isinstance(chosen, DispatchTicket) and chosen.unit == waiting.unit:
                assert chosen.turn_us == waiting.since_us
                self.ratio = max(
                    self.ratio, Fraction(now - waiting.since_us, max(until - waiting.since_us, 1))
                )
                assert due is None or now <= due
                self.turn = None
            elif isinstance(chosen, DispatchTicket):
                self.backfilled += 1
                assert not capacity.fits(waiting.unit)
                assert due is None or not makes_later(capacity, chosen.unit, waiting.unit)
                if due is None:
                    self.turn = (waiting, capacity.due_us(waiting.unit), until)
        if self.turn is None and queue.reserved is not None:
            waiting = queue.reserved
            assert waiting.job == self.first
            assert waiting.since_us == now
            assert not capacity.fits(waiting.unit)
            self.waits += 1
            due = capacity.due_us(waiting.unit)
            assert waiting.due_us == due
            told = [end for end, _ in capacity.ends]
            known = due is not None
            longest = max((end for end in told if end is not None), default=now)
            allowed = (1 + self.world.bypass_limit) * self.longest
            self.turn = (waiting, due, longest if known else now + allowed)
            if isinstance(chosen, DispatchTicket):
                assert not makes_later(capacity, chosen.unit, waiting.unit)


class IdleMeter(Meter):
    """Holds that nothing that may start waits beside free capacity."""

    def answered(
        self, queue: FairQueue, capacity: Capacity, chosen: DispatchTicket | ReservedUnit | None
    ) -> None:
        """Look through all that waits, once the queue says that nothing may start."""
        if isinstance(chosen, DispatchTicket):
            return
        kept = queue.reserved
        for job in queue.tree.flows.values():
            if isinstance(job, QueueJob):
                for unit in list(job.waiting)[: queue.look_ahead]:
                    assert not capacity.fits(unit) or (
                        kept is not None
                        and unit != kept.unit
                        and makes_later(capacity, unit, kept.unit)
                    )


def makes_later(capacity: Capacity, unit: DispatchUnit, waiting: DispatchUnit) -> bool:
    """Return whether a unit that starts now would take what the waiting one needs when it is due.

    Counted thread by thread: at each end that is known, from the last one back.
    """
    known = sorted((end, n) for end, n in capacity.ends if end is not None)
    free, due = capacity.free, None
    for end, n in [(capacity.now, 0), *known]:
        free += n
        if due is None and free >= waiting.width:
            due = end
    if due is None:
        return False
    here = capacity.free + sum(n for end, n in known if end <= due)
    ended = unit.length_us is not None and capacity.now + unit.length_us <= due
    return not ended and here - unit.width < waiting.width


def watched(world: World) -> tuple[TurnMeter, Fraction]:
    """Run a world with a forecast; return the meter of turns, and the worst gap of two values."""
    queue = queue_of(world)
    turns, tallies = TurnMeter(world), TallyMeter(world, queue)
    idle = [IdleMeter()] if world.bypass_limit == NO_LIMIT else []
    log = run(world, queue, turns, tallies, *idle, foresee=True)

    assert len(log) == sum(len(lengths) for _, _, lengths in world.arrivals)
    assert queue.set_aside == []
    return turns, tallies.ratio


def check(title: str, worlds: Iterable[World]) -> None:
    """Hold waits and gaps of many worlds against their bounds."""
    wait = gap = Fraction(0)
    waits = backfilled = count = 0
    for world in worlds:
        turns, ratio = watched(world)
        count += 1
        waits, backfilled = waits + turns.waits, backfilled + turns.backfilled
        wait = max(wait, turns.ratio)
        gap = max(gap, ratio / (2 + world.bypass_limit))
    say(f"{title}, {count} trees, {waits} waits, {backfilled} backfilled:")
    say(f"worst ratios to the bounds: wait {float(wait):.4f}, gap {float(gap):.4f}")

    assert waits > count
    assert backfilled
    assert wait <= 1
    assert gap <= 1


def without_limit(seed: int) -> World:
    """Return a world in which use of capacity goes before shares; some lengths are not known."""
    rng = random.Random(seed)
    world = random_gang_world(rng)
    world.bypass_limit = NO_LIMIT
    world.unknown = frozenset(job for job in world.widths if rng.random() < 0.2)
    return world


def partly_known(seed: int) -> World:
    """Return a world in which the queue is not told the lengths of some jobs."""
    rng = random.Random(seed)
    world = random_gang_world(rng)
    world.unknown = frozenset(n for n in world.parents if n.startswith("j") and rng.random() < 0.4)
    return world


def stream(units: int) -> World:
    """Return singles that never end on four threads, which free up one by one, and gangs of four.

    A single ends every second, and another is there, so four threads are never free at once
    unless someone keeps them free. A single of three ends before the gang is due, the others
    do not.
    """
    rng = random.Random(units)
    parents = {"g0": "", "g1": "", "jwide": "g0", "jnarrow": "g1"}
    weights = {"g0": 4000, "g1": 1000, "jwide": 1000, "jnarrow": 1000}
    singles = [rng.choice([1, 4, 4]) for _ in range(units)]
    arrivals = [(0, "jnarrow", [1, 2, 3, 4, *singles])]
    arrivals += [(1 + 10 * i, "jwide", [1]) for i in range(units // 20)]
    return World(parents, weights, arrivals, capacity=4, widths={"jwide": 4})


@trees(8, 400, range(1_000, 4_000))
def test_a_unit_that_has_its_turn_waits_no_longer_than_what_runs_then(seeds: range) -> None:
    """
    Known lengths: it starts when it is due, which is never put off; the shares hold, too.
    """
    check("known lengths", (random_gang_world(random.Random(seed)) for seed in seeds))


@trees(8, 200, range(1_000, 2_500))
def test_where_lengths_are_not_known_the_limit_bounds_the_wait(seeds: range) -> None:
    """
    Then it waits for 1 + bypass limit of the longest lengths at most.
    """
    check("partly known", (partly_known(seed) for seed in seeds))


@trees(10, 150, range(1_000, 2_000))
def test_newcomers_without_end_keep_nothing_waiting(seeds: range) -> None:
    """
    The same where new flows never stop coming, and lengths are known or not.
    """
    check("newcomers", (endless_gang_world(random.Random(seed)) for seed in seeds))


@trees(8, 200, range(1_000, 2_500))
def test_without_a_limit_nothing_is_free_that_can_be_used(seeds: range) -> None:
    """
    Nobody who fits and cannot put off the unit that waits is kept waiting, ever.
    """
    check("no limit", (without_limit(seed) for seed in seeds))


def finished(world: World, *, foresee: bool, limit: int) -> tuple[int, int]:
    """Run a world; return the longest wait of a gang, and when all has ended."""
    world.bypass_limit = limit
    log = run(world, queue_of(world), foresee=foresee)
    arrived = sorted(time for time, job, _ in world.arrivals if job == "jwide")
    started = sorted(start for start, job, _ in log if job == "jwide")
    wait = max(start - time for start, time in zip(started, arrived, strict=True))
    return wait, max(start + length for start, _, length in log)


def test_rivals_starve_gangs_or_waste_capacity() -> None:
    """
    The same endless stream: unlimited backfill keeps gangs waiting until the stream has
    ended, strict order leaves threads free; with reservations neither happens.
    """
    for units in (100, 200, 400):
        ours = finished(stream(units), foresee=True, limit=NO_LIMIT)
        strict = finished(stream(units), foresee=True, limit=0)
        backfill = finished(stream(units), foresee=False, limit=NO_LIMIT)
        say(f"{units} singles: longest wait of a gang, end of all: with reservations {ours},")
        say(f"in strict order {strict}, backfill without reservations {backfill}")

        assert ours[0] <= 4
        assert ours[1] < strict[1]
        assert backfill[0] > units // 3


def floor_of(now: int, free: int, *ends: tuple[int | None, int]) -> Capacity:
    """Return free threads, and (told end, threads) of what runs."""
    return Capacity(now, free, list(ends))


def ask(queue: FairQueue, capacity: Capacity) -> DispatchTicket | ReservedUnit | None:
    """Ask a queue that foresees."""
    return queue.next_that_fits(capacity.now, capacity.fits, capacity)


def wide_and_narrow(limit: int = 8, hold_us: int = 100) -> FairQueue:
    """Return a queue in which a gang of four waits before singles of 5 and 50."""
    queue = FairQueue(bypass_limit=limit, hold_us=hold_us)
    for job in ("wide", "narrow"):
        queue.add_job(job)
    queue.submit("wide", DispatchUnit("gang", 10, 4), DispatchUnit("young", 5, 1))
    queue.submit("narrow", DispatchUnit("long", 50), *(DispatchUnit(i, 5) for i in range(5)))
    return queue


def test_what_fits_and_would_put_off_the_gang_waits() -> None:
    """
    Four threads are free at 20: the younger unit of five goes, and then it is the other job's
    turn, of which the single of fifty waits; at 16 all wait for the gang.
    """
    queue = wide_and_narrow()
    first = ask(queue, floor_of(0, 1, (20, 3)))
    second = ask(queue, floor_of(5, 1, (20, 3)))
    third = ask(queue, floor_of(16, 1, (20, 3)))

    assert isinstance(first, DispatchTicket)
    assert isinstance(second, DispatchTicket)
    assert (first.unit.key, second.unit.key) == ("young", 0)
    assert third == ReservedUnit("wide", DispatchUnit("gang", 10, 4), passes=1)
    assert queue.reserved == UnitReservation("wide", DispatchUnit("gang", 10, 4), 0, 20)
    started = expect(DispatchTicket, ask(queue, floor_of(20, 4)))
    assert (started.unit.key, started.turn_us, started.passes) == ("gang", 0, 1)
    assert queue.reserved is None


def test_the_limit_bounds_what_goes_before_even_if_it_does_no_harm() -> None:
    """
    Shares go before use: after two the thread stays free, though others would end in time.
    """
    queue = wide_and_narrow(limit=2)
    queue.tree.job("wide").waiting.pop()
    chosen = [ask(queue, floor_of(now, 1, (100, 3))) for now in (0, 5, 10)]

    assert [isinstance(one, DispatchTicket) for one in chosen] == [True, True, False]


def test_a_gang_starts_as_soon_as_it_fits_though_others_had_less_by_then() -> None:
    """
    Its own job's younger unit has gone before it, so another job is less served; it starts
    first all the same, which counts as a pass of that job.
    """
    queue = wide_and_narrow()
    ask(queue, floor_of(0, 1, (20, 3)))
    steps = queue.explain(20)
    started = ask(queue, floor_of(20, 4))

    assert steps[-1].chosen == "narrow"
    assert isinstance(started, DispatchTicket)
    assert started.unit.key == "gang"
    assert queue.tree.job("narrow").passes == 1


def test_what_runs_for_too_long_is_waited_for_and_then_the_gang_is_set_aside() -> None:
    """
    What should have ended at 20 may end at any moment; after 100 more the gang is set aside.
    """
    queue = wide_and_narrow()
    ask(queue, floor_of(0, 1, (20, 3)))
    late = [ask(queue, floor_of(now, 1, (now, 3))) for now in (20, 119)]
    then = ask(queue, floor_of(120, 1, (120, 3)))

    assert [isinstance(one, ReservedUnit) for one in late] == [True, True]
    assert queue.set_aside == [("wide", DispatchUnit("gang", 10, 4))]
    assert isinstance(then, DispatchTicket)


def test_a_gang_is_not_set_aside_before_it_is_due() -> None:
    """
    It may be held for 100, and is due at 500: at 499 it waits still.
    """
    queue = wide_and_narrow(limit=0)
    chosen = [ask(queue, floor_of(now, 1, (500, 3))) for now in (0, 100, 499, 500)]

    assert all(isinstance(one, ReservedUnit) for one in chosen)
    assert isinstance(ask(queue, floor_of(500, 4)), DispatchTicket)


def test_a_reservation_is_given_up_with_its_unit() -> None:
    """
    Whoever dispatches it in another way, or puts another unit before it, ends it.
    """
    queue = wide_and_narrow()
    ask(queue, floor_of(0, 1, (20, 3)))
    queue.next(1)
    queue.next(1)

    assert [ticket.unit.key for ticket in queue.in_flight.values()][-1] == "gang"
    assert queue.reserved is None


def test_a_queue_with_a_reservation_survives_a_restart() -> None:
    """
    When its turn came and when it is due are part of the snapshot.
    """
    queue = wide_and_narrow()
    ask(queue, floor_of(0, 1, (20, 3)))
    again = restore_queue(
        parse_queue_snapshot_json(queue_snapshot_json_text(take_queue_snapshot(queue)))
    )

    assert again.reserved == queue.reserved is not None
    assert ask(again, floor_of(16, 1, (20, 3))) == ask(queue, floor_of(16, 1, (20, 3)))
    assert take_queue_snapshot(again) == take_queue_snapshot(queue)


@pytest.mark.parametrize(
    "seeds", [range(30), pytest.param(range(30, 300), marks=pytest.mark.check)]
)
def test_what_is_taken_back_as_a_whole_leaves_no_trace(seeds: range) -> None:
    """
    Some dispatches with passes, reservations and units set aside, then an error: the queue
    is what it was, but for the sequence numbers.
    """
    for seed in seeds:
        rng = random.Random(seed)
        world = random_gang_world(rng)
        queue = queue_of(world)
        for now, job, lengths in world.arrivals:
            width = world.widths.get(job, 1)
            queue.submit(
                job, *(DispatchUnit(i, n, width) for i, n in enumerate(lengths)), now_us=now
            )
        now, free, ends = 0, world.capacity, list[tuple[int | None, int]]()
        for _ in range(8):
            before = take_queue_snapshot(queue)
            with pytest.raises(ZeroDivisionError):
                _start_in_vain(queue, now, free, ends, rng.randint(1, 5))
            assert replace(take_queue_snapshot(queue), sequence=before.sequence) == before
            ends = _start_some(queue, now, free, ends, rng.randint(1, 3))
            free = world.capacity - sum(n for _, n in ends)
            now = min([end for end, _ in ends if end is not None], default=now)
            free += sum(n for end, n in ends if end == now)
            ends = [(end, n) for end, n in ends if end != now]


def _start_in_vain(
    queue: FairQueue, now: int, free: int, ends: list[tuple[int | None, int]], most: int
) -> None:
    with queue.all_or_none():
        _start_some(queue, now, free, ends, most)
        raise ZeroDivisionError


def _start_some(
    queue: FairQueue, now: int, free: int, ends: list[tuple[int | None, int]], most: int
) -> list[tuple[int | None, int]]:
    """Start so many units at most; return the ends of all that runs then."""
    ends = list(ends)
    for _ in range(most):
        chosen = ask(queue, Capacity(now, free, ends))
        if not isinstance(chosen, DispatchTicket):
            break
        ends.append((now + (chosen.unit.length_us or 0), chosen.unit.width))
        free -= chosen.unit.width
    return ends
