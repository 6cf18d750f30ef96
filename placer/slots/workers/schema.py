"""The schema of a file of workers: which fields there are, and their types."""

from typing import Literal

from placer_models.files.part import Amount, Amounts, MetadataPart, Name, Part

KIND = "Workers"


class UsedPart(Part):
    """What slots take of a worker; what is left out is 0."""

    cpu: Amount = "0"
    heap: Amount = "0"
    off_heap: Amount = "0"
    managed_on_heap: Amount = "0"
    managed_off_heap: Amount = "0"
    network: Amount = "0"
    extended: Amounts | None = None


class TotalPart(UsedPart):
    """What a worker has; CPUs and heap must be said."""

    cpu: Amount
    heap: Amount


class SpecPart(Part):
    """What a new worker is, and how large its default slot."""

    resources: TotalPart
    slots: int | None = None
    slot_fraction: Amount | None = None


class WorkerPart(Part):
    """A worker that is there; what it does not say is as in a new one."""

    name: Name
    resources: TotalPart | None = None
    slots: int | None = None
    slot_fraction: Amount | None = None


class RegisteredPart(WorkerPart):
    """A worker that runs."""

    used: UsedPart = UsedPart()
    blocked: bool = False


class ReservePart(Part):
    """What is kept beyond what jobs ask for."""

    redundant_workers: int = 0
    min_cpu: Amount = "0"
    min_memory: Amount = "0"


class LimitsPart(Part):
    """What all workers together may not exceed."""

    max_cpu: Amount | None = None
    max_memory: Amount | None = None


class WorkersFile(Part):
    """One document of ``kind: Workers``."""

    api_version: Literal["placer/v1"]
    kind: Literal["Workers"]
    metadata: MetadataPart = MetadataPart()
    worker: SpecPart
    registered: tuple[RegisteredPart, ...] = ()
    pending: tuple[WorkerPart, ...] = ()
    reserve: ReservePart = ReservePart()
    limits: LimitsPart = LimitsPart()
