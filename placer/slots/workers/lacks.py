"""The lacks of a gang without slots: the amount, or the limit, that is short."""

from collections.abc import Sequence
from dataclasses import dataclass

from placer.slots.compiled import CompiledDataflowJob, RegionGang
from placer.slots.resources import ZERO, ResourceProfile, SlotResourceAmounts, slot_amount_shortages
from placer.slots.workers.default_slots import slots_per_worker
from placer.slots.workers.model import DataflowWorkers, SlotAllocationResult
from placer.slots.workers.packing import rooms_for_new_slots


@dataclass(frozen=True, slots=True)
class SlotTooLargeReason:
    """A slot does not fit a new worker, and the existing workers cannot hold all of them.

    Attributes:
        group: Whose slot it is, by index.
        amounts: (field of ``SlotResourceAmounts`` or extended resource, what a slot takes, what a
            new worker has), where that is less.

    """

    group: int
    amounts: tuple[tuple[str, int, int], ...]


@dataclass(frozen=True, slots=True)
class WorkerLimitExceededReason:
    """More new workers would be needed than a limit allows.

    Attributes:
        limit: As files call it: ``maxCpu`` or ``maxMemory``.
        new_workers: How many it allows.

    """

    limit: str
    new_workers: int


@dataclass(frozen=True, slots=True)
class ExistingWorkersFullReason:
    """Only existing workers could hold a slot, and not beside the others.

    Attributes:
        group: Whose slot it is, by index.
        limit: The limit that may stop the other slots instead, or None if there is none.

    """

    group: int
    limit: WorkerLimitExceededReason | None


@dataclass(frozen=True, slots=True)
class SlotsUndecidedInTimeReason:
    """The time ended without a place found or ruled out."""


LackReason = (
    SlotTooLargeReason
    | WorkerLimitExceededReason
    | ExistingWorkersFullReason
    | SlotsUndecidedInTimeReason
)


@dataclass(frozen=True, slots=True)
class RegionGangWithoutSlots:
    """A gang without slots, and why.

    Attributes:
        gang: By index.

    """

    gang: int
    reason: LackReason


def why_gang_lacks_slots(
    job: CompiledDataflowJob,
    gang: int,
    workers: DataflowWorkers,
    limit: WorkerLimitExceededReason | None,
    allocation: SlotAllocationResult,
) -> RegionGangWithoutSlots:
    """Return why the allocation has no slots for the gang.

    Args:
        job: The job.
        gang: By index.
        workers: What is there.
        limit: The limit that allows the fewest new workers, or None if there is none.
        allocation: The allocation of all gangs that were tried together.

    """
    misfits = _misfits(job, job.gangs[gang], workers)
    for group, count in misfits:
        slot = job.groups[group].slot
        assert isinstance(slot, SlotResourceAmounts)  # A default slot fits every worker.
        if _held(workers, slot) < count:
            amounts = tuple(
                (n, wants, has) for n, has, wants in slot_amount_shortages(workers.spec.total, slot)
            )
            return RegionGangWithoutSlots(gang, SlotTooLargeReason(group, amounts))
    if not allocation.settled:
        return RegionGangWithoutSlots(gang, SlotsUndecidedInTimeReason())
    if misfits:
        return RegionGangWithoutSlots(gang, ExistingWorkersFullReason(misfits[0][0], limit))
    assert limit is not None  # New workers without end hold everything that fits one.
    return RegionGangWithoutSlots(gang, limit)


def _misfits(
    job: CompiledDataflowJob, gang: RegionGang, workers: DataflowWorkers
) -> Sequence[tuple[int, int]]:
    """Return the (group, slots) pairs of the gang whose slots are larger than a new worker."""
    return [(g, n) for g, n in gang.slots if not _fits(workers.spec.total, job.groups[g].slot)]


def _fits(total: SlotResourceAmounts, slot: ResourceProfile) -> bool:
    return not isinstance(slot, SlotResourceAmounts) or not any(slot_amount_shortages(total, slot))


def _held(workers: DataflowWorkers, slot: SlotResourceAmounts) -> int:
    """Return how many such slots the existing workers could hold."""
    if slot == ZERO:
        return 0
    return sum(slots_per_worker(free, slot) for free, _, _ in rooms_for_new_slots(workers))
