"""The tree of flows: who belongs where, who is active, and what each was charged.

A flow is active while it has units that wait, here or below. Siblings that stay active
keep their values within one thread length of each other; everything here serves that:

- A unit is charged to its job and to every group above it when it starts.
- A flow that turns active is lifted to the lowest active value: idleness banks no
  credit, and more service than its share is not forgotten.
- The lift is rounded up to a whole thread-microsecond.
- A refund (the unit was shorter than its charge) is forfeited by flows that were lifted
  after the unit started: the lift has swallowed that charge, and a refund on top of it
  would be a credit from idleness.
"""

from placer.queue.flow import Flow, Group, Job
from placer.queue.words import (
    DEFAULT_GROUP,
    MAX_WEIGHT_MILLI,
    ONE_MILLI,
    Charge,
    Ticket,
    Unit,
)


class Tree:
    """Flows by name, and their accounts.

    Attributes:
        flows: Every flow but the root, in the order of creation.
        sequence: The sequence number of the next ticket.
        ranks: How many flows were ever created.

    """

    def __init__(self, charge: Charge) -> None:
        self.charge = charge
        self.root = Group("", None, ONE_MILLI, -1)
        self.flows: dict[str, Flow] = {}
        self.sequence = 0
        self.ranks = 0

    def add_group(self, name: str, weight_milli: int, parent: str | None) -> Group:
        """Add a group below another, or at the top."""
        above = self.root if parent is None else self.group(parent)
        self._check_new(name, weight_milli)
        group = Group(name, above, weight_milli, self._next_rank())
        above.children[name] = self.flows[name] = group
        return group

    def add_job(self, name: str, weight_milli: int, group: str | None) -> Job:
        """Add a job to a group; without one, to the default group."""
        if group is None and DEFAULT_GROUP not in self.flows and name != DEFAULT_GROUP:
            self._check_new(name, weight_milli)
            self.add_group(DEFAULT_GROUP, ONE_MILLI, None)
        above = self.group(group or DEFAULT_GROUP)
        self._check_new(name, weight_milli)
        job = Job(name, above, weight_milli, self._next_rank())
        above.children[name] = self.flows[name] = job
        return job

    def remove(self, name: str) -> None:
        """Forget a job without units, or a group without flows."""
        flow = self.flow(name)
        if flow.queued() or flow.holds() or (isinstance(flow, Group) and flow.children):
            raise ValueError(
                f"flow '{name}' still has units or flows; only an idle, empty flow can be removed"
            )
        if flow.parent is not None:
            flow.parent.executed += flow.executed
            del flow.parent.children[name]
        del self.flows[name]

    def group(self, name: str) -> Group:
        """Return the group of the name."""
        flow = self.flow(name)
        if not isinstance(flow, Group):
            raise ValueError(f"'{name}' is a job; only groups hold other flows")
        return flow

    def job(self, name: str) -> Job:
        """Return the job of the name."""
        flow = self.flow(name)
        if not isinstance(flow, Job):
            raise ValueError(f"'{name}' is a group; units belong to jobs")
        return flow

    def flow(self, name: str) -> Flow:
        """Return the flow of the name."""
        try:
            return self.flows[name]
        except KeyError:
            raise ValueError(f"there is no flow '{name}'; add it first") from None

    def set_recent(self, job: Job, service: int) -> None:
        """Give a job a recent past; it and its groups start from there, not lifted."""
        job.executed += service
        flow: Flow = job
        while flow.parent is not None:
            if self.charge is Charge.DISPATCH:
                flow.tally += service
            flow.recent = True
            flow = flow.parent

    def wake(self, job: Job, now_us: int, *, lift: bool = True) -> None:
        """Count the job, and the groups above it, among the active flows."""
        flow: Flow = job
        while (group := flow.parent) is not None and flow.entry is None:
            if flow.recent:
                flow.recent = False
            elif lift:
                self._lift(flow, group, now_us)
            group.enter(flow)
            flow = group

    def start(self, job: Job, unit: Unit, now_us: int, charge: int) -> None:
        """Charge a unit that starts, and let flows that have no more units leave."""
        self.sequence += 1
        job.running += unit.width
        job.starts_sum += unit.width * now_us
        flow: Flow = job
        backlogged = bool(job.waiting)
        while (group := flow.parent) is not None:
            flow.tally += charge
            if flow.entry is not None:
                if backlogged:
                    group.update(flow)
                else:
                    group.leave(flow, flow.as_floor(self.charge, now_us))
            backlogged = group.active > 0
            flow = group

    def end(self, job: Job, ticket: Ticket, executed: int) -> None:
        """Put what a unit executed in place of what it was charged."""
        self._land(job, ticket)
        job.executed += executed
        if self.charge is Charge.RUNNING or executed == ticket.charge:
            return
        correction = executed - ticket.charge
        flow: Flow = job
        while (group := flow.parent) is not None:
            if correction > 0 or ticket.sequence >= flow.lifted_at:
                flow.tally += correction
                if flow.entry is not None:
                    group.update(flow)
            flow = group

    def undo(self, job: Job, ticket: Ticket) -> None:
        """Undo the charge of a unit that did not start after all."""
        self._land(job, ticket)
        flow: Flow = job
        while (group := flow.parent) is not None:
            flow.tally -= ticket.charge
            if flow.entry is not None:
                group.update(flow)
            flow = group

    def sleep(self, job: Job, now_us: int) -> None:
        """Take a job without units, and groups without active flows, out of the active."""
        flow: Flow = job
        while (group := flow.parent) is not None and flow.entry is not None:
            group.leave(flow, flow.as_floor(self.charge, now_us))
            if group.active:
                return
            flow = group

    def _land(self, job: Job, ticket: Ticket) -> None:
        job.running -= ticket.unit.width
        job.starts_sum -= ticket.unit.width * ticket.start_us

    def _lift(self, flow: Flow, group: Group, now_us: int) -> None:
        floor = group.lowest(self.charge, now_us)
        needed = -(-floor.standing * flow.weight_milli // floor.weight_milli)
        passes = flow.passes_now(self.charge, now_us)
        short = needed - flow.standing(self.charge, now_us)
        if short > 0:
            flow.tally += short
            flow.lifted_at = self.sequence
        # Who starts beside a flow that was passed over is as far behind as that one.
        flow.passes = max(passes, floor.passes)
        flow.behind = max(flow.behind, floor.behind)

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
