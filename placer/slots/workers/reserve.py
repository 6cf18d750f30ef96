"""The reserve beyond what jobs ask for: redundancy, and least totals."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from placer.slots.resources import (
    PLAIN,
    ZERO,
    ResourceProfile,
    SlotResourceAmounts,
    add_slot_amounts,
)
from placer.slots.workers.default_slots import slots_per_worker
from placer.slots.workers.model import DataflowWorkers, NewWorkerSpec, WorkerReserve
from placer.slots.workers.packing import rooms_for_new_slots


@dataclass(frozen=True, slots=True)
class WorkersFreeAndTotal:
    """Resources of workers, added up.

    Attributes:
        free: What no slot takes.
        total: All of it.

    """

    free: SlotResourceAmounts = ZERO
    total: SlotResourceAmounts = ZERO

    def plus(self, free: SlotResourceAmounts, total: SlotResourceAmounts) -> "WorkersFreeAndTotal":
        """Return the stock with one more worker."""
        return WorkersFreeAndTotal(
            add_slot_amounts(self.free, free), add_slot_amounts(self.total, total)
        )


def free_and_total_of_workers(
    parts: Iterable[tuple[SlotResourceAmounts, SlotResourceAmounts]],
) -> WorkersFreeAndTotal:
    """Return the stock of workers, each given as (free, total)."""
    stock = WorkersFreeAndTotal()
    for free, total in parts:
        stock = stock.plus(free, total)
    return stock


def new_worker_count_to_fill_reserve(
    stock: WorkersFreeAndTotal, spec: NewWorkerSpec, reserve: WorkerReserve
) -> int:
    """Return how many new workers the stock needs to make up the reserve.

    Raises:
        ValueError: A new worker has nothing of what is short.

    """
    one, spare = spec.total, reserve.redundant_workers
    lacks = [
        ("cpu_e8", reserve.min_cpu_e8 - stock.total.cpu_e8, one.cpu_e8),
        (
            "memory",
            reserve.min_memory_bytes - stock.total.total_memory_bytes,
            one.total_memory_bytes,
        ),
        *(
            (name, spare * each - free, each)
            for name, free, each in zip(PLAIN, stock.free.plain, one.plain, strict=True)
        ),
        *(
            (name, spare * each - stock.free.extended_of(name), each)
            for name, each in one.extended_e8
        ),
    ]
    workers = 0
    for name, lack, each in lacks:
        if lack > 0 and not each:
            raise ValueError(f"{name}: the reserve lacks {lack}, and a new worker has none")
        if lack > 0:
            workers = max(workers, -(-lack // each))
    return workers


def least_new_worker_count_for_reserve(
    workers: DataflowWorkers, needs: Mapping[ResourceProfile, int]
) -> int:
    """Return the least number of new workers that the reserve needs, wherever the slots are.

    A default slot takes more of one worker than of another, so it is counted where it
    takes least: each resource by itself, and of each worker no more than it holds.

    Args:
        workers: What is there.
        needs: Slots of each size that are placed.

    """
    spec, reserve = workers.spec, workers.reserve
    there = rooms_for_new_slots(workers)
    stock = free_and_total_of_workers((free, total) for free, total, _ in there)
    least = new_worker_count_to_fill_reserve(stock, spec, replace(reserve, redundant_workers=0))
    if not reserve.redundant_workers:
        return least
    unknown = sum(
        count for profile, count in needs.items() if not isinstance(profile, SlotResourceAmounts)
    )
    for name in (*PLAIN, *(name for name, _ in spec.total.extended_e8)):

        def amount(amounts: SlotResourceAmounts, name: str = name) -> int:
            return getattr(amounts, name) if name in PLAIN else amounts.extended_of(name)

        used = sum(
            count * amount(profile)
            for profile, count in needs.items()
            if isinstance(profile, SlotResourceAmounts)
        )
        rooms = sorted(
            (amount(default), slots_per_worker(free, default))
            for free, _, default in there
            if default != ZERO
        )
        left = unknown
        for size, holds in rooms:
            if size < amount(spec.default_slot):
                used += size * min(left, holds)
                left -= min(left, holds)
        used += left * amount(spec.default_slot)
        each = amount(spec.total)
        lack = reserve.redundant_workers * each + used - amount(stock.free)
        if lack > 0 and each:
            least = max(least, -(-lack // each))
    return least
