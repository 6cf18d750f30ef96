"""Slots on workers as whole numbers: bins, and things of a few types that go into them."""

from collections.abc import Sequence
from dataclasses import dataclass

from placer.packing.bins import Counts, PackingBin, PackingProblem, Vector
from placer.slots.resources import ResourceProfile, SlotResourceAmounts
from placer.slots.workers.model import DataflowWorkers


@dataclass(frozen=True, slots=True)
class SlotPackingProblem(PackingProblem):
    """Slots that go on workers.

    The bins are the registered workers that are not blocked, then the pending ones. The
    numbers of a vector are CPUs, memories, then extended resources by name. An unknown need
    takes a default slot, which differs from worker to worker.

    Attributes:
        totals: The room of each bin, and of a fresh one behind them, when nothing is on it.

    """

    totals: tuple[Vector, ...]

    def total(self, number: int) -> Vector:
        """Return the room of a bin when nothing is on it."""
        return self.totals[min(number, len(self.bins))]


def workers_taking_new_slots(workers: DataflowWorkers) -> list[int]:
    """Return the registered workers that take new slots, by index."""
    return [i for i, worker in enumerate(workers.registered) if not worker.blocked]


def rooms_for_new_slots(
    workers: DataflowWorkers,
) -> list[tuple[SlotResourceAmounts, SlotResourceAmounts, SlotResourceAmounts]]:
    """Return (free, total, default slot) of each bin that is there, in the order of bins."""
    registered = (workers.registered[i] for i in workers_taking_new_slots(workers))
    return [
        *((worker.available, worker.total, worker.default_slot) for worker in registered),
        *((worker.total, worker.total, worker.default_slot) for worker in workers.pending),
    ]


def slot_packing_problem(
    workers: DataflowWorkers, types: Sequence[ResourceProfile], counts: Counts
) -> SlotPackingProblem:
    """Return the problem of putting so many slots of each type on the workers."""
    spec, there = workers.spec, rooms_for_new_slots(workers)
    totals = [*(total for _, total, _ in there), spec.total]
    seen = [
        *totals,
        *(t for t in types if isinstance(t, SlotResourceAmounts)),
        *(worker.total for worker in workers.registered),
    ]
    names = sorted({name for amounts in seen for name, _ in amounts.extended_e8})

    def vector(amounts: SlotResourceAmounts) -> Vector:
        return (*amounts.plain, *map(amounts.extended_of, names))

    def bin_of(room: SlotResourceAmounts, default: SlotResourceAmounts) -> PackingBin:
        sizes = (t if isinstance(t, SlotResourceAmounts) else default for t in types)
        return PackingBin(vector(room), tuple(map(vector, sizes)))

    return SlotPackingProblem(
        bins=tuple(bin_of(free, default) for free, _, default in there),
        fresh=bin_of(spec.total, spec.default_slot),
        counts=counts,
        totals=tuple(map(vector, totals)),
    )
