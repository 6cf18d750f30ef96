"""Bounds of a simulation: when it can end at the earliest, and must end at the latest."""

from fractions import Fraction
from itertools import pairwise

from placer.queue.model import ONE_MILLI
from placer.queue.simulation.scenario import QueueScenario, QueueThreadCountOverTime


def makespan_lower_bound_us(scenario: QueueScenario) -> int:
    """Return a time before which no order of the threads of work can end.

    The work cannot outrun the capacity, and no thread of work ends before its arrival
    and its length allow. All threads of capacity count as fast as the fastest, and one
    that leaves may still do the longest thread of work.
    """
    capacity = scenario.capacity
    slow = dict(capacity.slow)
    fastest = min(slow.get(number, ONE_MILLI) for number in range(1, capacity.most + 1))
    longest = max(length for job in scenario.jobs for length in job.lengths_us)
    work = sum(sum(job.lengths_us) * job.width for job in scenario.jobs)
    counts = [capacity.threads, *(threads for _, threads in capacity.changes)]
    leaving = sum(max(a - b, 0) for a, b in pairwise(counts))
    path = max(job.arrives_us + max(job.lengths_us) * fastest // ONE_MILLI for job in scenario.jobs)
    bounded = max(work - leaving * longest, 0) * fastest // ONE_MILLI
    return max(path, earliest_completion_time(capacity, bounded))


def makespan_upper_bound_us(scenario: QueueScenario) -> Fraction | None:
    """Return Graham's bound W/C + (1 - 1/C) Lmax (Q3), or None where it does not hold."""
    capacity = scenario.capacity
    simple = all(
        job.arrives_us == 0 and job.width == 1 and not job.running_on for job in scenario.jobs
    )
    if capacity.changes or capacity.slow or not simple:
        return None
    lengths = [length for job in scenario.jobs for length in job.lengths_us]
    threads = capacity.threads
    return Fraction(sum(lengths), threads) + Fraction(threads - 1, threads) * max(lengths)


def earliest_completion_time(capacity: QueueThreadCountOverTime, work: int) -> int:
    """Return the earliest time by which the capacity can have done this much work."""
    time_us, threads = 0, capacity.threads
    for change_us, after in capacity.changes:
        room = (change_us - time_us) * threads
        if room >= work:
            break
        work -= room
        time_us, threads = change_us, after
    return time_us + -(-work // threads) if threads else time_us
