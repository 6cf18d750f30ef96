"""Slots for jobs on workers: with the fewest new workers, or one after another."""

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from placer.packing.bins import Counts
from placer.search.options import SolveOptions
from placer.search.solver import solve
from placer.slots.resources import ResourceProfile, SlotResourceAmounts, add_slot_amounts
from placer.slots.workers.as_instance import (
    SlotsOnWorkersAsPodsOnNodes,
    slots_on_workers_as_pods_on_nodes,
    sufficient_new_worker_count,
)
from placer.slots.workers.in_order import InOrderSlotPacker
from placer.slots.workers.model import (
    DataflowWorkers,
    SlotAllocationResult,
    SlotsGrantedOnWorker,
    SlotsNeededByJob,
    WorkerMatchingStrategy,
)
from placer.slots.workers.packing import (
    rooms_for_new_slots,
    slot_packing_problem,
    workers_taking_new_slots,
)
from placer.slots.workers.reserve import (
    free_and_total_of_workers,
    least_new_worker_count_for_reserve,
    new_worker_count_to_fill_reserve,
)
from placer_models.goals import OPENED
from placer_models.placement import (
    Answer,
    PartlyPlaced,
    Placed,
    Placement,
    is_most_that_can_be_placed,
)

WORK_LIMIT = 20
"""Deterministic seconds that the solver may spend; most answers take a small part of one."""


def allocate_slots(
    workers: DataflowWorkers,
    jobs: Sequence[SlotsNeededByJob],
    *,
    most_new: int | None = None,
    weights: Sequence[int] | None = None,
    work_limit: int = WORK_LIMIT,
    time_limit_s: float | None = None,
) -> SlotAllocationResult:
    """Give jobs their slots with as few new workers as can be (F27).

    The placement solver does it: workers are nodes, those that could be started are
    offered, slots are pods and a job is a gang. A job that cannot be served, however
    many new workers there are, gets nothing.

    Args:
        workers: What is there.
        jobs: Most important first.
        most_new: No more new workers are to be had; None: any number.
        weights: What each job counts where not all can be served; None: an earlier one
            counts for more than all later ones.
        work_limit: Deterministic seconds that may be spent; equal limits give equal
            answers.
        time_limit_s: Wall-clock seconds that may be spent, in place of the work.

    """
    started_s = time.monotonic()
    types = list(dict.fromkeys(need.profile for job in jobs for need in job.needs))
    packing = slot_packing_problem(workers, types, _counts(jobs, types))
    usual = _best_in_order(workers, jobs, most_new)
    offers = sufficient_new_worker_count(packing)
    if most_new is not None:
        offers = min(offers, most_new)
    if usual is not None:
        offers = min(offers, _started(workers, usual))
    problem = slots_on_workers_as_pods_on_nodes(packing, types, jobs, offers, weights)
    options = SolveOptions(work_limit=work_limit, workers=1)
    if time_limit_s is not None:
        options = SolveOptions(time_limit_s=_left_s(time_limit_s, started_s), workers=1)
    answer = solve(problem.instance, options) if problem.thing_of else Placed(Placement(), ())
    given = _given(problem, answer, jobs, types)
    served = {grant.job for grant in given}
    found = _allocation(
        workers,
        given,
        len({grant.bin for grant in given if grant.bin >= len(packing.bins)}),
        _bound(answer),
        tuple(job.job for job in jobs if job.job not in served and _slots(job)),
        is_most_that_can_be_placed(answer),
    )
    if found.unfulfillable and served and not found.proven:
        # Without the others there is nothing to choose, and the fewest are easier to prove.
        alone = allocate_slots(
            workers,
            [j for j in jobs if j.job in served],
            work_limit=work_limit,
            time_limit_s=None if time_limit_s is None else _left_s(time_limit_s, started_s),
        )
        if not alone.unfulfillable and alone.new_workers <= found.new_workers:
            found = replace(alone, unfulfillable=found.unfulfillable, settled=found.settled)
    # Where the work was too little, one of the usual ways may have been lucky.
    if usual is None or (not found.unfulfillable and found.new_workers <= usual.new_workers):
        return found
    return replace(usual, bound=found.bound)


def _left_s(limit_s: float, started_s: float) -> float:
    return max(started_s + limit_s - time.monotonic(), 0.0)


def _best_in_order(
    workers: DataflowWorkers, jobs: Sequence[SlotsNeededByJob], most_new: int | None
) -> SlotAllocationResult | None:
    """Return the best of the usual ways that serves all jobs; None: none does."""
    found = [
        allocate_slots_in_order(workers, jobs, matching) for matching in WorkerMatchingStrategy
    ]
    served = [
        way
        for way in found
        if not way.unfulfillable and (most_new is None or _started(workers, way) <= most_new)
    ]
    return min(served, key=lambda way: way.new_workers, default=None)


