"""Bypasses: turns out of order because a unit does not fit, and how often they may happen.

Two counts bound them. A unit counts how often anything went before it while it was the
oldest of its job, younger units of the job included. A flow counts how often siblings
were served although it stood before them. When its value has reached theirs it has caught
up, and counts from 0 again. Each pass of a flow widens its gap to a sibling by at most one
length, so the limit of passes bounds the gap (Q9).
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

from placer.queue.flow import Flow, FlowBypassLag, FlowGroup, QueueJob
from placer.queue.model import DispatchTicket, DispatchUnit, FlowChargeTime
from placer.queue.reservation import RunEndForecast, UnitReservation

UnitFits = Callable[[DispatchUnit], bool]
"""Whether a unit can start now."""


class StartableUnit(NamedTuple):
    """A unit that can start, by its position in its job's queue.

    Attributes:
        skipped: The flows that stand before it, at every level, each paired with the
            sibling on the unit's path that it stands before.
        tried: Jobs whose oldest unit does not fit.

    """

    job: QueueJob
    position: int
    skipped: tuple[tuple[Flow, Flow], ...]
    tried: tuple[QueueJob, ...]


class JobHoldingUpQueue(NamedTuple):
    """A job before which nothing may go any more, and whose oldest unit does not fit."""

    job: QueueJob


@dataclass(slots=True)
class NextUnitSearch:
    """A search for the unit whose turn is first, of those that may start.

    Attributes:
        forecast: What is known of the time to come; None: nothing, and nothing is reserved.
        reserved: The job whose oldest unit does not fit and has the reservation. If none has
            it when the search begins, it is that of the first unit that does not fit.
        refused: Whether some unit fits, but could make the reserved one due later.

    """

    charge: FlowChargeTime
    now_us: int
    fits: UnitFits
    limit: int
    look_ahead: int
    forecast: RunEndForecast | None = None
    reserved: QueueJob | None = None
    refused: bool = False

    def below(self, group: FlowGroup) -> StartableUnit | JobHoldingUpQueue | None:
        """Return the unit whose turn is first below the group, or the job that blocks all others.

        Return None if no unit that was tried may start.
        """
        skipped: list[Flow] = []
        tried: list[QueueJob] = []
        for flow in group.in_order(self.charge, self.now_us):
            found = self.below(flow) if isinstance(flow, FlowGroup) else self._of(flow)
            if isinstance(found, StartableUnit):
                before = tuple((other, flow) for other in skipped)
                return found._replace(
                    skipped=(*before, *found.skipped), tried=(*tried, *found.tried)
                )
            if found is not None:
                return found
            if flow.passes_now(self.charge, self.now_us) >= self.limit:
                return JobHoldingUpQueue(self._first(flow))
            skipped.append(flow)
            tried.extend(_jobs(flow))
        return None

    def _of(self, job: QueueJob) -> StartableUnit | JobHoldingUpQueue | None:
        depth = 1 if job.overtaken >= self.limit else self.look_ahead
        for position, unit in enumerate(islice(job.waiting, depth)):
            if position == 0 and job is self.reserved:
                continue  # It does not fit, which was tried before the search.
            if self._may_start(unit):
                return StartableUnit(job, position, (), (job,) if position else ())
            if position == 0 and self.reserved is None and self.forecast is not None:
                self.reserved = job
        return JobHoldingUpQueue(job) if job.overtaken >= self.limit else None

    def _may_start(self, unit: DispatchUnit) -> bool:
        if not self.fits(unit):
            return False
        if self.reserved is None or self.forecast is None:
            return True
        delays = self.forecast.delays(unit, self.reserved.waiting[0])
        self.refused |= delays
        return not delays

    def _first(self, flow: Flow) -> QueueJob:
        while isinstance(flow, FlowGroup):
            flow = next(flow.in_order(self.charge, self.now_us))
        return flow


def record_bypass(
    flow: Flow, by: Flow, charge: FlowChargeTime, now_us: int, times: int = 1
) -> None:
    """Count that a sibling was served, and charged, although the flow stood before it."""
    flow.passes = flow.passes_now(charge, now_us) + times
    flow.behind = max(flow.behind, by.key(by.standing(charge, now_us)))


def flows_standing_before(
    job: QueueJob, charge: FlowChargeTime, now_us: int
) -> Iterator[tuple[Flow, Flow]]:
    """Yield the flows that stand before a job, each paired with its sibling on the job's path."""
    for flow in job.path():
        siblings = flow.parent.in_order(charge, now_us) if flow.parent else iter(())
        for other in siblings:
            if other is flow:
                break
            yield other, flow


