"""A scenario: threads of capacity, flows, and the threads of work of each job."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from placer.queue.model import ONE_MILLI, US_PER_S, DispatchUnit, FlowChargeTime


@dataclass(frozen=True, slots=True)
class QueueThreadCountOverTime:
    """Threads of capacity, numbered from 1.

    Attributes:
        threads: How many there are at the start.
        changes: (time, threads): how many there are from that time on. Threads with the
            highest numbers leave, each as soon as it is free; the same ones come back.
        slow: (number, milli): how many thousandths of the usual time the thread takes.

    """

    threads: int
    changes: tuple[tuple[int, int], ...] = ()
    slow: tuple[tuple[int, int], ...] = ()

    @property
    def most(self) -> int:
        """The most threads there are at any time."""
        return max([self.threads, *(threads for _, threads in self.changes)])


@dataclass(frozen=True, slots=True)
class FlowGroupSpec:
    """A group of flows; without a parent it stands at the top."""

    name: str
    weight_milli: int = ONE_MILLI
    parent: str | None = None


@dataclass(frozen=True, slots=True)
class SimulatedJob:
    """A job and its threads of work.

    Attributes:
        group: Its group, or None for the default group.
        lengths_us: What each thread of work takes, in the order of the queue.
        width: Threads of capacity that each of them needs at once; a gang needs several.
        known: Whether the queue is told the lengths; otherwise it estimates them.
        estimate_us: What the queue is told instead, for every thread.
        served: Thread-microseconds of its recent past.
        running_on: Numbers of the threads of capacity on which its threads of work run
            already when the simulation begins; empty if they queue.

    """

    name: str
    lengths_us: tuple[int, ...]
    group: str | None = None
    weight_milli: int = ONE_MILLI
    arrives_us: int = 0
    width: int = 1
    known: bool = True
    estimate_us: int | None = None
    served: int | None = None
    running_on: tuple[int, ...] = ()

    def unit(self, thread: int) -> DispatchUnit:
        """Return the thread of work as the queue is told of it, with the length it is told."""
        length_us = self.lengths_us[thread] if self.known else None
        if self.estimate_us is not None:
            length_us = self.estimate_us
        return DispatchUnit(thread, length_us, self.width)


@dataclass(frozen=True, slots=True)
class QueueScenario:
    """One simulation."""

    title: str
    capacity: QueueThreadCountOverTime
    jobs: tuple[SimulatedJob, ...]
    groups: tuple[FlowGroupSpec, ...] = ()
    charge: FlowChargeTime = FlowChargeTime.DISPATCH
    guess_us: int = 60 * US_PER_S
    bypass_limit: int = 8
    hold_us: int = 600 * US_PER_S


def work_units_dealt_to_threads(lengths_us: Sequence[int], threads: int) -> tuple[int, ...]:
    """Deal units of work to threads of work: each gets consecutive units, as evenly as can be.

    Few threads make a coarse submission, one thread for each unit a fine one.
    """
    each, more = divmod(len(lengths_us), threads)
    cuts = [i * each + min(i, more) for i in range(threads + 1)]
    return tuple(sum(lengths_us[a:b]) for a, b in pairwise(cuts))


def work_split_into_threads(work_us: int, threads: int) -> tuple[int, ...]:
    """Split work into threads of equal length, to the microsecond."""
    each, more = divmod(work_us, threads)
    return tuple(each + (i < more) for i in range(threads))
