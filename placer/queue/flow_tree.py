"""The tree of flows: who belongs where, who is active, and what each was charged.

A flow is active while it has units that wait, here or below. Siblings that stay active
keep their values within one thread length of each other; everything here serves that:

- A unit is charged to its job and to every group above it when it starts.
- Each group has a virtual time. It rises at each dispatch by the charge over the weights
  of the active children, but no further than the highest value so far. It is at least the
  lowest active value, and falls only by what a corrected or undone charge takes back.
- A flow that turns active is lifted to the virtual time: idleness banks no credit, more
  service than its share is not forgotten, and an endless stream of newcomers holds no
  flow up. The lift is rounded up to a whole thread-microsecond.
- When a unit was shorter or longer than its charge, its flows and its part of the rise
  are corrected. A refund takes a flow that has been idle since then back no further than
  where the virtual time stood at its start: the lift has swallowed the rest.
"""

from placer.queue.flow import Flow, FlowGroup, QueueJob
from placer.queue.model import (
    DEFAULT_GROUP,
    MAX_WEIGHT_MILLI,
    ONE_MILLI,
    DispatchTicket,
    DispatchUnit,
    FlowChargeTime,
    VirtualTimeRiseByDispatch,
    service_to_reach_key,
)


class FlowTree:
    """Flows by name, and their accounts.

    Attributes:
        flows: Every flow but the root, in the order of creation.
        sequence: The sequence number of the next ticket.
        ranks: How many flows were ever created.

    """

    def __init__(self, charge: FlowChargeTime) -> None:
        self.charge = charge
        self.root = FlowGroup("", None, ONE_MILLI, -1)
        self.flows: dict[str, Flow] = {}
        self.sequence = 0
        self.ranks = 0

    def add_group(self, name: str, weight_milli: int, parent: str | None) -> FlowGroup:
        """Add a group below another, or at the top."""
        above = self.root if parent is None else self.group(parent)
        self._check_new(name, weight_milli)
        group = FlowGroup(name, above, weight_milli, self._next_rank())
        above.children[name] = self.flows[name] = group
        return group

    def add_job(self, name: str, weight_milli: int, group: str | None) -> QueueJob:
        """Add a job to a group; without one, to the default group."""
        if name == DEFAULT_GROUP:
            raise ValueError(f"'{name}' is the group of jobs that name none; rename the job")
        if group in (None, DEFAULT_GROUP) and DEFAULT_GROUP not in self.flows:
            self._check_new(name, weight_milli)
            self.add_group(DEFAULT_GROUP, ONE_MILLI, None)
        above = self.group(group or DEFAULT_GROUP)
        self._check_new(name, weight_milli)
        job = QueueJob(name, above, weight_milli, self._next_rank())
        above.children[name] = self.flows[name] = job
        return job

    def remove(self, name: str) -> None:
        """Forget a job without units, or a group without flows."""
        flow = self.flow(name)
        if flow.queued() or flow.holds() or (isinstance(flow, FlowGroup) and flow.children):
            raise ValueError(
                f"flow '{name}' still has units or flows; only an idle, empty flow can be removed"
            )
        if flow.parent is not None:
            flow.parent.executed += flow.executed
            del flow.parent.children[name]
        del self.flows[name]

    def group(self, name: str) -> FlowGroup:
        """Return the group with this name."""
        flow = self.flow(name)
        if not isinstance(flow, FlowGroup):
            raise ValueError(f"'{name}' is a job; only groups hold other flows")
        return flow

    def job(self, name: str) -> QueueJob:
        """Return the job with this name."""
        flow = self.flow(name)
        if not isinstance(flow, QueueJob):
            raise ValueError(f"'{name}' is a group; units belong to jobs")
        return flow

    def flow(self, name: str) -> Flow:
        """Return the flow with this name."""
        try:
            return self.flows[name]
        except KeyError:
            raise ValueError(f"there is no flow '{name}'; add it first") from None

    def set_recent(self, job: QueueJob, service: int) -> None:
        """Give a job a recent past, from which it and its groups start without a lift."""
        job.executed += service
        for flow in job.path():
            if self.charge is FlowChargeTime.DISPATCH:
                flow.tally += service
            flow.recent = True

    def wake(self, job: QueueJob, now_us: int) -> None:
        """Count the job, and the groups above it, among the active flows."""
        flow: Flow = job
        while (group := flow.parent) is not None and flow.entry is None:
            lifted = not flow.recent and self._lift(flow, group, now_us)
            flow.recent = False
            group.enter(flow)
            if self.charge is FlowChargeTime.DISPATCH:
                if not lifted:
                    group.highest = max(group.highest, flow.key(flow.tally))
                group.catch_up()
            flow = group

    def resume(self, job: QueueJob) -> None:
        """Count the job, and the groups above it, as active again, without a lift."""
        flow: Flow = job
        while (group := flow.parent) is not None and flow.entry is None:
            group.enter(flow)
            flow = group

    def start(
        self, job: QueueJob, unit: DispatchUnit, now_us: int, charge: int
    ) -> tuple[VirtualTimeRiseByDispatch, ...]:
        """Charge a unit that starts; return the rises, from the job's group upward.

        Flows in which no more units wait leave the active ones.
        """
        self.sequence += 1
        job.running += unit.width
        job.starts_sum += unit.width * now_us
        rises: list[VirtualTimeRiseByDispatch] = []
        flow: Flow = job
        backlogged = bool(job.waiting)
        while (group := flow.parent) is not None:
            flow.tally += charge
            waited = flow.entry is not None
            rises.append(
                self._served(group, flow, now_us, charge, backlogged)
                if waited
                else VirtualTimeRiseByDispatch()
            )
            backlogged = group.active > 0
            flow = group
        return tuple(rises)

    def end(self, job: QueueJob, ticket: DispatchTicket, executed: int) -> None:
        """Replace what a unit was charged by what it executed."""
        self._land(job, ticket)
        job.executed += executed
        if self.charge is FlowChargeTime.RUNNING or executed == ticket.charge:
            return
        correction = executed - ticket.charge
        flow: Flow = job
        for rise in ticket.rises:
            group = flow.parent
            assert group is not None  # A rise for each group above the job.
            flow.tally += self._correction(flow, ticket, correction)
            if flow.entry is not None:
                group.update(flow)
            group.correct(rise.by_charge * correction // ticket.charge)
            flow = group

    def undo(self, job: QueueJob, ticket: DispatchTicket) -> None:
        """Undo the charge of a unit that did not start after all; it waits again."""
        self._land(job, ticket)
        flow: Flow = job
        for rise in ticket.rises:
            group = flow.parent
            assert group is not None  # A rise for each group above the job.
            flow.tally -= ticket.charge
            group.virtual -= rise.in_all
            if flow.entry is not None:
                group.update(flow)
            else:
                group.enter(flow)
            if self.charge is FlowChargeTime.DISPATCH:
                group.catch_up()
            flow = group

    def sleep(self, job: QueueJob, now_us: int) -> None:
        """Take a job without units, and groups without active flows, out of the active flows."""
        flow: Flow = job
        while (group := flow.parent) is not None and flow.entry is not None:
            group.leave(flow, self.charge, now_us)
            if self.charge is FlowChargeTime.DISPATCH:
                group.catch_up()
            if group.active:
                return
            flow = group

    def _served(
        self, group: FlowGroup, flow: Flow, now_us: int, charge: int, backlogged: bool
    ) -> VirtualTimeRiseByDispatch:
        """Let an active child go on or leave; return the rise of its group's virtual time."""
        before = group.virtual
        group.update(flow)
        by_charge = group.advance(charge)
        if not backlogged:
            group.leave(flow, self.charge, now_us)
        if self.charge is FlowChargeTime.DISPATCH:
            group.catch_up()
        return VirtualTimeRiseByDispatch(by_charge, group.virtual - before)

    def _correction(self, flow: Flow, ticket: DispatchTicket, correction: int) -> int:
        """Return the part of a correction that a flow gets: a refund less what a lift swallowed."""
        if correction > 0 or ticket.sequence >= flow.started_at:
            return correction
        refund = min(-correction, flow.ahead)
        flow.ahead -= refund
        return -refund

    def _land(self, job: QueueJob, ticket: DispatchTicket) -> None:
        job.running -= ticket.unit.width
        job.starts_sum -= ticket.unit.width * ticket.start_us

    def _lift(self, flow: Flow, group: FlowGroup, now_us: int) -> bool:
        """Start an idle flow at the virtual time; return False if it was not behind that."""
        lowest = group.lowest(self.charge, now_us)
        if lowest is not None and self.charge is FlowChargeTime.RUNNING:
            # Nothing is charged, so the virtual time only follows the lowest value.
            group.virtual = max(group.virtual, lowest.key(lowest.standing(self.charge, now_us)))
        beside = group.last if lowest is None else lowest.passed(self.charge, now_us)
        passes = flow.passes_now(self.charge, now_us)
        standing = flow.standing(self.charge, now_us)
        start = service_to_reach_key(group.virtual, flow.weight_milli)
        flow.tally += max(start - standing, 0)
        flow.started_at, flow.ahead = self.sequence, max(standing - start, 0)
        # A flow that starts beside one that was passed over is as far behind as that one.
        flow.passes = max(passes, beside.passes)
        flow.behind = max(flow.behind, beside.behind)
        return start > standing

    def _check_new(self, name: str, weight_milli: int) -> None:
        if not name:
            raise ValueError("a flow needs a name; got an empty one")
        if name in self.flows:
            raise ValueError(f"two flows are called '{name}'; names are unique in the whole tree")
        if not 1 <= weight_milli <= MAX_WEIGHT_MILLI:
            raise ValueError(
                f"flow '{name}' has a weight of {weight_milli} thousandths; "
                f"a weight is 1 to {MAX_WEIGHT_MILLI} thousandths"
            )

    def _next_rank(self) -> int:
        self.ranks += 1
        return self.ranks - 1