def is_bypass_limit_reached(job: QueueJob, limit: int, charge: FlowChargeTime, now_us: int) -> bool:
    """Return whether nothing may go before the job's oldest unit any more."""
    passed = (flow.passes_now(charge, now_us) for flow in job.path())
    return job.overtaken >= limit or max(passed) >= limit


@dataclass(slots=True)
class DispatchTransaction:
    """Dispatches that are taken back if not all of them work, and the counts before them.

    Attributes:
        started: Each with its job, and with its position in the job's queue.
        counts: Of each flow whose counts have changed: its passes, how far it is behind, how
            often its oldest unit was overtaken, and since when that is held.
        groups: Of each group above a job that has started something: its virtual time, its
            highest value, and how far behind its last child was.

    """

    reserved: UnitReservation | None
    started: list[tuple[QueueJob, int, DispatchTicket]] = field(default_factory=list)
    counts: dict[Flow, tuple[int, int, int, int | None]] = field(default_factory=dict)
    groups: dict[FlowGroup, tuple[int, int, FlowBypassLag]] = field(default_factory=dict)

    def note_start(self, job: QueueJob) -> None:
        """Note the groups above a job before it starts something."""
        group = job.parent
        while group is not None:
            self.groups.setdefault(group, (group.virtual, group.highest, group.last))
            group = group.parent

    def note(self, flow: Flow) -> None:
        """Note the counts of a flow before they change."""
        job = (flow.overtaken, flow.held_since_us) if isinstance(flow, QueueJob) else (0, None)
        self.counts.setdefault(flow, (flow.passes, flow.behind, *job))

    def forget(self, job: QueueJob) -> None:
        """Let the counts of a job and of the groups above it stay as they are now."""
        for flow in job.path():
            self.counts.pop(flow, None)

    def restore(self) -> None:
        """Put everything back, once what has started is taken back."""
        for group, state in self.groups.items():
            group.virtual, group.highest, group.last = state
        for flow, (passes, behind, overtaken, held_since_us) in self.counts.items():
            flow.passes, flow.behind = passes, behind
            if isinstance(flow, QueueJob):
                flow.overtaken, flow.held_since_us = overtaken, held_since_us


def bypass_counts_of_sibling_pairs(
    batch: Sequence[tuple[QueueJob, bool]],
) -> dict[tuple[Flow, Flow], int]:
    """Count for a batch, in its order, how often one sibling went before another.

    The batch has a pair for each pick: its job, and whether it was placed. A pick that was
    placed went before the jobs of all earlier picks that were not.
    """
    turns: Counter[tuple[Flow, Flow]] = Counter()
    left: dict[QueueJob, None] = {}
    for served, placed in batch:
        if placed:
            parts = dict.fromkeys(_where_paths_part(job, served) for job in left)
            turns.update([pair for pair in parts if pair is not None])
        else:
            left[served] = None
    return turns


def _where_paths_part(job: QueueJob, other: QueueJob) -> tuple[Flow, Flow] | None:
    """Return the siblings at which two jobs' paths part, or None if both are one job."""
    pairs = zip(reversed(tuple(job.path())), reversed(tuple(other.path())), strict=False)
    return next(((a, b) for a, b in pairs if a is not b), None)


def _jobs(flow: Flow) -> list[QueueJob]:
    if isinstance(flow, QueueJob):
        return [flow]
    return [
        job for child in flow.children.values() if child.entry is not None for job in _jobs(child)
    ]
