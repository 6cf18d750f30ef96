"""The fair queue in front of the Scheduler: which work goes next, and then where it runs.

The queue decides which gangs enter a batch, in order of fairness (Q12). Inside the batch
the tiers rule. What finds no place goes back to the front of its flow; others may go
before it a bounded number of times, and then nothing does until it has its turn.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from placer.queue.fair import FairQueue
from placer.queue.model import Bypass, FlowChoice, Ticket, WorkUnit
from placer.scheduler import Scheduler
from placer.scheduling.decision import Batch, Decision
from placer.search.options import SolveOptions
from placer_models.placement import NamespacedName
from placer_models.pod import Gang, GangGroup

MOST_UNITS = 64
"""The most workloads in one batch, unless told otherwise."""


@dataclass(frozen=True, slots=True)
class Workload:
    """A unit that enters a batch as a whole: a gang, a lone pod, or a gang group.

    Attributes:
        key: The caller's name for it, unique among the workloads that wait or run.
        gangs: One gang, or all gangs of the group.
        length_us: How long it runs, if known; None: the queue estimates.

    """

    key: str
    gangs: tuple[Gang, ...]
    group: GangGroup | None = None
    length_us: int | None = None

    @property
    def width(self) -> int:
        """Pods that run at once; times the length, this is what the workload is charged."""
        return sum(len(gang.pods) for gang in self.gangs)


@dataclass(frozen=True, slots=True)
class Admitted:
    """A workload that runs since this round.

    Attributes:
        steps: Why it was next, from the top of the tree of flows down.
        missing: Members beyond the minimum of a gang that found no place; they no longer
            wait.

    """

    workload: Workload
    job: str
    steps: tuple[FlowChoice, ...]
    missing: tuple[NamespacedName, ...]


@dataclass(frozen=True, slots=True)
class Round:
    """The outcome of one batch.

    Attributes:
        decision: The Scheduler's decision, with places, tiers, bounds and reasons; None if
            nothing waited.
        bypasses: Workloads at the front of their flows that others have gone before.

    """

    decision: Decision | None
    admitted: tuple[Admitted, ...]
    bypasses: tuple[Bypass, ...]


class Admission:
    """A queue and a Scheduler that work together. Not safe for several threads at once."""

    def __init__(
        self, queue: FairQueue, scheduler: Scheduler, *, most_units: int = MOST_UNITS
    ) -> None:
        """Compose them; both may hold flows and running pods already."""
        if most_units < 1:
            raise ValueError(f"most_units is {most_units}; a batch has 1 unit or more")
        self.queue = queue
        self.scheduler = scheduler
        self.most_units = most_units
        self._waiting: dict[str, Workload] = {}
        self._running: dict[str, tuple[Ticket, tuple[NamespacedName, ...]]] = {}

    def submit(self, job: str, *workloads: Workload, now_us: int) -> None:
        """Queue workloads behind what waits in the flow of the job.

        Raises:
            ValueError: A key is in use, or a workload has no pods.

        """
        keys = [workload.key for workload in workloads]
        for workload in workloads:
            if (
                workload.key in self._waiting
                or workload.key in self._running
                or keys.count(workload.key) > 1
            ):
                raise ValueError(
                    f"workload {workload.key!r} waits or runs already; choose another key"
                )
            if not workload.width:
                raise ValueError(f"workload {workload.key!r} has no pods; give it one or more")
        units = [
            WorkUnit(workload.key, workload.length_us, workload.width) for workload in workloads
        ]
        self.queue.submit(job, *units, now_us=now_us)
        self._waiting.update((workload.key, workload) for workload in workloads)

    def step(self, now_us: int, deadline_s: float, options: SolveOptions | None = None) -> Round:
        """Let the least served workloads enter a batch, and place the batch.

        When placing raises, the queue is as it was before the call.
        """
        picked = self.queue.select(now_us, self.most_units)
        if not picked.picks:
            return Round(None, (), self.queue.bypasses(now_us))
        workloads = [self._waiting[str(pick.ticket.unit.key)] for pick in picked.picks]
        try:
            decision = self.scheduler.place(_batch(workloads), deadline_s, options=options)
        except BaseException:
            self.queue.settle(picked, (), now_us)
            raise
        placed = {place.key for place in decision.placement.pods}
        admitted = []
        for pick, workload in zip(picked.picks, workloads, strict=True):
            pods = [pod.key for gang in workload.gangs for pod in gang.pods]
            here = tuple(key for key in pods if key in placed)
            if here:
                missing = tuple(key for key in pods if key not in placed)
                admitted.append(Admitted(workload, pick.ticket.job, pick.steps, missing))
                self._running[workload.key] = (pick.ticket, here)
                del self._waiting[workload.key]
        sequences = {self._running[one.workload.key][0].sequence for one in admitted}
        bypasses = self.queue.settle(picked, sequences, now_us)
        return Round(decision, tuple(admitted), bypasses)

    def finish(self, key: str, now_us: int) -> None:
        """End a workload: its pods are released, and its flow is charged what it really took.

        Raises:
            KeyError: No workload of that key runs.

        """
        ticket, pods = self._running[key]
        self.scheduler.release(pods)
        self.queue.finish(ticket, now_us)
        del self._running[key]

    @property
    def waiting(self) -> tuple[str, ...]:
        """Keys of the workloads that wait, in the order in which they were submitted."""
        return tuple(self._waiting)

    @property
    def running(self) -> tuple[str, ...]:
        """Keys of the workloads that run."""
        return tuple(self._running)


def _batch(workloads: Iterable[Workload]) -> Batch:
    workloads = tuple(workloads)
    return Batch(
        gangs=tuple(gang for workload in workloads for gang in workload.gangs),
        groups=tuple(workload.group for workload in workloads if workload.group is not None),
    )
