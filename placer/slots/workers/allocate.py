"""Slots for jobs on workers: with the fewest new workers, or one after another."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from placer.slots.resources import Amounts, Profile, add
from placer.slots.workers.fewest import fewest_new_bins, pack_into
from placer.slots.workers.in_order import InOrder, good_start
from placer.slots.workers.packing import Counts, Filling, Packing, open_workers, packing_of
from placer.slots.workers.reserve import stock_of, workers_short
from placer.slots.workers.words import Allocation, Grant, JobNeeds, Matching, Workers
from placer.slots.workers.work import Work, WorkLimitError

WORK_LIMIT = 500_000
"""Steps that the search for fewer workers may take; a few seconds."""


def allocate(
    workers: Workers, jobs: Sequence[JobNeeds], *, work_limit: int = WORK_LIMIT
) -> Allocation:
    """Give jobs their slots with as few new workers as can be (F27).

    A job that no number of new workers can serve gets nothing; jobs before it go first.

    Args:
        workers: What is there.
        jobs: Most important first.
        work_limit: Steps that may be spent; equal limits give equal answers.

    """
    types = list(dict.fromkeys(need.profile for job in jobs for need in job.needs))
    served = _served(workers, jobs, types, work_limit)
    packing = packing_of(workers, types, _counts(served, types))
    as_given = dict.fromkeys(types.index(need.profile) for job in served for need in job.needs)
    large = _too_large_for_new(packing)
    before = pack_into(large, len(large.bins), Work(work_limit))
    start = good_start(packing, [list(as_given)], before or [])
    packed = fewest_new_bins(packing, start, work_limit)
    best = _allocation(
        workers,
        list(_to_jobs(packed.filling, served, types)),
        len(packed.filling) - len(packing.bins),
        packed.bound,
        tuple(job.job for job in jobs if job not in served),
    )
    # Where the work was too little, one of the usual ways may have been lucky.
    for matching in () if best.proven else Matching:
        usual = allocate_in_order(workers, served, matching)
        if usual.new_workers < best.new_workers and not usual.unfulfillable:
            best = replace(usual, bound=best.bound, unfulfillable=best.unfulfillable)
    return best


def allocate_in_order(
    workers: Workers, jobs: Sequence[JobNeeds], matching: Matching = Matching.FIRST_FIT
) -> Allocation:
    """Give jobs their slots one after another, as dataflow runtimes do today.

    Running workers are matched as told, pending and new ones first fit. A job of which
    a slot fits nowhere is unfulfillable, and keeps what it has by then.
    """
    asked = [(job.job, need) for job in jobs for need in job.needs]
    # A type for each need of each job, so that the filling tells jobs apart.
    packing = packing_of(workers, [need.profile for _, need in asked], ())
    state = InOrder(packing, len(open_workers(workers)))
    unfulfillable: dict[str, None] = {}
    for thing, (job, need) in enumerate(asked):
        left = state.onto_running(thing, need.count, matching)
        if job not in unfulfillable and state.onto_pending(thing, left):
            unfulfillable[job] = None
    given = [
        _Given(number, job, need.profile, things[thing])
        for number, things in enumerate(state.filling)
        for thing, (job, need) in enumerate(asked)
        if things[thing]
    ]
    return _allocation(workers, given, state.new_bins, None, tuple(unfulfillable))


class _Given(NamedTuple):
    """Slots for a job in a bin."""

    bin: int
    job: str
    profile: Profile
    slots: int


def _served(
    workers: Workers, jobs: Sequence[JobNeeds], types: Sequence[Profile], work_limit: int
) -> list[JobNeeds]:
    """Return the jobs that have a place if there are new workers enough."""
    served: list[JobNeeds] = []
    for job in jobs:
        packing = packing_of(workers, types, _counts([*served, job], types))
        large = _too_large_for_new(packing)
        try:
            if pack_into(large, len(large.bins), Work(work_limit)) is not None:
                served.append(job)
        except WorkLimitError:
            continue  # As good as no: nobody found a place for it.
    return served


def _counts(jobs: Sequence[JobNeeds], types: Sequence[Profile]) -> Counts:
    counts = dict.fromkeys(types, 0)
    for job in jobs:
        for need in job.needs:
            counts[need.profile] += need.count
    return tuple(counts.values())


def _too_large_for_new(packing: Packing) -> Packing:
    """Return the packing with only those things that no new worker can take."""
    fresh = packing.fresh
    counts = (
        0 if fresh.fits(fresh.room, thing) else count for thing, count in enumerate(packing.counts)
    )
    return replace(packing, counts=tuple(counts))


def _to_jobs(
    filling: Filling, jobs: Sequence[JobNeeds], types: Sequence[Profile]
) -> Iterator[_Given]:
    """Yield which job gets the slots of each bin: earlier jobs, earlier bins."""
    waiting: dict[Profile, list[tuple[str, int]]] = {profile: [] for profile in types}
    for job in reversed(jobs):
        for need in reversed(job.needs):
            waiting[need.profile].append((job.job, need.count))
    for number, things in enumerate(filling):
        for profile, count in zip(types, things, strict=True):
            while count:
                job_name, wants = waiting[profile].pop()
                given = min(count, wants)
                yield _Given(number, job_name, profile, given)
                count -= given
                if wants > given:
                    waiting[profile].append((job_name, wants - given))


def _allocation(
    workers: Workers,
    given: Sequence[_Given],
    new: int,
    bound: int | None,
    unfulfillable: tuple[str, ...],
) -> Allocation:
    """Return grants by worker, with what the reserve wants on top."""
    running = open_workers(workers)
    spec = workers.spec
    there: list[tuple[Amounts, Amounts, Amounts]] = [
        *(
            (w.available, w.total, w.default_slot)
            for w in map(workers.registered.__getitem__, running)
        ),
        *((w.total, w.total, w.default_slot) for w in workers.pending),
        *[(spec.total, spec.total, spec.default_slot)] * new,
    ]
    free = [room for room, _, _ in there]
    on_registered, on_pending = [], []
    for bin, job, profile, count in given:
        slot = profile if isinstance(profile, Amounts) else there[bin][2]
        free[bin] = add(free[bin], slot, -count)
        if bin < len(running):
            on_registered.append(Grant(running[bin], job, slot, count))
        else:
            on_pending.append(Grant(bin - len(running), job, slot, count))
    stock = stock_of((rest, total) for rest, (_, total, _) in zip(free, there, strict=True))
    extra = workers_short(stock, spec, workers.reserve)
    # What is free depends on the number of workers alone if default slots are alike, and
    # then nobody makes up the reserve with fewer.
    if bound is not None and extra and len({default for _, _, default in there}) <= 1:
        bound = new + extra
    return Allocation(tuple(on_registered), tuple(on_pending), new + extra, bound, unfulfillable)
