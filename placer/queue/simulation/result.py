"""The result of a simulation: every run, every job's times, and how fair it was."""

from dataclasses import dataclass
from fractions import Fraction

from placer.queue.fairness import LargestFlowLead
from placer.queue.model import SiblingFlowChoice
from placer.queue.simulation.scenario import QueueScenario


@dataclass(frozen=True, slots=True)
class SimulatedJobThread:
    """One thread of work on its threads of capacity.

    Attributes:
        thread: Its number in the job, from 1.
        on: Numbers of the threads of capacity; several for a gang.
        passes: How often others went before it while it was the oldest of its job.
        steps: Why it was next; empty if it ran before the simulation began.
        turn_us: When its turn came, if it did not fit then; capacity was kept for it from then on.

    """

    job: str
    thread: int
    on: tuple[int, ...]
    start_us: int
    end_us: int
    passes: int = 0
    steps: tuple[SiblingFlowChoice, ...] = ()
    turn_us: int | None = None

    @property
    def service(self) -> int:
        """Thread-microseconds executed."""
        return (self.end_us - self.start_us) * len(self.on)


@dataclass(frozen=True, slots=True)
class SimulatedJobResult:
    """What became of a job.

    Attributes:
        first_start_us: None if none of its threads ever ran.
        end_us: None if some thread never ran.
        service: Thread-microseconds executed.

    """

    name: str
    group: str
    arrives_us: int
    threads: int
    first_start_us: int | None
    end_us: int | None
    service: int

    @property
    def took_us(self) -> int | None:
        """Microseconds from its arrival to its end, or None if it has no end."""
        return None if self.end_us is None else self.end_us - self.arrives_us


@dataclass(frozen=True, slots=True)
class QueueSimulationResult:
    """A whole simulation.

    Attributes:
        runs: All runs, in the order of their starts.
        makespan_us: When the last run ended.
        lower_bound_us: No order of the threads could have ended before this.
        upper_bound_us: Graham's bound, W/C + (1 - 1/C) Lmax, or None where it does not
            apply: it is for work that is all there at the start, on capacity that
            stays as it is.
        capacity_us: Thread-microseconds of capacity there while work ran or waited.
        lead: The worst lead of a flow over a sibling, or None if there are too many flows
            to compare.
        never_ran: Threads of work that found no room, by job.

    """

    scenario: QueueScenario
    runs: tuple[SimulatedJobThread, ...]
    jobs: tuple[SimulatedJobResult, ...]
    makespan_us: int
    lower_bound_us: int
    upper_bound_us: Fraction | None
    capacity_us: int
    lead: LargestFlowLead | None
    never_ran: tuple[tuple[str, int], ...]

    @property
    def service(self) -> int:
        """Thread-microseconds executed."""
        return sum(run.service for run in self.runs)
