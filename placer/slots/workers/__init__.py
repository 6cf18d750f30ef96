"""Slots on workers: default slots, the fewest new workers, what is kept in reserve."""

from placer.slots.workers.default_slots import default_slot as default_slot
from placer.slots.workers.default_slots import worker_spec as worker_spec
from placer.slots.workers.model import JobNeeds as JobNeeds
from placer.slots.workers.model import SlotAllocation as SlotAllocation
from placer.slots.workers.model import SlotNeed as SlotNeed
from placer.slots.workers.model import Worker as Worker
from placer.slots.workers.model import WorkerMatchingStrategy as WorkerMatchingStrategy
from placer.slots.workers.model import WorkerReserve as WorkerReserve
from placer.slots.workers.model import Workers as Workers
from placer.slots.workers.model import WorkerSpec as WorkerSpec
