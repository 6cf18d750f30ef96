"""Random trees with arrivals, idling and unknown lengths, and meters that say Q9 word for word.

The meters know nothing of how the queue decides. They see true lengths when units start
and compare every pair of siblings, at every level, after every dispatch.
"""

import heapq
import random
import sys
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from placer.queue.fair import FairQueue
from placer.queue.words import Charge, Ticket, Unit

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


def queue_of(world: World, charge: Charge = Charge.DISPATCH) -> FairQueue:
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


def say(text: str) -> None:
    """Print a figure that a test found; pytest -s shows it."""
    sys.stdout.write(f"{text}\n")


class Meter:
    """What a run may be watched with; ``run`` calls it at every event."""

    def arrived(self, job: str, units: int, now: int) -> None:
        """Note that units of the job wait."""

    def dispatched(self, ticket: Ticket, length: int, now: int) -> None:
        """Note that a unit starts, with its true length."""

    def finished(self, ticket: Ticket, length: int, now: int) -> None:
        """Note that a unit ends."""


def run(
    world: World,
    queue: FairQueue,
    *meters: Meter,
    renew: Callable[[FairQueue], FairQueue] = lambda queue: queue,
) -> list[tuple[int, str, int]]:
    """Run the world to its end; return (start, job, length) of every unit in order.

    ``renew`` may put another queue in the place of the one that runs, at every event.
    """
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
                units.append(Unit(i, length if world.known else None, width))
            queue.submit(job, *units, now_us=now)
            for meter in meters:
                meter.arrived(job, len(units), now)
        if events and events[0][0] == now:
            continue
        while busy < capacity and (ticket := _next(world, queue, capacity - busy, now)) is not None:
            length = lengths[ticket.job, ticket.unit.key]
            busy += ticket.unit.width
            log.append((now, ticket.job, length))
            heapq.heappush(events, (now + length, 0, ticket.sequence, (ticket, length)))
            for meter in meters:
                meter.dispatched(ticket, length, now)
    return log


def _next(world: World, queue: FairQueue, free: int, now: int) -> Ticket | None:
    if not world.widths:
        return queue.next(now)
    chosen = queue.next_that_fits(now, lambda unit: unit.width <= free)
    return chosen if isinstance(chosen, Ticket) else None


class PairMeter(Meter):
    """Q9 itself: dispatched service over weight, pair by pair, since both wait.

    Attributes:
        interval_ratio: Worst |Di/wi - Dj/wj| over Li/wi + Lj/wj, over any interval in
            which both siblings wait.
        start_ratio: Worst over max(Li/wi, Lj/wj), for pairs that began as equals.
    """

    def __init__(self, world: World) -> None:
        self.world = world
        self.waiting: dict[str, int] = defaultdict(int)
        self.service: dict[str, int] = defaultdict(int)
        self.longest: dict[str, int] = defaultdict(lambda: 1)
        self.began: dict[tuple[str, str], tuple[Fraction, Fraction, bool]] = {}
        self.awake_before: set[str] = set()
        self.start_time: dict[str, int] = {}
        self.interval_ratio = Fraction(0)
        self.start_ratio = Fraction(0)
        self.siblings: dict[str, list[str]] = defaultdict(list)
        for name, parent in world.parents.items():
            self.siblings[parent].append(name)

    def arrived(self, job: str, units: int, now: int) -> None:
        """Begin an interval for each sibling that waits too."""
        for name in self.world.path(job):
            self.waiting[name] += units
            if self.waiting[name] > units:
                continue
            fresh = name not in self.awake_before
            self.awake_before.add(name)
            self.start_time[name] = now if fresh else -1
            for other in self._others(name):
                # Equals: both wake for the first time at the same moment, so neither
                # carries anything along.
                equal = fresh and self.start_time[other] == now and self.service[other] == 0
                pair = (min(name, other), max(name, other))
                self.began[pair] = (self._normal(pair[0]), self._normal(pair[1]), equal)

    def dispatched(self, ticket: Ticket, length: int, now: int) -> None:
        """Charge the true length, compare all pairs, end intervals of who waits no more."""
        path = self.world.path(ticket.job)
        for name in path:
            self.service[name] += length * ticket.unit.width
            self.longest[name] = max(self.longest[name], length * ticket.unit.width)
        for name in path:
            for other in self._others(name):
                self._compare(min(name, other), max(name, other))
        for name in path:
            self.waiting[name] -= 1
            if not self.waiting[name]:
                self.began = {pair: b for pair, b in self.began.items() if name not in pair}

    def _compare(self, a: str, b: str) -> None:
        from_a, from_b, equal = self.began[a, b]
        gap = abs((self._normal(a) - from_a) - (self._normal(b) - from_b))
        step_a, step_b = self._step(a), self._step(b)
        self.interval_ratio = max(self.interval_ratio, gap / (step_a + step_b))
        if equal:
            self.start_ratio = max(self.start_ratio, gap / max(step_a, step_b))

    def _others(self, name: str) -> list[str]:
        group = self.siblings[self.world.parents[name]]
        return [other for other in group if other != name and self.waiting[other]]

    def _normal(self, name: str) -> Fraction:
        return Fraction(self.service[name] * 1000, self.world.weights_milli[name])

    def _step(self, name: str) -> Fraction:
        return Fraction(self.longest[name] * 1000, self.world.weights_milli[name])