def _started(workers: DataflowWorkers, allocation: SlotAllocationResult) -> int:
    """Return how many new workers have slots; the reserve may want more."""
    there = len(workers.pending)
    return max((grant.worker - there + 1 for grant in allocation.on_pending), default=0)


def _bound(answer: Answer) -> int:
    if isinstance(answer, Placed | PartlyPlaced):
        for value in answer.tiers:
            if value.tier == OPENED:
                return value.bound or 0
    return 0


def _given(
    problem: SlotsOnWorkersAsPodsOnNodes,
    answer: Answer,
    jobs: Sequence[SlotsNeededByJob],
    types: Sequence[ResourceProfile],
) -> list["_Given"]:
    """Return which job has slots where; new workers that are used come first."""
    if not isinstance(answer, Placed | PartlyPlaced):
        return []
    bins = [
        (problem.bin_of[place.node], *problem.thing_of[place.name])
        for place in answer.placement.pods
    ]
    there = len(problem.instance.nodes) - sum(node.offered for node in problem.instance.nodes)
    used = sorted({number for number, _, _ in bins if number >= there})
    renamed = {number: there + position for position, number in enumerate(used)}
    counts = Counter((renamed.get(number, number), job, item) for number, job, item in bins)
    return [
        _Given(number, jobs[job].job, types[item], slots)
        for (number, job, item), slots in sorted(counts.items())
    ]


def _slots(job: SlotsNeededByJob) -> int:
    return sum(need.count for need in job.needs)


def allocate_slots_in_order(
    workers: DataflowWorkers,
    jobs: Sequence[SlotsNeededByJob],
    matching: WorkerMatchingStrategy = WorkerMatchingStrategy.FIRST_FIT,
) -> SlotAllocationResult:
    """Give jobs their slots one after another, as dataflow runtimes do today.

    Running workers are matched as told, pending and new ones first fit. A job of which
    a slot fits nowhere is unfulfillable, and keeps what it has by then.
    """
    asked = [(job.job, need) for job in jobs for need in job.needs]
    # A type for each need of each job, so that the filling tells jobs apart.
    packing = slot_packing_problem(workers, [need.profile for _, need in asked], ())
    state = InOrderSlotPacker(packing, len(workers_taking_new_slots(workers)))
    unfulfillable: dict[str, None] = {}
    for item, (job, need) in enumerate(asked):
        left = state.onto_running(item, need.count, matching)
        if job not in unfulfillable and state.onto_pending(item, left):
            unfulfillable[job] = None
    given = [
        _Given(number, job, need.profile, items[item])
        for number, items in enumerate(state.filling)
        for item, (job, need) in enumerate(asked)
        if items[item]
    ]
    return _allocation(workers, given, state.new_bins, None, tuple(unfulfillable))


class _Given(NamedTuple):
    """Slots for a job in a bin."""

    bin: int
    job: str
    profile: ResourceProfile
    slots: int


def _counts(jobs: Sequence[SlotsNeededByJob], types: Sequence[ResourceProfile]) -> Counts:
    counts = dict.fromkeys(types, 0)
    for job in jobs:
        for need in job.needs:
            counts[need.profile] += need.count
    return tuple(counts.values())


def _allocation(
    workers: DataflowWorkers,
    given: Sequence[_Given],
    new: int,
    bound: int | None,
    unfulfillable: tuple[str, ...],
    settled: bool = True,
) -> SlotAllocationResult:
    """Return grants by worker, with what the reserve wants on top."""
    running = workers_taking_new_slots(workers)
    spec = workers.spec
    there = rooms_for_new_slots(workers) + [(spec.total, spec.total, spec.default_slot)] * new
    free = [room for room, _, _ in there]
    on_registered, on_pending = [], []
    for bin, job, profile, count in given:
        slot = profile if isinstance(profile, SlotResourceAmounts) else there[bin][2]
        free[bin] = add_slot_amounts(free[bin], slot, -count)
        if bin < len(running):
            on_registered.append(SlotsGrantedOnWorker(running[bin], job, slot, count))
        else:
            on_pending.append(SlotsGrantedOnWorker(bin - len(running), job, slot, count))
    stock = free_and_total_of_workers(
        (rest, total) for rest, (_, total, _) in zip(free, there, strict=True)
    )
    extra = new_worker_count_to_fill_reserve(stock, spec, workers.reserve)
    if bound is not None:
        needs = Counter[ResourceProfile]()
        for _, _, profile, count in given:
            needs[profile] += count
        bound = max(bound, least_new_worker_count_for_reserve(workers, needs))
    return SlotAllocationResult(
        tuple(on_registered), tuple(on_pending), new + extra, bound, unfulfillable, settled
    )
