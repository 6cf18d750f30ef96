"""Random trees with arrivals, idling, newcomers and unknown lengths, and how they are run."""

import heapq
import random
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from placer.queue.fair import FairQueue
from placer.queue.model import DispatchTicket, DispatchUnit, FlowChargeTime, ReservedUnit

TOP = ""


@dataclass
class World:
    """A tree, its work, and the threads of capacity.

    Attributes:
        parents: Flow -> its group; "" is the top. Groups stand before their children.
        arrivals: (time, job, lengths): units that arrive together.
        changes: (time, threads): capacity that comes and goes; a thread in use leaves
            when its unit ends.
        widths: Threads that each unit of a job needs at once; 1 where it is not said.
        unknown: Jobs of whose units the queue is told no length.
    """

    parents: dict[str, str]
    weights_milli: dict[str, int]
    arrivals: list[tuple[int, str, list[int]]]
    capacity: int
    changes: list[tuple[int, int]] = field(default_factory=list)
    known: bool = True
    guess_us: int = 60
    widths: dict[str, int] = field(default_factory=dict)
    bypass_limit: int = 8
    unknown: frozenset[str] = frozenset()

    def path(self, job: str) -> list[str]:
        """Return the job and the groups above it, without the top."""
        names = [job]
        while parent := self.parents[names[-1]]:
            names.append(parent)
        return names


def random_world(rng: random.Random, *, known: bool) -> World:
    """Draw a tree of up to four levels, with work that comes in bursts and dries up."""
    parents: dict[str, str] = {}
    weights: dict[str, int] = {}
    groups = [TOP]
    for i in range(rng.randint(1, 5)):
        parents[f"g{i}"] = rng.choice(groups)
        weights[f"g{i}"] = _weight(rng)
        groups.append(f"g{i}")
    jobs = [f"j{i}" for i in range(rng.randint(2, 9))]
    for job in jobs:
        parents[job] = rng.choice(groups[1:])
        weights[job] = _weight(rng)
    longest = {job: rng.choice([1, 30, 120, 1000]) for job in jobs}
    arrivals = []
    for job in jobs:
        time = rng.choice([0, 0, rng.randint(0, 2000)])
        for _ in range(rng.randint(1, 4)):
            units = rng.choice([1, 2, 5, 40])
            arrivals.append((time, job, [rng.randint(1, longest[job]) for _ in range(units)]))
            time += rng.randint(1, 3000)
    changes = [(rng.randint(1, 4000), rng.randint(1, 8)) for _ in range(rng.choice([0, 0, 3]))]
    return World(parents, weights, sorted(arrivals), rng.randint(1, 8), sorted(changes), known)


