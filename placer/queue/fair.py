"""The fair queue: least served first at every level of a tree of flows (Q5).

    queue = FairQueue()
    queue.add_group("medium", weight_milli=4000)
    queue.add_job("MED1", group="medium")
    queue.add_job("DEFAULT1")                       # in the default group
    queue.submit("MED1", DispatchUnit(1, 60 * US_PER_S))
    ticket = queue.next(now_us=0)                   # a thread of capacity is free
    queue.finish(ticket, now_us=58 * US_PER_S)

``next`` serves threads of work: each fits any free thread of capacity. A gang may not
fit where there is room for a smaller one: ``next_that_fits`` and ``select`` let others
go before it, a bounded number of times. A decision costs O(log n) for n flows.
"""

from collections.abc import Collection, Iterator
from contextlib import contextmanager

from placer.queue.bypass import (
    DispatchTransaction,
    NextUnitSearch,
    StartableUnit,
    UnitFits,
    bypass_counts_of_sibling_pairs,
    flows_standing_before,
    is_bypass_limit_reached,
    record_bypass,
)
from placer.queue.flow import Flow, QueueJob
from placer.queue.model import (
    US_PER_S,
    BypassedUnit,
    DispatchTicket,
    DispatchUnit,
    FlowChargeTime,
    QueueBatch,
    QueuePick,
    ReservedUnit,
)
from placer.queue.reservation import RunEndForecast, UnitReservation
from placer.queue.threads import FairQueueWithoutFitCheck, check_queue_setting_at_least


