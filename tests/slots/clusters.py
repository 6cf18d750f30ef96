"""Helpers of the slot tests: resources and workers as rows of data spell them."""

from collections.abc import Mapping
from typing import Any

from placer.slots.amount_text import parse_hundred_millionths
from placer.slots.resources import (
    ANY,
    UNKNOWN,
    ZERO,
    ResourceProfile,
    SlotResourceAmounts,
    add_slot_amounts,
    sorted_nonzero_amounts,
)
from placer.slots.workers.default_slots import default_slot
from placer.slots.workers.model import (
    DataflowWorkers,
    NeededSlotsOfOneSize,
    NewWorkerSpec,
    RequestedWorker,
    SlotsNeededByJob,
    Worker,
    WorkerReserve,
)

Row = Mapping[str, Any]

_WORDS: dict[str, ResourceProfile] = {"UNKNOWN": UNKNOWN, "ANY": ANY, "ZERO": ZERO}


def profile(row: Row | str, managed: str = "managed_off_heap_bytes") -> ResourceProfile:
    """Return a profile; its managed memory is of the one kind that is named."""
    return _WORDS[row] if isinstance(row, str) else amounts(row, managed)


def amounts(row: Row, managed: str = "managed_off_heap_bytes") -> SlotResourceAmounts:
    """Return known resources."""
    more = {
        name: parse_hundred_millionths(amount) for name, amount in row.get("extended", {}).items()
    }
    return SlotResourceAmounts(
        cpu_e8=parse_hundred_millionths(row.get("cpu", "0")),
        heap_bytes=row.get("heap", 0),
        off_heap_bytes=row.get("offHeap", 0),
        network_bytes=row.get("network", 0),
        extended_e8=sorted_nonzero_amounts(more),
        **{managed: row.get("managed", 0)},
    )


def workers(row: Row) -> DataflowWorkers:
    """Return the workers of a row."""
    total, slots = amounts(row["worker"]["total"]), row["worker"]["slots"]
    return DataflowWorkers(
        NewWorkerSpec(total, default_slot(total, slots)),
        tuple(_registered(worker, total) for worker in row.get("registered", ())),
        tuple(_pending(worker, total) for worker in row.get("pending", ())),
        WorkerReserve(
            row.get("redundantWorkers", 0),
            parse_hundred_millionths(row.get("minCpu", "0")),
            row.get("minMemory", 0),
        ),
    )


def _registered(row: Row, like: SlotResourceAmounts) -> Worker:
    total = amounts(row["total"]) if "total" in row else like
    return Worker(
        total,
        amounts(row["available"]) if "available" in row else total,
        amounts(row["defaultSlot"]),
        row.get("blocked", False),
        row.get("idle", False),
    )


def _pending(row: Row, like: SlotResourceAmounts) -> RequestedWorker:
    total = amounts(row["total"]) if "total" in row else like
    used = ZERO
    if "used" in row:
        slot, count = row["used"]
        used = add_slot_amounts(used, amounts(slot), count)
    return RequestedWorker(total, default_slot(total, row["slots"]), used)


def jobs(row: Row) -> list[SlotsNeededByJob]:
    """Return what the jobs of a row ask for."""
    return [
        SlotsNeededByJob(name, tuple(NeededSlotsOfOneSize(profile(p), count) for p, count in needs))
        for name, needs in row["jobs"]
    ]