class TallyMeter(Meter):
    """The gap between the values that the queue keeps, of siblings that wait, at all times.

    With estimates the bound is max(Li/wi, Lj/wj), where L is the longest of lengths and
    estimates, plus the errors over weight of the units in flight, at their worst moment.

    Attributes:
        ratio: Worst gap over the bound.
        plain_ratio: Worst gap over max(Li/wi, Lj/wj).
    """

    def __init__(self, world: World, queue: FairQueue) -> None:
        self.world, self.queue = world, queue
        self.longest: dict[str, int] = defaultdict(lambda: 1)
        self.errors: dict[str, Fraction] = defaultdict(Fraction)
        self.worst_errors: dict[str, Fraction] = defaultdict(Fraction)
        self.ratio = Fraction(0)
        self.plain_ratio = Fraction(0)

    def dispatched(self, ticket: Ticket, length: int, now: int) -> None:
        """Note charge and error of a unit in flight."""
        self.note(ticket, length)
        self._err(ticket, length, 1)
        self.measure()

    def note(self, ticket: Ticket, length: int) -> None:
        """Note how long units of the flows are."""
        for name in self.world.path(ticket.job):
            whole = length * ticket.unit.width
            self.longest[name] = max(self.longest[name], whole, ticket.charge)

    def finished(self, ticket: Ticket, length: int, now: int) -> None:
        """The error is corrected: it is in flight no more."""
        self._err(ticket, length, -1)
        self.measure()

    def arrived(self, job: str, units: int, now: int) -> None:
        """A start from idleness may widen a gap; it must not."""
        self.measure()

    def _err(self, ticket: Ticket, length: int, sign: int) -> None:
        error = abs(ticket.charge - length * ticket.unit.width)
        for name in self.world.path(ticket.job):
            group = self.world.parents[name]
            self.errors[group] += sign * Fraction(error * 1000, self.world.weights_milli[name])
            self.worst_errors[group] = max(self.worst_errors[group], self.errors[group])

    def measure(self) -> None:
        """Compare all siblings that wait."""
        groups: dict[str, list[str]] = defaultdict(list)
        for name, flow in self.queue.tree.flows.items():
            if flow.entry is not None:
                groups[self.world.parents[name]].append(name)
        for group, names in groups.items():
            values = {n: self._over(n, self.queue.tree.flows[n].tally) for n in names}
            for a in names:
                for b in names:
                    if values[a] > values[b]:
                        step = max(self._over(a, self.longest[a]), self._over(b, self.longest[b]))
                        gap = values[a] - values[b]
                        self.plain_ratio = max(self.plain_ratio, gap / step)
                        self.ratio = max(self.ratio, gap / (step + self.worst_errors[group]))

    def _over(self, name: str, amount: int) -> Fraction:
        return Fraction(amount * 1000, self.world.weights_milli[name])