def endless_world(rng: random.Random, *, known: bool = True) -> World:
    """Draw a tree in which newcomers never end, as jobs and as groups, beside large jobs.

    A stream brings a new flow each time, with few units, faster than the capacity can
    serve all; several streams, of different lengths, run at several levels.
    """
    parents: dict[str, str] = {}
    weights: dict[str, int] = {}
    groups = [TOP]
    for i in range(rng.randint(1, 3)):
        parents[f"g{i}"] = rng.choice(groups)
        groups.append(f"g{i}")
    arrivals: list[tuple[int, str, list[int]]] = []
    for i in range(rng.randint(1, 3)):
        parents[f"j{i}"] = rng.choice(groups[1:])
        longest = rng.choice([1, 10, 100])
        arrivals.append((0, f"j{i}", [rng.randint(1, longest) for _ in range(rng.randint(5, 20))]))
    capacity = rng.randint(1, 3)
    for stream in range(rng.randint(1, 2)):
        group, longest, time = rng.choice(groups), rng.choice([1, 10, 100]), rng.randint(0, 50)
        for i in range(rng.randint(8, 25)):
            name = f"j-{stream}-{i}"
            if group == TOP or rng.random() < 0.3:
                parents[f"g-{name}"] = group
                parents[name] = f"g-{name}"
            else:
                parents[name] = group
            lengths = [rng.randint(1, longest) for _ in range(rng.choice([1, 1, 2, 5]))]
            arrivals.append((time, name, lengths))
            time += rng.choice([0, 0, rng.randint(1, 1 + longest // capacity)])
    for name in parents:
        weights[name] = _weight(rng)
    return World(parents, weights, sorted(arrivals), capacity, known=known)


def endless_gang_world(rng: random.Random) -> World:
    """Draw newcomers without end, of whom some have gangs, and lengths often are not known."""
    world = endless_world(rng, known=rng.random() < 0.5)
    world.capacity, world.bypass_limit = rng.randint(2, 6), rng.randint(0, 4)
    jobs = [name for name in world.parents if name.startswith("j")]
    world.widths = {job: rng.randint(1, world.capacity) for job in jobs if rng.random() < 0.5}
    world.widths.setdefault(jobs[0], 1)
    return world


def random_gang_world(rng: random.Random) -> World:
    """Draw a world in which some jobs have gangs, which often do not fit."""
    world = random_world(rng, known=True)
    world.changes.clear()
    world.capacity = rng.randint(2, 8)
    world.bypass_limit = rng.randint(0, 4)
    jobs = [name for name in world.parents if name.startswith("j")]
    world.widths = {job: rng.randint(1, world.capacity) for job in jobs if rng.random() < 0.6}
    return world


def _weight(rng: random.Random) -> int:
    return rng.choice([1000, 1000, 4000, 333, 7001, rng.randint(1, 9999)])


def queue_of(world: World, charge: FlowChargeTime = FlowChargeTime.DISPATCH) -> FairQueue:
    """Return a queue with the world's flows and no units."""
    queue = FairQueue(
        charge=charge,
        guess_us=world.guess_us,
        bypass_limit=world.bypass_limit,
        hold_us=10**9,
    )
    for name, parent in world.parents.items():
        weight = world.weights_milli[name]
        if name.startswith("g"):
            queue.add_group(name, weight_milli=weight, parent=parent or None)
        else:
            queue.add_job(name, weight_milli=weight, group=parent)
    return queue


def take(queue: FairQueue, count: int, now_us: int = 0) -> list[DispatchTicket]:
    """Dispatch so many units at one moment."""
    tickets = [queue.next(now_us) for _ in range(count)]
    return [ticket for ticket in tickets if ticket is not None]


def say(text: str) -> None:
    """Print a figure that a test found; pytest -s shows it."""
    sys.stdout.write(f"{text}\n")


@dataclass
class Capacity:
    """Threads of capacity at one moment: what the queue is told, and what is foreseen of them.

    Attributes:
        ends: (told end, threads) of what runs; None: the queue was not told a length.
    """

    now: int
    free: int
    ends: list[tuple[int | None, int]]

    def fits(self, unit: DispatchUnit) -> bool:
        """Return whether enough threads are free."""
        return unit.width <= self.free

    def free_at(self, time: int) -> int:
        """Return how many threads are free then, if nothing starts."""
        return self.free + sum(n for end, n in self.ends if end is not None and end <= time)

    def due_us(self, unit: DispatchUnit) -> int | None:
        """Return the first moment at which enough are free."""
        times = [self.now, *(end for end, _ in self.ends if end is not None)]
        return min((t for t in times if self.free_at(t) >= unit.width), default=None)

    def delays(self, unit: DispatchUnit, reserved: DispatchUnit) -> bool:
        """Return whether that moment comes later with the unit started: by trying it."""
        due = self.due_us(reserved)
        end = None if unit.length_us is None else self.now + unit.length_us
        after = Capacity(self.now, self.free - unit.width, [*self.ends, (end, unit.width)])
        later = after.due_us(reserved)
        return due is not None and (later is None or later > due)


class Meter:
    """What a run may be watched with; ``run`` calls it at every event."""

    def asking(self, queue: FairQueue, capacity: Capacity) -> None:
        """Note that the queue is about to be asked for a unit."""

    def answered(
        self, queue: FairQueue, capacity: Capacity, chosen: DispatchTicket | ReservedUnit | None
    ) -> None:
        """Note what it answered; the capacity is as it was when it was asked."""

    def arrived(self, job: str, units: int, now: int) -> None:
        """Note that units of the job wait."""

    def dispatched(self, ticket: DispatchTicket, length: int, now: int) -> None:
        """Note that a unit starts, with its true length."""

    def finished(self, ticket: DispatchTicket, length: int, now: int) -> None:
        """Note that a unit ends."""


def run(
    world: World,
    queue: FairQueue,
    *meters: Meter,
    renew: Callable[[FairQueue], FairQueue] = lambda queue: queue,
    foresee: bool = False,
) -> list[tuple[int, str, int]]:
    """Run the world to its end; return (start, job, length) of every unit in order.

    ``renew`` may put another queue in the place of the one that runs, at every event. With
    ``foresee`` the queue has a forecast.
    """
    running: dict[int, tuple[int | None, int]] = {}
    lengths: dict[tuple[str, int | str], int] = {}
    events: list[tuple[int, int, int, Any]] = []
    for i, arrival in enumerate(world.arrivals):
        heapq.heappush(events, (arrival[0], 2, i, arrival))
    for i, (time, threads) in enumerate(world.changes):
        heapq.heappush(events, (time, 1, i, threads))
    capacity, busy, log = world.capacity, 0, []
    while events:
        now, kind, _, what = heapq.heappop(events)
        queue = renew(queue)
        if kind == 0:
            ticket, length = what
            queue.finish(ticket, now)
            del running[ticket.sequence]
            busy -= ticket.unit.width
            for meter in meters:
                meter.finished(ticket, length, now)
        elif kind == 1:
            capacity = what
        else:
            _, job, burst = what
            first = len(lengths)
            units = []
            for i, length in enumerate(burst, start=first):
                lengths[job, i] = length
                width = world.widths.get(job, 1)
                told = length if world.known and job not in world.unknown else None
                units.append(DispatchUnit(i, told, width))
            queue.submit(job, *units, now_us=now)
            for meter in meters:
                meter.arrived(job, len(units), now)
        if events and events[0][0] == now:
            continue
        while busy < capacity:
            before = Capacity(now, capacity - busy, list(running.values()))
            for meter in meters:
                meter.asking(queue, before)
            chosen = _next(world, queue, before, foresee=foresee)
            for meter in meters:
                meter.answered(queue, before, chosen)
            if not isinstance(chosen, DispatchTicket):
                break
            ticket = chosen
            length = lengths[ticket.job, ticket.unit.key]
            told = ticket.unit.length_us
            running[ticket.sequence] = (told and now + told, ticket.unit.width)
            busy += ticket.unit.width
            log.append((now, ticket.job, length))
            heapq.heappush(events, (now + length, 0, ticket.sequence, (ticket, length)))
            for meter in meters:
                meter.dispatched(ticket, length, now)
        # Q1: threads of work fit any thread of capacity, so none is free while one waits.
        assert world.widths or busy >= capacity or not queue.tree.root.active
    return log


def _next(
    world: World, queue: FairQueue, capacity: Capacity, *, foresee: bool
) -> DispatchTicket | ReservedUnit | None:
    if not world.widths:
        return queue.next(capacity.now)
    return queue.next_that_fits(capacity.now, capacity.fits, capacity if foresee else None)


def trees(few: int, many: int, slow: range) -> pytest.MarkDecorator:
    """Run a test on a few trees in the gate, on many in the check, on others in the slow suite."""
    return pytest.mark.parametrize(
        "seeds",
        [
            range(few),
            pytest.param(range(few, many), marks=pytest.mark.check),
            pytest.param(slow, marks=pytest.mark.slow),
        ],
        ids=["few", "many", "others"],
    )
