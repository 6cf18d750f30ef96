"""A placed job as a tree of plain values, for JSON and YAML."""

from typing import assert_never

from placer.slots.amount_text import FIELDS
from placer.slots.compiled import CompiledDataflowJob
from placer.slots.resources import E8
from placer.slots.to_json import resource_profile_to_dict
from placer.slots.workers.lacks import (
    ExistingWorkersFullReason,
    RegionGangWithoutSlots,
    SlotsUndecidedInTimeReason,
    SlotTooLargeReason,
    WorkerLimitExceededReason,
)
from placer.slots.workers.place import JobPlacedOnWorkers


def slot_places_to_dict(job: CompiledDataflowJob, placed: JobPlacedOnWorkers) -> dict[str, object]:
    """Return where slots are; gangs are spoken of by their regions, groups by name."""
    return {
        "apiVersion": "placer/v1",
        "kind": "PlacedJobGraph",
        "name": job.name,
        "allPlaced": placed.all_placed,
        "newWorkers": placed.new_workers,
        "bound": placed.bound,
        "proven": placed.proven,
        "inReserve": len(placed.in_reserve),
        "reserveLacks": placed.reserve_lacks,
        "turns": [
            {
                "placed": [list(job.gangs[gang].regions) for gang in turn.placed],
                "without": [list(job.gangs[gang].regions) for gang in turn.without],
                "lacks": [_lack(job, lack) for lack in turn.lacks],
                "slots": [
                    {
                        "worker": slots.worker,
                        "new": slots.new is not None,
                        "group": job.groups[slots.group].name,
                        "first": slots.slots.start,
                        "count": len(slots.slots),
                        "size": resource_profile_to_dict(slots.size),
                    }
                    for slots in turn.slots
                ],
            }
            for turn in placed.turns
        ],
    }


def _lack(job: CompiledDataflowJob, lack: RegionGangWithoutSlots) -> dict[str, object]:
    """Return why a gang has no slots; a word of ours says of which kind the reason is."""
    regions = list(job.gangs[lack.gang].regions)
    match lack.reason:
        case SlotTooLargeReason(group, amounts):
            short = [
                {
                    "name": FIELDS.get(n, n),
                    "slotTakes": _number(n, w),
                    "newWorkerHas": _number(n, h),
                }
                for n, w, h in amounts
            ]
            name = job.groups[group].name
            return {"regions": regions, "reason": "slot", "group": name, "amounts": short}
        case WorkerLimitExceededReason(limit, new):
            return {"regions": regions, "reason": "limit", "limit": limit, "allows": new}
        case ExistingWorkersFullReason(group, limit):
            name, by = job.groups[group].name, limit.limit if limit else None
            return {"regions": regions, "reason": "taken", "group": name, "limit": by}
        case SlotsUndecidedInTimeReason():
            return {"regions": regions, "reason": "time"}
        case _:
            assert_never(lack.reason)


def _number(name: str, amount: int) -> float | int:
    return amount if name.endswith("_bytes") else amount / E8
