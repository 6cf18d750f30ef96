"""Slots on workers: default slots, the fewest new workers, what is kept in reserve."""

from placer.slots.workers.default_slots import default_slot as default_slot
from placer.slots.workers.default_slots import worker_spec as worker_spec
from placer.slots.workers.model import DataflowWorkers as DataflowWorkers
from placer.slots.workers.model import NeededSlotsOfOneSize as NeededSlotsOfOneSize
from placer.slots.workers.model import NewWorkerSpec as NewWorkerSpec
from placer.slots.workers.model import SlotAllocationResult as SlotAllocationResult
from placer.slots.workers.model import SlotsNeededByJob as SlotsNeededByJob
from placer.slots.workers.model import Worker as Worker
from placer.slots.workers.model import WorkerMatchingStrategy as WorkerMatchingStrategy
from placer.slots.workers.model import WorkerReserve as WorkerReserve
