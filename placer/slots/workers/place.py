"""Placement of a compiled job's slots on workers: all slots of a region, or none."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from placer.slots.compiled import CompiledDataflowJob
from placer.slots.graph import JobExecutionMode
from placer.slots.resources import UNKNOWN, ResourceProfile, SlotResourceAmounts
from placer.slots.workers.allocate import allocate_slots
from placer.slots.workers.lacks import (
    RegionGangWithoutSlots,
    WorkerLimitExceededReason,
    why_gang_lacks_slots,
)
from placer.slots.workers.model import (
    DataflowWorkers,
    NeededSlotsOfOneSize,
    SlotAllocationResult,
    SlotsGrantedOnWorker,
    SlotsNeededByJob,
)


@dataclass(frozen=True, slots=True)
class NamedWorkers:
    """Workers with their names, and the limits of their total.

    Attributes:
        registered: A name for each registered worker.
        pending: A name for each pending worker.
        max_cpu_e8: CPUs of all workers together; None: no limit.
        max_memory_bytes: Memory of all workers together; None: no limit.

    """

    workers: DataflowWorkers
    registered: tuple[str, ...] = ()
    pending: tuple[str, ...] = ()
    max_cpu_e8: int | None = None
    max_memory_bytes: int | None = None

    @property
    def limit(self) -> WorkerLimitExceededReason | None:
        """The limit that allows the fewest new workers, or None if there may be any number."""
        workers, spec = self.workers, self.workers.spec.total
        there = [w.total for w in workers.registered] + [w.total for w in workers.pending]
        limits = (
            ("maxCpu", self.max_cpu_e8, sum(a.cpu_e8 for a in there), spec.cpu_e8),
            (
                "maxMemory",
                self.max_memory_bytes,
                sum(a.total_memory_bytes for a in there),
                spec.total_memory_bytes,
            ),
        )
        allowed = (
            WorkerLimitExceededReason(name, max(most - has, 0) // each)
            for name, most, has, each in limits
            if most is not None and each
        )
        return min(allowed, key=lambda limit: limit.new_workers, default=None)

    @property
    def most_new(self) -> int | None:
        """The number of new workers that the limits allow, or None for any number."""
        return self.limit.new_workers if self.limit else None


@dataclass(frozen=True, slots=True)
class SlotsPlacedOnWorker:
    """Slots of a group on a worker.

    Attributes:
        worker: Its name; ``new 0`` is the first that is started.
        new: Its number among those that are started; None: it is there already.
        slots: Which slots of the group, by index.

    """

    worker: str
    new: int | None
    group: int
    slots: range
    size: SlotResourceAmounts


@dataclass(frozen=True, slots=True)
class ConcurrentRegionGangsResult:
    """Gangs that run at the same time.

    Attributes:
        placed: Gangs that have all their slots, by index.
        lacks: Gangs that have none, and why.
        slots: Who is where; regions that share a group share its slots.

    """

    placed: tuple[int, ...]
    lacks: tuple[RegionGangWithoutSlots, ...]
    slots: tuple[SlotsPlacedOnWorker, ...]

    @property
    def without(self) -> tuple[int, ...]:
        """Gangs that have no slots, by index."""
        return tuple(lack.gang for lack in self.lacks)


@dataclass(frozen=True, slots=True)
class JobPlacedOnWorkers:
    """Where a job's slots are.

    Attributes:
        turns: One for a streaming job; a batch job's gangs run one after another.
        new_workers: Workers to start, reserve included; all turns use the same.
        bound: The least number of new workers for the gangs that are placed.
        reserve_lacks: The number of workers that the reserve wants and the limits forbid.

    """

    turns: tuple[ConcurrentRegionGangsResult, ...]
    new_workers: int
    bound: int
    reserve_lacks: int

    @property
    def proven(self) -> bool:
        """Whether fewer new workers are proven impossible."""
        return self.bound == self.new_workers

    @property
    def all_placed(self) -> bool:
        """Whether each region has its slots."""
        return not any(turn.lacks for turn in self.turns)

    @property
    def in_reserve(self) -> range:
        """New workers on which no turn has a slot, by number: those behind the others."""
        used = [s.new + 1 for turn in self.turns for s in turn.slots if s.new is not None]
        return range(max(used, default=0), self.new_workers)


@dataclass(frozen=True, slots=True)
class _Time:
    """Wall-clock time, dealt out to several allocations; what one leaves rolls on.

    Attributes:
        limit_s: The time limit; None lets the usual work finish.

    """

    limit_s: float | None
    started_s: float = field(default_factory=time.monotonic)

    def part(self, of: int) -> float | None:
        """Return an even part of what is left."""
        if self.limit_s is None:
            return None
        return max(self.started_s + self.limit_s - time.monotonic(), 0.0) / of


def place_job_on_workers(
    job: CompiledDataflowJob, pool: NamedWorkers, *, time_limit_s: float | None = None
) -> JobPlacedOnWorkers:
    """Place a job's slots, with as few new workers as can be.

    Args:
        job: The job.
        pool: The workers.
        time_limit_s: Wall-clock seconds that may be spent; None as in ``allocate_slots``.

    Raises:
        OverflowError: Memory of all workers comes to more than 2**63 - 1 bytes.

    """
    gangs = range(len(job.gangs))
    at_once = (
        [list(gangs)] if job.mode is JobExecutionMode.STREAMING else [[gang] for gang in gangs]
    )
    time_left = _Time(time_limit_s)
    turns, allocations = [], []
    for number, together in enumerate(at_once):
        part = _Time(time_left.part(len(at_once) - number))
        turn, allocation = _turn(job, pool, together, part)
        turns.append(turn)
        allocations.append(allocation)
    # New workers are alike, so the turn that wants most has enough for each.
    wanted = max(allocation.new_workers for allocation in allocations)
    bound = max(allocation.bound or 0 for allocation in allocations)
    allowed = wanted if pool.most_new is None else min(wanted, pool.most_new)
    return JobPlacedOnWorkers(tuple(turns), allowed, min(bound, allowed), wanted - allowed)


def _turn(
    job: CompiledDataflowJob, pool: NamedWorkers, gangs: Sequence[int], time_left: _Time
) -> tuple[ConcurrentRegionGangsResult, SlotAllocationResult]:
    """Return as many gangs as have a place together, and their allocation.

    Gangs that share groups are tried one by one, earlier ones first: what such a gang
    asks for depends on whom it can share slots with.
    """
    groups = [group for gang in gangs for group, _ in job.gangs[gang].slots]
    apart = len(set(groups)) == len(groups)
    needs = _needs(job, gangs)
    allocation = allocate_slots(
        pool.workers,
        needs,
        most_new=pool.most_new,
        weights=_alike(needs) if apart else None,
        time_limit_s=time_left.part(1 if apart else 2),
    )
    if apart or not allocation.unfulfillable:
        without = {int(name) for name in allocation.unfulfillable}
        placed = [gang for gang in gangs if gang not in without]
        lacks = [
            why_gang_lacks_slots(job, gang, pool.workers, pool.limit, allocation)
            for gang in without
        ]
        return _turn_of(job, pool, placed, lacks, allocation), allocation
    placed, lacks = [], []
    allocation = allocate_slots(pool.workers, ())
    for number, gang in enumerate(gangs):
        tried = allocate_slots(
            pool.workers,
            _needs(job, [*placed, gang]),
            most_new=pool.most_new,
            time_limit_s=time_left.part(len(gangs) - number),
        )
        if tried.unfulfillable:
            lacks.append(why_gang_lacks_slots(job, gang, pool.workers, pool.limit, tried))
        else:
            placed.append(gang)
            allocation = tried
    return _turn_of(job, pool, placed, lacks, allocation), allocation


def _turn_of(
    job: CompiledDataflowJob,
    pool: NamedWorkers,
    placed: Sequence[int],
    lacks: Sequence[RegionGangWithoutSlots],
    allocation: SlotAllocationResult,
) -> ConcurrentRegionGangsResult:
    slots = _slots(job, pool, placed, allocation)
    return ConcurrentRegionGangsResult(
        tuple(placed), tuple(sorted(lacks, key=lambda lack: lack.gang)), slots
    )


def _alike(needs: Sequence[SlotsNeededByJob]) -> list[int]:
    """Return weights under which every gang counts the same, however large it is.

    A gang's slots and its weight make its points; what division cuts off comes, over all
    gangs, to less than one gang.
    """
    slots = [sum(need.count for need in job.needs) for job in needs]
    points = 2 * sum(slots)
    return [points // count for count in slots]


def _new_slots(job: CompiledDataflowJob, gangs: Sequence[int]) -> Iterator[tuple[int, int, range]]:
    """Yield (gang, group, slots) that a gang adds to those of the gangs before it."""
    asked = [0] * len(job.groups)
    for gang in gangs:
        for group, count in job.gangs[gang].slots:
            if count > asked[group]:
                yield gang, group, range(asked[group], count)
                asked[group] = count


def _needs(job: CompiledDataflowJob, gangs: Sequence[int]) -> list[SlotsNeededByJob]:
    needs: dict[int, list[NeededSlotsOfOneSize]] = {}
    for gang, group, slots in _new_slots(job, gangs):
        needs.setdefault(gang, []).append(NeededSlotsOfOneSize(job.groups[group].slot, len(slots)))
    return [SlotsNeededByJob(str(gang), tuple(wants)) for gang, wants in needs.items()]


def _slots(
    job: CompiledDataflowJob,
    pool: NamedWorkers,
    gangs: Sequence[int],
    allocation: SlotAllocationResult,
) -> tuple[SlotsPlacedOnWorker, ...]:
    """Return which slots of which group the grants are."""
    waiting: dict[tuple[str, ResourceProfile], list[tuple[int, range]]] = {}
    for gang, group, slots in _new_slots(job, gangs):
        waiting.setdefault((str(gang), job.groups[group].slot), []).append((group, slots))
    found: list[SlotsPlacedOnWorker] = []
    # A slot as large as its worker's default slot may be of a group that did not say its
    # size: such grants come last, and go to groups that did say it first.
    for worker, new, is_default, grant in sorted(_grants(pool, allocation), key=lambda g: g[2]):
        left = grant.count
        for profile in (grant.slot, UNKNOWN) if is_default else (grant.slot,):
            queue = waiting.get((grant.job, profile), [])
            while left and queue:
                group, slots = queue.pop(0)
                given = slots[:left]
                found.append(SlotsPlacedOnWorker(worker, new, group, given, grant.slot))
                if slots[left:]:
                    queue.insert(0, (group, slots[left:]))
                left -= len(given)
    order = {name: i for i, name in enumerate((*pool.registered, *pool.pending))}
    found.sort(key=lambda x: (order.get(x.worker, len(order)), x.new or 0, x.group, x.slots.start))
    return tuple(found)


def _grants(
    pool: NamedWorkers, allocation: SlotAllocationResult
) -> Iterator[tuple[str, int | None, bool, SlotsGrantedOnWorker]]:
    """Yield (worker's name, its number if it is new, whether it is a default slot, grant)."""
    workers = pool.workers
    for grant in allocation.on_registered:
        default = workers.registered[grant.worker].default_slot
        yield pool.registered[grant.worker], None, grant.slot == default, grant
    for grant in allocation.on_pending:
        new = grant.worker - len(workers.pending)
        if new >= 0:
            yield f"new {new}", new, grant.slot == workers.spec.default_slot, grant
        else:
            default = workers.pending[grant.worker].default_slot
            yield pool.pending[grant.worker], None, grant.slot == default, grant
