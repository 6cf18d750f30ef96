"""Bypasses: turns out of order because a unit does not fit, and how often they may happen.

Two counts bound them. A unit counts how often anything went before it while it was the
oldest of its job, younger units of the job included. A flow counts how often siblings
were served although it stood before them. When its value has reached theirs it has caught
up, and counts from 0 again. Each pass of a flow widens its gap to a sibling by at most one
length, so the limit of passes bounds the gap (Q9).
"""

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import islice
from typing import NamedTuple

from placer.queue.flow import Flow, FlowGroup, Job
from placer.queue.model import Charge, WorkUnit

UnitFits = Callable[[WorkUnit], bool]
"""Whether a unit can start now."""


class StartableUnit(NamedTuple):
    """A unit that can start, by its position in its job's queue.

    Attributes:
        skipped: The flows that stand before it, at every level, each paired with the
            sibling on the unit's path that it stands before.
        tried: Jobs whose oldest unit does not fit.

    """

    job: Job
    position: int
    skipped: tuple[tuple[Flow, Flow], ...]
    tried: tuple[Job, ...]


class BlockedJob(NamedTuple):
    """A job before which nothing may go any more, and whose oldest unit does not fit."""

    job: Job


class Search(NamedTuple):
    """A search for the least served unit that fits."""

    charge: Charge
    now_us: int
    fits: UnitFits
    limit: int
    look_ahead: int

    def below(self, group: FlowGroup) -> StartableUnit | BlockedJob | None:
        """Return the unit whose turn is first below the group, or the job that blocks all others.

        Return None if no unit that was tried fits.
        """
        skipped: list[Flow] = []
        tried: list[Job] = []
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
                return BlockedJob(self._first(flow))
            skipped.append(flow)
            tried.extend(_jobs(flow))
        return None

    def _of(self, job: Job) -> StartableUnit | BlockedJob | None:
        depth = 1 if job.overtaken >= self.limit else self.look_ahead
        for position, unit in enumerate(islice(job.waiting, depth)):
            if self.fits(unit):
                return StartableUnit(job, position, (), (job,) if position else ())
        return BlockedJob(job) if job.overtaken >= self.limit else None

    def _first(self, flow: Flow) -> Job:
        while isinstance(flow, FlowGroup):
            flow = next(flow.in_order(self.charge, self.now_us))
        return flow


def pass_over(flow: Flow, by: Flow, charge: Charge, now_us: int, times: int = 1) -> None:
    """Count that a sibling was served, and charged, although the flow stood before it."""
    flow.passes = flow.passes_now(charge, now_us) + times
    flow.behind = max(flow.behind, by.key(by.standing(charge, now_us)))


def is_held(job: Job, limit: int, charge: Charge, now_us: int) -> bool:
    """Return whether nothing may go before the job's oldest unit any more."""
    passed = (flow.passes_now(charge, now_us) for flow in job.path())
    return job.overtaken >= limit or max(passed) >= limit


def turns_out_of_order(batch: Sequence[tuple[Job, bool]]) -> dict[tuple[Flow, Flow], int]:
    """Count for a batch, in its order, how often one sibling went before another.

    The batch has a pair for each pick: its job, and whether it was placed. A pick that was
    placed went before the jobs of all earlier picks that were not.
    """
    turns: Counter[tuple[Flow, Flow]] = Counter()
    left: dict[Job, None] = {}
    for served, placed in batch:
        if placed:
            parts = dict.fromkeys(_where_paths_part(job, served) for job in left)
            turns.update([pair for pair in parts if pair is not None])
        else:
            left[served] = None
    return turns


def _where_paths_part(job: Job, other: Job) -> tuple[Flow, Flow] | None:
    """Return the siblings at which two jobs' paths part, or None if both are one job."""
    pairs = zip(reversed(tuple(job.path())), reversed(tuple(other.path())), strict=False)
    return next(((a, b) for a, b in pairs if a is not b), None)


def _jobs(flow: Flow) -> list[Job]:
    if isinstance(flow, Job):
        return [flow]
    return [
        job for child in flow.children.values() if child.entry is not None for job in _jobs(child)
    ]
