"""Workers and their slots: what exists, what jobs ask for, who gets what."""

from dataclasses import dataclass
from enum import StrEnum

from placer.slots.resources import ZERO, ResourceProfile, SlotResourceAmounts


@dataclass(frozen=True, slots=True)
class NewWorkerSpec:
    """The spec of a new worker.

    Attributes:
        default_slot: What a slot has for a request of unknown resources.

    """

    total: SlotResourceAmounts
    default_slot: SlotResourceAmounts


@dataclass(frozen=True, slots=True)
class Worker:
    """A worker that runs.

    Attributes:
        available: What its slots have left of the total.
        blocked: It gets no new slot.
        idle: It has been without slots long enough to be released.

    """

    total: SlotResourceAmounts
    available: SlotResourceAmounts
    default_slot: SlotResourceAmounts
    blocked: bool = False
    idle: bool = False


@dataclass(frozen=True, slots=True)
class RequestedWorker:
    """A worker that was asked for and does not run yet.

    Attributes:
        used: The resources that slots waiting for it will take.

    """

    total: SlotResourceAmounts
    default_slot: SlotResourceAmounts
    used: SlotResourceAmounts = ZERO


@dataclass(frozen=True, slots=True)
class WorkerReserve:
    """What is kept beyond what jobs ask for.

    Attributes:
        redundant_workers: Free resources to keep, as a number of whole new workers.
        min_cpu_e8: CPUs that workers have in total, in hundred-millionths.
        min_memory_bytes: Memory that workers have in total.

    """

    redundant_workers: int = 0
    min_cpu_e8: int = 0
    min_memory_bytes: int = 0


@dataclass(frozen=True, slots=True)
class DataflowWorkers:
    """All workers, and the spec of a new one."""

    spec: NewWorkerSpec
    registered: tuple[Worker, ...] = ()
    pending: tuple[RequestedWorker, ...] = ()
    reserve: WorkerReserve = WorkerReserve()


@dataclass(frozen=True, slots=True)
class NeededSlotsOfOneSize:
    """Slots of one size; UNKNOWN is served by the default slot of whichever worker."""

    profile: ResourceProfile
    count: int


@dataclass(frozen=True, slots=True)
class SlotsNeededByJob:
    """The slots that a job asks for: all of them, or the job cannot run."""

    job: str
    needs: tuple[NeededSlotsOfOneSize, ...]


class WorkerMatchingStrategy(StrEnum):
    """Which running worker is asked first. The value is the word in files."""

    FIRST_FIT = "first-fit"
    """The first in the list, until it is full."""

    LEAST_UTILIZED = "least-utilized"
    """The emptiest by CPUs and memory, anew for each slot."""

    MOST_UTILIZED = "most-utilized"
    """The fullest by CPUs and memory, anew for each slot."""


@dataclass(frozen=True, slots=True)
class SlotsGrantedOnWorker:
    """Slots of one size for a job on a worker.

    Attributes:
        worker: Index of a registered worker; or of a pending one, where new workers
            follow those that were pending before.
        slot: Its size; a default slot where the need is unknown.

    """

    worker: int
    job: str
    slot: SlotResourceAmounts
    count: int


@dataclass(frozen=True, slots=True)
class SlotAllocationResult:
    """Who gets which slots, and how many workers that takes.

    Attributes:
        on_registered: On workers that run.
        on_pending: On workers that do not run yet, the new ones among them.
        new_workers: Workers to start, reserve included.
        bound: The least number of new workers of any allocation; None if nobody looked.
        unfulfillable: Jobs that get nothing: no number of new workers can serve them, or
            no more are to be had.
        settled: Whether serving more of these jobs is proven impossible.

    """

    on_registered: tuple[SlotsGrantedOnWorker, ...]
    on_pending: tuple[SlotsGrantedOnWorker, ...]
    new_workers: int
    bound: int | None
    unfulfillable: tuple[str, ...] = ()
    settled: bool = True

    @property
    def proven(self) -> bool:
        """Whether fewer new workers are proven impossible."""
        return self.bound == self.new_workers
