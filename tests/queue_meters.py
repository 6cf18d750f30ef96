"""Meters that say Q8 and Q9 word for word, of runs of random trees.

They know nothing of how the queue decides. They see true lengths when units start, and
compare siblings, at every level, after every event.
"""

from collections import defaultdict
from fractions import Fraction

from placer.queue.fair import FairQueue
from placer.queue.model import DispatchTicket
from queue_worlds import Meter, World


class LevelMeter(Meter):
    """What meters of siblings share: who waits, who was served since, how long units are.

    Attributes:
        most: M, the largest L/w of all siblings, by group.
        rounding: What the rounding of a start may come to, a thread-microsecond over weight.
    """

    def __init__(self, world: World) -> None:
        self.world = world
        self.siblings: dict[str, list[str]] = defaultdict(list)
        for name, parent in world.parents.items():
            self.siblings[parent].append(name)
        self.waiting: dict[str, int] = defaultdict(int)
        self.served: set[str] = set()
        self.longest: dict[str, int] = defaultdict(lambda: 1)
        self.most: dict[str, Fraction] = defaultdict(Fraction)
        self.most_service: dict[str, int] = defaultdict(lambda: 1)
        self.rounding = {
            group: max(self.over(name, 1) for name in names)
            for group, names in self.siblings.items()
        }

    def arrived(self, job: str, units: int, now: int) -> None:
        """Note that units wait; whoever had none starts, and was not served since."""
        for name in self.world.path(job):
            self.waiting[name] += units
            if self.waiting[name] == units:
                self.served.discard(name)
                self.started(name, now)

    def dispatched(self, ticket: DispatchTicket, length: int, now: int) -> None:
        """Note the longest unit, that the flow was served, and who waits no more."""
        path = self.world.path(ticket.job)
        self.note(ticket, length)
        for name in path:
            self.charged(name, ticket, length * ticket.unit.width)
        for name in path:
            self.served.add(name)
            self.waiting[name] -= 1
        for name in path:
            self.measure(name)

    def started(self, name: str, now: int) -> None:
        """Note that a flow waits that did not."""

    def charged(self, name: str, ticket: DispatchTicket, service: int) -> None:
        """Note that a flow has been served; it counts as waiting yet."""

    def measure(self, name: str) -> None:
        """Measure, where a flow has changed, what holds at all times."""

    def note(self, ticket: DispatchTicket, length: int) -> None:
        """Note how long units of the flows are."""
        for name in self.world.path(ticket.job):
            whole = length * ticket.unit.width
            self.longest[name] = longest = max(self.longest[name], whole, ticket.charge)
            group = self.world.parents[name]
            self.most[group] = max(self.most[group], self.step(name))
            self.most_service[group] = max(self.most_service[group], longest)

    def others(self, name: str) -> list[str]:
        """Return the siblings that wait."""
        group = self.siblings[self.world.parents[name]]
        return [other for other in group if other != name and self.waiting[other]]

    def over(self, name: str, amount: int) -> Fraction:
        """Return an amount over the weight of a flow."""
        return Fraction(amount * 1000, self.world.weights_milli[name])

    def step(self, name: str) -> Fraction:
        """Return L/w of a flow, as far as its units were seen."""
        return self.over(name, self.longest[name])


