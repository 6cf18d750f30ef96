"""The thread queue: who is next among units that all fit, and what flows are charged.

It keeps the tree of flows, the tickets of what runs, and their charges. `FairQueue` adds
units that may not fit.
"""

from placer.queue.explain import next_flow_at_each_level
from placer.queue.flow import Flow, FlowGroup, QueueJob
from placer.queue.flow_tree import FlowTree
from placer.queue.model import (
    ONE_MILLI,
    US_PER_S,
    DispatchTicket,
    DispatchUnit,
    FlowChargeTime,
    FlowReport,
    SiblingFlowChoice,
)


class FairQueueWithoutFitCheck:
    """A queue that decides whose unit is next. It reads no clock: callers tell it the time.

    Attributes:
        tree: The flows and their accounts.
        guess_us: Length charged for a unit of unknown length before any of its job has ended.
        in_flight: Tickets not finished, by sequence number.

    """

    def __init__(
        self,
        *,
        charge: FlowChargeTime = FlowChargeTime.DISPATCH,
        guess_us: int = 60 * US_PER_S,
    ) -> None:
        check_queue_setting_at_least("guess_us", guess_us, 1)
        self.tree = FlowTree(charge)
        self.guess_us = guess_us
        self.in_flight: dict[int, DispatchTicket] = {}

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
        self.tree.remove(name)

    def submit(self, job: str, *units: DispatchUnit, now_us: int = 0) -> None:
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

    def next(self, now_us: int) -> DispatchTicket | None:
        """Dispatch the oldest unit of the least served job, or return None if nothing waits."""
        job = self._least_served(now_us)
        return None if job is None else self._start(job, 0, now_us)

    def explain(self, now_us: int) -> tuple[SiblingFlowChoice, ...]:
        """Return the reasons for what ``next`` would choose, from the top of the tree down."""
        return next_flow_at_each_level(self.tree.root, self.tree.charge, now_us)

    def adopt(self, job: str, unit: DispatchUnit, now_us: int) -> DispatchTicket:
        """Charge a unit that runs already although the queue did not choose it."""
        return self._ticket(self.tree.job(job), unit, now_us)

    def finish(self, ticket: DispatchTicket, now_us: int) -> None:
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

    def _least_served(self, now_us: int) -> QueueJob | None:
        flow: Flow | None = self.tree.root
        while isinstance(flow, FlowGroup):
            flow = flow.lowest(self.tree.charge, now_us)
        return flow

    def _start(self, job: QueueJob, position: int, now_us: int) -> DispatchTicket:
        """Dispatch the unit of the job at the position in its queue."""
        unit = job.waiting[position]
        del job.waiting[position]
        return self._ticket(job, unit, now_us)

    def _ticket(self, job: QueueJob, unit: DispatchUnit, now_us: int) -> DispatchTicket:
        """Charge a unit that starts, by the present estimate if its length is unknown."""
        charge = 0
        if self.tree.charge is FlowChargeTime.DISPATCH:
            length_us = unit.length_us
            if length_us is None:
                length_us = job.estimate_us(self.guess_us)
            charge = length_us * unit.width
        sequence = self.tree.sequence
        rises = self.tree.start(job, unit, now_us, charge)
        ticket = DispatchTicket(sequence, job.name, unit, now_us, charge, rises=rises)
        self.in_flight[sequence] = ticket
        return ticket

    def _take_back(self, job: QueueJob, ticket: DispatchTicket, position: int = 0) -> None:
        self._land(ticket)
        job.waiting.insert(position, ticket.unit)
        self.tree.undo(job, ticket)

    def _land(self, ticket: DispatchTicket) -> None:
        if self.in_flight.get(ticket.sequence) != ticket:
            raise ValueError(
                f"unit {ticket.unit.key!r} of job '{ticket.job}' is not in flight; "
                "it ended before, was taken back, or belongs to another queue"
            )
        del self.in_flight[ticket.sequence]


def check_queue_setting_at_least(name: str, value: int, least: int) -> None:
    """Check a setting of a queue.

    Raises:
        ValueError: The value is too small.

    """
    if value < least:
        raise ValueError(f"{name} is {value}; it must be {least} or more")
