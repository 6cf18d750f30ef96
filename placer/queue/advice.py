"""Advice on parallelism: how many threads of work a job should be split into (Q11).

A thread of work that takes longer than the target, two minutes by default, keeps others
from their turn for that long. The count by work alone, ceil(work / target), makes the
mean thread just meet the target. As lengths differ, it takes more threads for the great
majority to meet it. How many more, a history of lengths can tell.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from placer.queue.model import US_PER_S

TARGET_US = 120 * US_PER_S
"""The longest that a thread of work should take, in microseconds."""

MAJORITY_PERMILLE = 900
"""The great majority: nine threads of ten."""


@dataclass(frozen=True, slots=True)
class JobThreadCountAdvice:
    """Advice about one job, drawn from the history of its threads.

    Attributes:
        now: Threads that the job has.
        work_us: What these threads took together, in microseconds.
        by_work: Threads by work alone: ceil(work / target).
        for_majority: Threads with which the great majority meets the target, if each
            thread's work can be dealt evenly to more threads.
        threads: The advice: the largest of these three counts; for a job that cannot be split,
            the threads that it has.
        within_now: Share of threads that meet the target today.
        within_then: Share of threads that meet it with the advised count.
        lengths_us: The history, ascending.

    """

    job: str
    now: int
    work_us: int
    by_work: int
    for_majority: int
    threads: int
    within_now: Fraction
    within_then: Fraction
    lengths_us: tuple[int, ...]

    @property
    def factor(self) -> Fraction:
        """The advised number of threads over the number that the job has now."""
        return Fraction(self.threads, self.now)


def job_thread_count_for_work(
    work_us: int, *, target_us: int = TARGET_US, splittable: bool = True
) -> int:
    """Return ceil(work / target), at least 1; a job that cannot be split stays at 1."""
    if work_us < 0 or target_us < 1:
        raise ValueError(
            f"work is {work_us} us and the target {target_us} us; "
            "work is 0 or more and the target 1 or more"
        )
    return max(1, -(-work_us // target_us)) if splittable else 1


def advise_job_thread_count(
    job: str,
    lengths_us: Sequence[int],
    *,
    splittable: bool = True,
    target_us: int = TARGET_US,
    majority_permille: int = MAJORITY_PERMILLE,
) -> JobThreadCountAdvice:
    """Advise a thread count for a job from the lengths of its threads in one run."""
    if not lengths_us or min(lengths_us) < 0:
        raise ValueError(f"job '{job}' needs the lengths of its threads, each 0 or more")
    if not 1 <= majority_permille <= 1000:
        raise ValueError(f"the majority is {majority_permille} permille; it is 1 to 1000")
    lengths = tuple(sorted(lengths_us))
    now = len(lengths)
    by_work = job_thread_count_for_work(sum(lengths), target_us=target_us, splittable=splittable)
    majority = -(-now * majority_permille // 1000)
    for_majority = max(1, -(-now * lengths[majority - 1] // target_us)) if splittable else now
    threads = max(now, by_work, for_majority) if splittable else now
    return JobThreadCountAdvice(
        job=job,
        now=now,
        work_us=sum(lengths),
        by_work=by_work,
        for_majority=for_majority,
        threads=threads,
        within_now=_within(lengths, Fraction(target_us)),
        within_then=_within(lengths, Fraction(target_us * threads, now)),
        lengths_us=lengths,
    )


def _within(lengths: Sequence[int], limit: Fraction) -> Fraction:
    return Fraction(sum(length <= limit for length in lengths), len(lengths))