class PairMeter(LevelMeter):
    """Q9 itself: dispatched service over weight, pair by pair, since both wait.

    Attributes:
        interval_ratio: Worst |Di/wi - Dj/wj| over Li/wi + Lj/wj, over any interval in
            which both siblings wait and before which both were served since their start.
        start_ratio: Worst over max(Li/wi, Lj/wj), for pairs that began as equals; one
            thread-microsecond over weight is for the rounding of starts.
        any_ratio: Worst over 2 M, over any interval in which both wait.
    """

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.service: dict[str, int] = defaultdict(int)
        self.began: dict[tuple[str, str], tuple[Fraction, Fraction, bool]] = {}
        self.settled: dict[tuple[str, str], tuple[Fraction, Fraction]] = {}
        self.awake_before: set[str] = set()
        self.start_time: dict[str, int] = {}
        self.interval_ratio = Fraction(0)
        self.start_ratio = Fraction(0)
        self.any_ratio = Fraction(0)

    def started(self, name: str, now: int) -> None:
        """Begin an interval for each sibling that waits too."""
        fresh = name not in self.awake_before
        self.awake_before.add(name)
        self.start_time[name] = now if fresh else -1
        for other in self.others(name):
            # Equals: both wake for the first time at the same moment, so neither
            # carries anything along.
            equal = fresh and self.start_time[other] == now and self.service[other] == 0
            pair = (min(name, other), max(name, other))
            self.began[pair] = (self._normal(pair[0]), self._normal(pair[1]), equal)
            self.settled.pop(pair, None)

    def charged(self, name: str, ticket: DispatchTicket, service: int) -> None:
        """Charge the true length."""
        self.service[name] += service

    def dispatched(self, ticket: DispatchTicket, length: int, now: int) -> None:
        """Compare all pairs, end intervals of who waits no more, begin settled ones."""
        super().dispatched(ticket, length, now)
        for name in self.world.path(ticket.job):
            for other in self.others(name):
                self._compare(min(name, other), max(name, other))
            if not self.waiting[name]:
                self.began = {pair: b for pair, b in self.began.items() if name not in pair}
                self.settled = {pair: b for pair, b in self.settled.items() if name not in pair}

    def _compare(self, a: str, b: str) -> None:
        here = self._normal(a), self._normal(b)
        step_a, step_b = self.step(a), self.step(b)
        group = self.world.parents[a]
        if (a, b) in self.settled:
            gap = _gap(here, self.settled[a, b])
            self.interval_ratio = max(self.interval_ratio, gap / (step_a + step_b))
        elif a in self.served and b in self.served:
            self.settled[a, b] = here
        if (a, b) in self.began:
            from_a, from_b, equal = self.began[a, b]
            gap = _gap(here, (from_a, from_b))
            bound = 2 * (self.most[group] + self.rounding[group])
            self.any_ratio = max(self.any_ratio, gap / bound)
            if equal:
                bound = max(step_a, step_b) + max(self.over(a, 1), self.over(b, 1))
                self.start_ratio = max(self.start_ratio, gap / bound)

    def _normal(self, name: str) -> Fraction:
        return self.over(name, self.service[name])


def _gap(here: tuple[Fraction, Fraction], there: tuple[Fraction, Fraction]) -> Fraction:
    return abs((here[0] - there[0]) - (here[1] - there[1]))


