"""The schema of a file of workers: which fields there are, and their types."""

from typing import Literal

from placer.slots.resources import SlotResourceAmounts
from placer.slots.schema import NOTHING, AmountE8, Fraction, MemoryBytes, SlotResourceProfilePart
from placer_models.files.part import Name, Part, PlacerFileMetadataPart


class WorkerTotalResourcesPart(SlotResourceProfilePart):
    """What a worker has; CPUs and heap must be said."""

    network: MemoryBytes = NOTHING

    def amounts(self, network_bytes: int = 0) -> SlotResourceAmounts:
        """Return all of it."""
        return super().amounts(network_bytes + self.network)


class WorkerUsedResourcesPart(WorkerTotalResourcesPart):
    """What slots take of a worker; what is left out is 0."""

    cpu: AmountE8 = NOTHING
    heap: MemoryBytes = NOTHING


class NewWorkerSpecPart(Part):
    """What a new worker is, and how large its default slot."""

    resources: WorkerTotalResourcesPart
    slots: int | None = None
    slot_fraction: Fraction | None = None


class WorkerPart(Part):
    """A worker that is there; what it does not say is as in a new one."""

    name: Name
    resources: WorkerTotalResourcesPart | None = None
    slots: int | None = None
    slot_fraction: Fraction | None = None


class RegisteredWorkerPart(WorkerPart):
    """A worker that runs."""

    used: WorkerUsedResourcesPart = WorkerUsedResourcesPart()
    blocked: bool = False


class WorkerReservePart(Part):
    """What is kept beyond what jobs ask for."""

    redundant_workers: int = 0
    min_cpu: AmountE8 = NOTHING
    min_memory: MemoryBytes = NOTHING


class AllWorkersTotalLimitsPart(Part):
    """What all workers together may not exceed."""

    max_cpu: AmountE8 | None = None
    max_memory: MemoryBytes | None = None


class WorkersFile(Part):
    """One document of ``kind: Workers``."""

    api_version: Literal["placer/v1"]
    kind: Literal["Workers"]
    metadata: PlacerFileMetadataPart = PlacerFileMetadataPart()
    worker: NewWorkerSpecPart
    registered: tuple[RegisteredWorkerPart, ...] = ()
    pending: tuple[WorkerPart, ...] = ()
    reserve: WorkerReservePart = WorkerReservePart()
    limits: AllWorkersTotalLimitsPart = AllWorkersTotalLimitsPart()
