"""A placed job as a tree of plain values, for JSON and YAML."""

from placer.slots.compiled import CompiledJob
from placer.slots.to_json import profile_to_json
from placer.slots.workers.place import PlacedJob


def placed_to_json(job: CompiledJob, placed: PlacedJob) -> dict[str, object]:
    """Return where slots are; gangs are spoken of by their regions, groups by name."""
    return {
        "apiVersion": "placer/v1",
        "kind": "PlacedJobGraph",
        "name": job.name,
        "allPlaced": placed.all_placed,
        "newWorkers": placed.new_workers,
        "bound": placed.bound,
        "proven": placed.proven,
        "reserveLacks": placed.reserve_lacks,
        "turns": [
            {
                "placed": [list(job.gangs[gang].regions) for gang in turn.placed],
                "without": [list(job.gangs[gang].regions) for gang in turn.without],
                "slots": [
                    {
                        "worker": slots.worker,
                        "new": slots.new is not None,
                        "group": job.groups[slots.group].name,
                        "first": slots.slots.start,
                        "count": len(slots.slots),
                        "size": profile_to_json(slots.size),
                    }
                    for slots in turn.slots
                ],
            }
            for turn in placed.turns
        ],
    }
