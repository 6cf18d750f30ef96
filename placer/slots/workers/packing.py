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


def slot_packing_problem(
    workers: DataflowWorkers, types: Sequence[ResourceProfile], counts: Counts
) -> SlotPackingProblem:
    """Return the problem of putting so many slots of each type on the workers."""
    spec = workers.spec
    registered = [workers.registered[i] for i in workers_taking_new_slots(workers)]
    totals = [*(w.total for w in registered), *(w.total for w in workers.pending), spec.total]
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
        bins=(
            *(bin_of(worker.available, worker.default_slot) for worker in registered),
            *(bin_of(worker.total, worker.default_slot) for worker in workers.pending),
        ),
        fresh=bin_of(spec.total, spec.default_slot),
        counts=counts,
        totals=tuple(map(vector, totals)),
    )
