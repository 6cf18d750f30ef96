"""The fair queue: least served first at every level of a tree of flows (Q5).

    queue = FairQueue()
    queue.add_group("medium", weight_milli=4000)
    queue.add_job("MED1", group="medium")
    queue.add_job("DEFAULT1")                       # in the default group
    queue.submit("MED1", WorkUnit(1, 60 * US_PER_S))
    ticket = queue.next(now_us=0)                   # a thread of capacity is free
    queue.finish(ticket, now_us=58 * US_PER_S)

``next`` serves threads of work: each fits any free thread of capacity. A gang may not
fit where there is room for a smaller one: ``next_that_fits`` and ``select`` let others
go before it, a bounded number of times. A decision costs O(log n) for n flows.
"""

from collections.abc import Collection

from placer.queue.bypass import (
    BlockedJob,
    Search,
    UnitFits,
    is_held,
    pass_over,
    turns_out_of_order,
)
from placer.queue.explain import steps_down
from placer.queue.flow import Flow, FlowGroup, Job
from placer.queue.flow_tree import FlowTree
from placer.queue.model import (
    ONE_MILLI,
    US_PER_S,
    Bypass,
    Charge,
    FlowChoice,
    FlowReport,
    HeldUnit,
    Pick,
    Selection,
    Ticket,
    WorkUnit,
)


