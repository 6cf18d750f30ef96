"""Workloads: what waits for a round and starts as a whole, and what a round has decided."""

from collections.abc import Iterable
from dataclasses import dataclass

from placer.queue.model import BypassedUnit, SiblingFlowChoice
from placer.scheduling.decision import Batch, Decision
from placer_models.placement import NamespacedName, Unplaced
from placer_models.pod import Gang, GangGroup
from placer_models.typed import TypeChecked


@dataclass(frozen=True, slots=True)
class Workload(TypeChecked):
    """A unit that starts as a whole: a gang, a lone pod, or a gang group.

    Attributes:
        key: The caller's name for it, unique among the workloads that wait or run.
        gangs: One gang, or all gangs of the group.
        length_us: How long it runs at most, if known. What is charged is corrected when it
            ends; but a workload that runs longer puts off those that wait for its place.
            None: the queue estimates the charge, and nobody counts on the end.

    """

    key: str
    gangs: tuple[Gang, ...]
    group: GangGroup | None = None
    length_us: int | None = None

    @property
    def width(self) -> int:
        """Pods that run at once; times the length, this is what the workload is charged."""
        return sum(len(gang.pods) for gang in self.gangs)

    @property
    def pods(self) -> tuple[NamespacedName, ...]:
        """The keys of its pods."""
        return tuple(pod.key for gang in self.gangs for pod in gang.pods)


@dataclass(frozen=True, slots=True)
class AdmittedWorkload:
    """A workload that runs since this round.

    Attributes:
        steps: Why it was next, from the top of the tree of flows down. If they lead to another
            job, that one was least served, and had to wait.
        missing: Members beyond the minimum of a gang that found no place; they no longer
            wait.
        turn_us: When its turn came, if it had no place then and capacity was kept for it.

    """

    workload: Workload
    job: str
    steps: tuple[SiblingFlowChoice, ...]
    missing: tuple[NamespacedName, ...]
    turn_us: int | None = None


@dataclass(frozen=True, slots=True)
class ReservedWorkload:
    """The workload whose turn has come and that has no place yet.

    Attributes:
        since_us: When its turn came.
        due_us: By when it starts, as far as lengths are known; None if nobody can tell.
        unplaced: Its pods, and why they have no place now.

    """

    workload: Workload
    job: str
    since_us: int
    due_us: int | None
    unplaced: tuple[Unplaced, ...]


@dataclass(frozen=True, slots=True)
class AdmissionRound:
    """The outcome of one round.

    Attributes:
        decision: The Scheduler's decision on all that starts, with places, tiers and bounds. If
            nothing starts, the one on the workload whose turn it is, with reasons; None if
            nothing waits.
        bypasses: Workloads at the front of their flows that others have gone before.
        reserved: For which workload capacity is kept, if there is one.

    """

    decision: Decision | None
    admitted: tuple[AdmittedWorkload, ...]
    bypasses: tuple[BypassedUnit, ...]
    reserved: ReservedWorkload | None = None


def batch_of_workloads(workloads: Iterable[Workload]) -> Batch:
    """Return the batch of some workloads."""
    workloads = tuple(workloads)
    return Batch(
        gangs=tuple(gang for workload in workloads for gang in workload.gangs),
        groups=tuple(workload.group for workload in workloads if workload.group is not None),
    )