class FairQueue(FairQueueWithoutFitCheck):
    """A queue that decides whose unit is next. It reads no clock: callers tell it the time.

    Attributes:
        bypass_limit: How often others may go before the oldest unit of a job, or before a
            flow that stands before them. After that it is held: nothing goes before it.
        hold_us: How long a unit may be held before it is set aside.
        look_ahead: How many units of a job are tried when its oldest does not fit.
        set_aside: Units that found no room while they were held, each with its job.
        reserved: The reservation of the unit that did not fit when its turn came, if there is one.

    """

    def __init__(
        self,
        *,
        charge: FlowChargeTime = FlowChargeTime.DISPATCH,
        guess_us: int = 60 * US_PER_S,
        bypass_limit: int = 8,
        hold_us: int = 600 * US_PER_S,
        look_ahead: int = 16,
    ) -> None:
        super().__init__(charge=charge, guess_us=guess_us)
        check_queue_setting_at_least("bypass_limit", bypass_limit, 0)
        check_queue_setting_at_least("hold_us", hold_us, 0)
        check_queue_setting_at_least("look_ahead", look_ahead, 1)
        self.bypass_limit = bypass_limit
        self.hold_us = hold_us
        self.look_ahead = look_ahead
        self.set_aside: list[tuple[str, DispatchUnit]] = []
        self.reserved: UnitReservation | None = None
        self._attempt: DispatchTransaction | None = None

    def remove(self, name: str) -> None:
        """Forget a job that has no units any more, or a group without flows."""
        if any(job == name for job, _ in self.set_aside):
            raise ValueError(f"a unit of '{name}' is set aside; retry it before the job is removed")
        super().remove(name)

    def next_that_fits(
        self, now_us: int, fits: UnitFits, forecast: RunEndForecast | None = None
    ) -> DispatchTicket | ReservedUnit | None:
        """Dispatch the least served unit that may start.

        Younger units of a job may go before its oldest, then units of other jobs, up to the
        limit. With a forecast, the first unit that does not fit has a reservation: it starts
        as soon as it fits, and only those go before it that cannot put it off.

        Returns:
            The ticket of the unit that starts. Or a unit that waits and that nothing may go
            before of what fits. Or None if nothing fits.

        """
        while True:
            reserved = self._reserved_job(forecast)
            if reserved is not None and fits(reserved.waiting[0]):
                return self._start_reserved(reserved, now_us)
            blocking = reserved
            if reserved is None or not self._is_held(reserved, now_us):
                search = NextUnitSearch(
                    self.tree.charge,
                    now_us,
                    fits,
                    self.bypass_limit,
                    self.look_ahead,
                    forecast,
                    reserved,
                )
                found = search.below(self.tree.root)
                self._reserve(search)
                if isinstance(found, StartableUnit):
                    return self._start_found(found, search.reserved, now_us)
                if found is None and not search.refused:
                    return None
                blocking = search.reserved or (found.job if found else None)
            assert blocking is not None  # Something is blocked, so something blocks it.
            if not self._hold_ends(blocking, now_us):
                return ReservedUnit(blocking.name, blocking.waiting[0], blocking.overtaken)

    @contextmanager
    def all_or_none(self) -> Iterator[None]:
        """Take back all that is dispatched inside if it ends with an error.

        The queue is then as if none of it had left, counts of passes included.
        """
        self._attempt = attempt = DispatchTransaction(self.reserved)
        try:
            yield
        except BaseException:
            for job, position, ticket in reversed(attempt.started):
                self._take_back(job, ticket, position)
            attempt.restore()
            self.reserved = attempt.reserved
            raise
        finally:
            self._attempt = None

    def select(self, now_us: int, limit: int) -> QueueBatch:
        """Choose at most ``limit`` units for a batch, in order of fairness (Q12).

        All of them are charged as if they started now; ``settle`` must follow. A unit
        that is held closes the batch, so that nothing of this batch goes before it.
        """
        picks: list[QueuePick] = []
        while len(picks) < limit and (job := self._least_served(now_us)) is not None:
            steps, held = self.explain(now_us), self._is_held(job, now_us)
            picks.append(QueuePick(self._start(job, 0, now_us), steps))
            if held:
                return QueueBatch(tuple(picks), held=True)
        return QueueBatch(tuple(picks), held=False)

    def settle(
        self, batch: QueueBatch, placed: Collection[int], now_us: int
    ) -> tuple[BypassedUnit, ...]:
        """Take back the units of a batch that found no place; return which were passed over.

        Each goes to the front of its job, with its charge undone, as if it had waited all
        along. Each unit that was placed although it came later counts as a pass.
        ``placed`` are the sequence numbers of the tickets that run now.
        """
        jobs = {pick.ticket.job: self.tree.job(pick.ticket.job) for pick in batch.picks}
        tickets = [(pick.ticket, pick.ticket.sequence in placed) for pick in batch.picks]
        later = sum(runs for _, runs in tickets)
        left: list[tuple[DispatchTicket, int]] = []
        for ticket, runs in tickets:
            later -= runs
            if not runs:
                left.append((ticket, later))
        turns = bypass_counts_of_sibling_pairs(
            [(jobs[ticket.job], runs) for ticket, runs in tickets]
        )
        for ticket, times in reversed(left):
            job = jobs[ticket.job]
            self._take_back(job, ticket)
            job.overtaken, job.held_since_us = ticket.passes + times, ticket.held_since_us
        for (flow, by), times in turns.items():
            record_bypass(flow, by, self.tree.charge, now_us, times)
        waiting = list(dict.fromkeys(jobs[ticket.job] for ticket, _ in left))
        bypasses = [self._bypass(job, now_us) for job in waiting if job.overtaken]
        for job in waiting:
            if self._is_held(job, now_us):
                self._hold_ends(job, now_us)
        return tuple(bypasses)

    def retry(self, now_us: int) -> None:
        """Put units that were set aside back at the front of their jobs: something has changed."""
        units, self.set_aside = self.set_aside, []
        for name, unit in reversed(units):
            job = self.tree.job(name)
            job.waiting.appendleft(unit)
            job.overtaken, job.held_since_us = 0, None
            self.tree.wake(job, now_us)

    def bypasses(self, now_us: int) -> tuple[BypassedUnit, ...]:
        """Return the units that others went before and that still wait."""
        jobs = (flow for flow in self.tree.flows.values() if isinstance(flow, QueueJob))
        return tuple(self._bypass(job, now_us) for job in jobs if job.overtaken and job.waiting)

    def _reserved_job(self, forecast: RunEndForecast | None) -> QueueJob | None:
        """Return the job whose oldest unit has the reservation, if it waits still."""
        if forecast is None or self.reserved is None:
            return None
        job = self.tree.flows.get(self.reserved.job)
        if not isinstance(job, QueueJob) or self._reservation_of(job) is None:
            self.reserved = None
            return None
        due_us, known_us = forecast.due_us(self.reserved.unit), self.reserved.due_us
        if due_us is not None and (known_us is None or due_us < known_us):
            self.reserved = self.reserved._replace(due_us=due_us)
        return job

    def _reserve(self, search: NextUnitSearch) -> None:
        """Give the reservation to the first unit that did not fit, if none had it before."""
        if self.reserved is None and search.reserved is not None and search.forecast is not None:
            unit = search.reserved.waiting[0]
            due_us = search.forecast.due_us(unit)
            self.reserved = UnitReservation(search.reserved.name, unit, search.now_us, due_us)

    def _start_reserved(self, job: QueueJob, now_us: int) -> DispatchTicket:
        """Dispatch the unit that has the reservation; it goes before all that stand before it."""
        before = tuple(flows_standing_before(job, self.tree.charge, now_us))
        ticket = self._start(job, 0, now_us)
        for flow, by in before:
            self._pass_over(flow, by, now_us)
        return ticket

    def _start_found(
        self, found: StartableUnit, reserved: QueueJob | None, now_us: int
    ) -> DispatchTicket:
        """Dispatch a unit that a search has found, and count whom it has gone before."""
        overtaken = found.tried
        if reserved is not None:
            self._note(reserved)
            reserved.held_since_us = None
            if reserved not in found.tried and self.reserved and self.reserved.due_us is None:
                # Whatever starts may put it off, so it counts, even if its turn is before.
                overtaken = (*found.tried, reserved)
        for job in overtaken:
            self._note(job)
            job.overtaken += 1
        ticket = self._start(found.job, found.position, now_us)
        for flow, by in found.skipped:
            self._pass_over(flow, by, now_us)
        return ticket

    def _pass_over(self, flow: Flow, by: Flow, now_us: int) -> None:
        self._note(flow)
        record_bypass(flow, by, self.tree.charge, now_us)

    def _note(self, flow: Flow) -> None:
        """Note the counts of a flow that are about to change, in case they are put back."""
        if self._attempt is not None:
            self._attempt.note(flow)

    def _start(self, job: QueueJob, position: int, now_us: int) -> DispatchTicket:
        """Dispatch the unit of the job at the position in its queue; its counts go with it."""
        self._note(job)
        if self._attempt is not None:
            self._attempt.note_start(job)
        held_since_us, job.held_since_us = job.held_since_us, None
        reserved = None if position or self.reserved is None else self._reservation_of(job)
        ticket = super()._start(job, position, now_us)
        if position == 0 and (job.overtaken or held_since_us is not None or reserved):
            ticket = ticket._replace(
                passes=job.overtaken,
                held_since_us=held_since_us,
                turn_us=reserved.since_us if reserved else None,
            )
            self.in_flight[ticket.sequence] = ticket
            job.overtaken = 0
            if reserved:
                self.reserved = None
        if self._attempt is not None:
            self._attempt.started.append((job, position, ticket))
        return ticket

    def _reservation_of(self, job: QueueJob) -> UnitReservation | None:
        """Return the reservation if the job's oldest unit has it."""
        reserved = self.reserved
        has_it = (
            reserved is not None
            and reserved.job == job.name
            and bool(job.waiting)
            and reserved.unit == job.waiting[0]
        )
        return reserved if has_it else None

    def _hold_ends(self, job: QueueJob, now_us: int) -> bool:
        """Set the job's oldest unit aside if it was held for too long; return whether it was.

        A unit with a reservation is not held for too long before it is due.
        """
        self._note(job)
        if job.held_since_us is None:
            job.held_since_us = now_us
        reserved = self._reservation_of(job)
        due_us = reserved.due_us if reserved else None
        if now_us - max(job.held_since_us, due_us or 0) < self.hold_us:
            return False
        if reserved is not None:
            self.reserved = None
        if self._attempt is not None:
            self._attempt.forget(job)
            self._attempt.reserved = None
        self.set_aside.append((job.name, job.waiting.popleft()))
        job.overtaken, job.held_since_us = 0, None
        for flow in job.path():
            flow.passes = 0
        if not job.waiting:
            self.tree.sleep(job, now_us)
        return True

    def _is_held(self, job: QueueJob, now_us: int) -> bool:
        return is_bypass_limit_reached(job, self.bypass_limit, self.tree.charge, now_us)

    def _bypass(self, job: QueueJob, now_us: int) -> BypassedUnit:
        return BypassedUnit(job.name, job.waiting[0], job.overtaken, self._is_held(job, now_us))