class TallyMeter(LevelMeter):
    """The gaps between the values that the queue keeps, of siblings that wait, at all times.

    M is the largest L/w of all siblings, where L is the longest of lengths and estimates;
    E the errors over weight of the units in flight, at their worst moment.

    Attributes:
        ratio: Worst spread over M + E and the rounding of a start.
        virtual_ratio: The same of the virtual time over the lowest value.
        pair_ratio: Worst gap over max(Li/wi, Lj/wj) + E, where both were served since
            their start.
        plain_ratio: Worst spread over M and the rounding, without the errors.
        fell: Whether a virtual time ever fell.
    """

    def __init__(self, world: World, queue: FairQueue) -> None:
        super().__init__(world)
        self.queue = queue
        self.errors: dict[str, Fraction] = defaultdict(Fraction)
        self.worst_errors: dict[str, Fraction] = defaultdict(Fraction)
        self.virtual: dict[str, int] = defaultdict(int)
        self.ratio = Fraction(0)
        self.virtual_ratio = Fraction(0)
        self.pair_ratio = Fraction(0)
        self.plain_ratio = Fraction(0)
        self.fell = False

    def arrived(self, job: str, units: int, now: int) -> None:
        """A start from idleness may widen a gap; it must not."""
        super().arrived(job, units, now)
        for name in self.world.path(job):
            self.measure(name)

    def charged(self, name: str, ticket: DispatchTicket, service: int) -> None:
        """Note the error of a unit in flight."""
        self._err(name, abs(ticket.charge - service))

    def finished(self, ticket: DispatchTicket, length: int, now: int) -> None:
        """The error is corrected: it is in flight no more."""
        for name in self.world.path(ticket.job):
            self._err(name, -abs(ticket.charge - length * ticket.unit.width))
            self.measure(name)

    def _err(self, name: str, error: int) -> None:
        group = self.world.parents[name]
        self.errors[group] += self.over(name, error)
        self.worst_errors[group] = max(self.worst_errors[group], self.errors[group])

    def measure(self, name: str) -> None:
        """Compare all siblings that wait."""
        group, flows = self.world.parents[name], self.queue.tree.flows
        above = self.queue.tree.group(group) if group else self.queue.tree.root
        self.fell |= above.virtual < self.virtual[group]
        self.virtual[group] = above.virtual
        waiting = [n for n in self.siblings[group] if flows[n].entry is not None]
        keys = [flows[n].key(flows[n].tally) for n in waiting]
        if not keys:
            return
        spread, ahead = _value(max(keys) - min(keys)), _value(above.virtual - min(keys))
        most = self.most[group] + self.rounding[group]
        errors = self.worst_errors[group]
        self.plain_ratio = max(self.plain_ratio, spread / most)
        self.ratio = max(self.ratio, spread / (most + errors))
        self.virtual_ratio = max(self.virtual_ratio, ahead / (most + errors))
        if name not in self.served or flows[name].entry is None:
            return
        here = self.over(name, flows[name].tally)
        for other in waiting:
            if other != name and other in self.served:
                gap = abs(here - self.over(other, flows[other].tally))
                bound = max(self.step(name), self.step(other)) + errors
                self.pair_ratio = max(self.pair_ratio, gap / bound)


def _value(key: int) -> Fraction:
    return Fraction(key * 1000, 2**62)


class WaitMeter(LevelMeter):
    """How long siblings keep each other waiting, at every level, in service and virtual time.

    With W the most weight that waited at once meanwhile, a flow's siblings are charged at
    most 3 M W before its first dispatch since its start, and W (L/w + 3 M) + Lmax between
    two dispatches; the virtual time rises by at most 2 M in between.

    Attributes:
        first_ratio: Worst wait for a first dispatch over its bound.
        next_ratio: Worst wait between two dispatches over its bound.
        rise_ratio: Worst rise of the virtual time between two dispatches over 2 M.
    """

    def __init__(self, world: World, queue: FairQueue) -> None:
        super().__init__(world)
        self.queue = queue
        self.given: dict[str, int] = defaultdict(int)
        self.weight_milli: dict[str, int] = defaultdict(int)
        self.virtual: dict[str, int] = {}
        self.first_ratio = Fraction(0)
        self.next_ratio = Fraction(0)
        self.rise_ratio = Fraction(0)

    def started(self, name: str, now: int) -> None:
        """Begin to count."""
        self.given[name] = self.weight_milli[name] = 0

    def charged(self, name: str, ticket: DispatchTicket, service: int) -> None:
        """Count for who waits on, and hold the wait that ends against its bound."""
        group = self.world.parents[name]
        others = self.others(name)
        weight_milli = sum(self.world.weights_milli[n] for n in (name, *others))
        for sibling in (name, *others):
            self.weight_milli[sibling] = max(self.weight_milli[sibling], weight_milli)
        for other in others:
            self.given[other] += service
        most = self.most[group] + self.rounding[group]
        waited, weight = self.given[name], Fraction(self.weight_milli[name], 1000)
        above = self.queue.tree.group(group) if group else self.queue.tree.root
        if name in self.served:
            bound = weight * (self.step(name) + 3 * most) + self.most_service[group]
            self.next_ratio = max(self.next_ratio, waited / bound)
            level = self.world.path(ticket.job).index(name)
            before = above.virtual - ticket.rises[level].in_all
            rise = _value(before - self.virtual[name])
            self.rise_ratio = max(self.rise_ratio, rise / (2 * most))
        else:
            self.first_ratio = max(self.first_ratio, waited / (3 * most * weight))
        self.given[name] = self.weight_milli[name] = 0
        self.virtual[name] = above.virtual