class FairQueue:
    """A queue that decides whose unit is next. It reads no clock: callers tell it the time.

    Attributes:
        tree: The flows and their accounts.
        guess_us: Length charged for a unit of unknown length before any of its job has ended.
        bypass_limit: How often others may go before the oldest unit of a job, or before a
            flow that stands before them. After that it is held: nothing goes before it.
        hold_us: How long a unit may be held before it is set aside.
        look_ahead: How many units of a job are tried when its oldest does not fit.
        in_flight: Tickets not finished, by sequence number.
        set_aside: Units that found no room while they were held, each with its job.

    """

    def __init__(
        self,
        *,
        charge: Charge = Charge.DISPATCH,
        guess_us: int = 60 * US_PER_S,
        bypass_limit: int = 8,
        hold_us: int = 600 * US_PER_S,
        look_ahead: int = 16,
    ) -> None:
        for name, value, least in (
            ("guess_us", guess_us, 1),
            ("bypass_limit", bypass_limit, 0),
            ("hold_us", hold_us, 0),
            ("look_ahead", look_ahead, 1),
        ):
            if value < least:
                raise ValueError(f"{name} is {value}; it must be {least} or more")
        self.tree = FlowTree(charge)
        self.guess_us = guess_us
        self.bypass_limit = bypass_limit
        self.hold_us = hold_us
        self.look_ahead = look_ahead
        self.in_flight: dict[int, Ticket] = {}
        self.set_aside: list[tuple[str, WorkUnit]] = []

    def add_group(
        self, name: str, *, weight_milli: int = ONE_MILLI, parent: str | None = None
    ) -> None:
        """Add a group of flows below another group, or at the top."""
        self.tree.add_group(name, weight_milli, parent)

    def add_job(
        self,
        name: str,
        *,
        weight_milli: int = ONE_MILLI,
        group: str | None = None,
        served: int | None = None,
    ) -> None:
        """Add a job to a group; without one, to the default group.

        ``served`` is its recent past in thread-microseconds, from which it starts; without
        one it starts at the virtual time of its group.

        """
        job = self.tree.add_job(name, weight_milli, group)
        if served is not None:
            self.tree.set_recent(job, served)

    def remove(self, name: str) -> None:
        """Forget a job that has no units any more, or a group without flows."""
        if any(job == name for job, _ in self.set_aside):
            raise ValueError(f"a unit of '{name}' is set aside; retry it before the job is removed")
        self.tree.remove(name)

    def submit(self, job: str, *units: WorkUnit, now_us: int = 0) -> None:
        """Queue units behind those of the job that wait already."""
        flow = self.tree.job(job)
        for unit in units:
            if unit.width < 1 or (unit.length_us is not None and unit.length_us < 1):
                raise ValueError(
                    f"unit {unit.key!r} of job '{job}' has length {unit.length_us} us and width "
                    f"{unit.width}; both are at least 1, and an unknown length is None"
                )
        flow.waiting.extend(units)
        if units and flow.entry is None:
            self.tree.wake(flow, now_us)

    def next(self, now_us: int) -> Ticket | None:
        """Dispatch the oldest unit of the least served job, or return None if nothing waits."""
        job = self._least_served(now_us)
        return None if job is None else self._start(job, 0, now_us)

    def next_that_fits(self, now_us: int, fits: UnitFits) -> Ticket | HeldUnit | None:
        """Dispatch the least served unit that fits, or return None if none that was tried does.

        Younger units of a job may go before its oldest, then units of other jobs. A unit
        that is held and does not fit yet is returned instead: nothing may go before it.
        """
        search = Search(self.tree.charge, now_us, fits, self.bypass_limit, self.look_ahead)
        while isinstance(found := search.below(self.tree.root), BlockedJob):
            if not self._hold_ends(found.job, now_us):
                return HeldUnit(found.job.name, found.job.waiting[0], found.job.overtaken)
        if found is None:
            return None
        for job in found.tried:
            job.overtaken += 1
        ticket = self._start(found.job, found.position, now_us)
        for flow, by in found.skipped:
            pass_over(flow, by, self.tree.charge, now_us)
        return ticket

    def explain(self, now_us: int) -> tuple[FlowChoice, ...]:
        """Return the reasons for what ``next`` would choose, from the top of the tree down."""
        return steps_down(self.tree.root, self.tree.charge, now_us)

    def adopt(self, job: str, unit: WorkUnit, now_us: int) -> Ticket:
        """Charge a unit that runs already although the queue did not choose it."""
        return self._ticket(self.tree.job(job), unit, now_us)

    def select(self, now_us: int, limit: int) -> Selection:
        """Choose at most ``limit`` units for a batch, in order of fairness (Q12).

        All of them are charged as if they started now; ``settle`` must follow. A unit
        that is held closes the batch, so that nothing of this batch goes before it.
        """
        picks: list[Pick] = []
        while len(picks) < limit and (job := self._least_served(now_us)) is not None:
            steps, held = self.explain(now_us), self._is_held(job, now_us)
            picks.append(Pick(self._start(job, 0, now_us), steps))
            if held:
                return Selection(tuple(picks), held=True)
        return Selection(tuple(picks), held=False)

    def settle(self, batch: Selection, placed: Collection[int], now_us: int) -> tuple[Bypass, ...]:
        """Take back the units of a batch that found no place; return which were passed over.

        Each goes to the front of its job, with its charge undone, as if it had waited all
        along. Each unit that was placed although it came later counts as a pass.
        ``placed`` are the sequence numbers of the tickets that run now.
        """
        jobs = {pick.ticket.job: self.tree.job(pick.ticket.job) for pick in batch.picks}
        tickets = [(pick.ticket, pick.ticket.sequence in placed) for pick in batch.picks]
        later = sum(runs for _, runs in tickets)
        left: list[tuple[Ticket, int]] = []
        for ticket, runs in tickets:
            later -= runs
            if not runs:
                left.append((ticket, later))
        turns = turns_out_of_order([(jobs[ticket.job], runs) for ticket, runs in tickets])
        for ticket, times in reversed(left):
            job = jobs[ticket.job]
            self._take_back(job, ticket)
            job.overtaken, job.held_since_us = ticket.passes + times, ticket.held_since_us
        for (flow, by), times in turns.items():
            pass_over(flow, by, self.tree.charge, now_us, times)
        waiting = list(dict.fromkeys(jobs[ticket.job] for ticket, _ in left))
        bypasses = [self._bypass(job, now_us) for job in waiting if job.overtaken]
        for job in waiting:
            if self._is_held(job, now_us):
                self._hold_ends(job, now_us)
        return tuple(bypasses)

    def finish(self, ticket: Ticket, now_us: int) -> None:
        """End a unit, and charge its flows what it executed in place of the estimate."""
        elapsed_us = now_us - ticket.start_us
        if elapsed_us < 0:
            raise ValueError(
                f"unit {ticket.unit.key!r} of job '{ticket.job}' started at {ticket.start_us} us "
                f"and cannot end at {now_us} us; times must not go backwards"
            )
        self._land(ticket)
        job = self.tree.job(ticket.job)
        job.ended += 1
        job.ended_us += elapsed_us
        self.tree.end(job, ticket, elapsed_us * ticket.unit.width)

    def retry(self, now_us: int) -> None:
        """Put units that were set aside back at the front of their jobs: something has changed."""
        units, self.set_aside = self.set_aside, []
        for name, unit in reversed(units):
            job = self.tree.job(name)
            job.waiting.appendleft(unit)
            job.overtaken, job.held_since_us = 0, None
            self.tree.wake(job, now_us)

    def bypasses(self, now_us: int) -> tuple[Bypass, ...]:
        """Return the units that others went before and that still wait."""
        jobs = (flow for flow in self.tree.flows.values() if isinstance(flow, Job))
        return tuple(self._bypass(job, now_us) for job in jobs if job.overtaken and job.waiting)

    def report(self, name: str, now_us: int) -> FlowReport:
        """Return a report on a flow: what it has had, what waits and what runs."""
        flow = self.tree.flow(name)
        return FlowReport(
            name=name,
            group=flow.parent.name or None if flow.parent else None,
            weight_milli=flow.weight_milli,
            service=flow.service(now_us),
            tally=flow.standing(self.tree.charge, now_us),
            queued=flow.queued(),
            running=flow.holds(),
        )

    def _least_served(self, now_us: int) -> Job | None:
        flow: Flow = self.tree.root
        running = self.tree.charge is Charge.RUNNING
        while isinstance(flow, FlowGroup):
            if not flow.active:
                return None
            flow = next(flow.in_order(Charge.RUNNING, now_us)) if running else flow.first()
        return flow

    def _start(self, job: Job, position: int, now_us: int) -> Ticket:
        """Dispatch the unit of the job at the position in its queue."""
        if position:
            unit = job.waiting[position]
            del job.waiting[position]
            job.held_since_us = None
            return self._ticket(job, unit, now_us)
        passes, held_since_us = job.overtaken, job.held_since_us
        job.overtaken, job.held_since_us = 0, None
        return self._ticket(job, job.waiting.popleft(), now_us, passes, held_since_us)

    def _ticket(
        self,
        job: Job,
        unit: WorkUnit,
        now_us: int,
        passes: int = 0,
        held_since_us: int | None = None,
    ) -> Ticket:
        """Charge a unit that starts, by the present estimate if its length is unknown."""
        charge = 0
        if self.tree.charge is Charge.DISPATCH:
            length_us = unit.length_us
            if length_us is None:
                length_us = job.estimate_us(self.guess_us)
            charge = length_us * unit.width
        sequence = self.tree.sequence
        rises = self.tree.start(job, unit, now_us, charge)
        ticket = Ticket(sequence, job.name, unit, now_us, charge, passes, held_since_us, rises)
        self.in_flight[sequence] = ticket
        return ticket

    def _take_back(self, job: Job, ticket: Ticket) -> None:
        self._land(ticket)
        job.waiting.appendleft(ticket.unit)
        self.tree.undo(job, ticket)

    def _land(self, ticket: Ticket) -> None:
        if self.in_flight.get(ticket.sequence) != ticket:
            raise ValueError(
                f"unit {ticket.unit.key!r} of job '{ticket.job}' is not in flight; "
                "it ended before, was taken back, or belongs to another queue"
            )
        del self.in_flight[ticket.sequence]

    def _hold_ends(self, job: Job, now_us: int) -> bool:
        """Set the job's oldest unit aside if it was held for too long; return whether it was."""
        if job.held_since_us is None:
            job.held_since_us = now_us
        if now_us - job.held_since_us < self.hold_us:
            return False
        self.set_aside.append((job.name, job.waiting.popleft()))
        job.overtaken, job.held_since_us = 0, None
        for flow in job.path():
            flow.passes = 0
        if not job.waiting:
            self.tree.sleep(job, now_us)
        return True

    def _is_held(self, job: Job, now_us: int) -> bool:
        return is_held(job, self.bypass_limit, self.tree.charge, now_us)

    def _bypass(self, job: Job, now_us: int) -> Bypass:
        return Bypass(job.name, job.waiting[0], job.overtaken, self._is_held(job, now_us))
