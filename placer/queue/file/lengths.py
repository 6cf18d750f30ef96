"""Lengths of a job's threads of work: given, or drawn with a seed."""

import random
from collections.abc import Callable
from math import exp, log

from placer.queue.file.amount_text import MAX_DURATION_US
from placer.queue.file.schema import QueueJobPart, UnitLengthDistributionPart
from placer.queue.simulation.scenario import work_split_into_threads, work_units_dealt_to_threads
from placer_models.files.faults import DocumentLocation

_WAYS = ("length", "lengths", "work")

DrawLength = Callable[[], int]


def read_job_thread_lengths(
    job: QueueJobPart, place: DocumentLocation, seed: str
) -> tuple[int, ...]:
    """Return the length of each thread of work of a job.

    ``length`` is the length of every unit of work, ``lengths`` lists the length of each, and
    ``work`` is their sum. ``threads`` is how many threads of work the units are dealt to, in
    order.
    """
    given = [way for way in _WAYS if way in job.model_fields_set]
    if len(given) != 1:
        got = " and ".join(given) or "none of them"
        place.fault(f"needs one of 'length', 'lengths' and 'work'; got {got}")
        return (1,)
    for name in ("units", "slow"):
        if name in job.model_fields_set and given != ["length"]:
            place.at(name).fault(f"goes with 'length'; with '{given[0]}' leave it out")
    if job.work is not None:
        threads = job.threads or 1
        if threads <= job.work:
            return work_split_into_threads(job.work, threads)
        message = f"got {threads} for {job.work} us of work; each takes 1 us or more"
        place.at("threads").fault(message)
        return (1,)
    units = job.lengths if job.length is None else _alike(job, job.length, place, seed)
    if not units:
        place.at("lengths").fault("is empty; list the length of each unit of work")
        return (1,)
    threads = job.threads or len(units)
    if threads > len(units):
        message = f"got {threads}; expected {len(units)} at most, one for each unit of work"
        place.at("threads").fault(message)
        return (1,)
    return work_units_dealt_to_threads(units, threads)


def _alike(
    job: QueueJobPart, length: int | UnitLengthDistributionPart, place: DocumentLocation, seed: str
) -> list[int]:
    """Return the lengths of the units, all equal or drawn, with the slow ones put in."""
    draw = _drawn(length, place.at("length"), seed)
    units = [draw() for _ in range(job.units)]
    for key, length_us in job.slow.items():
        if key.isascii() and key.isdigit() and len(key) < 10 and 1 <= int(key) <= job.units:
            units[int(key) - 1] = length_us
        else:
            message = f"got unit '{key}'; expected the number of a unit, 1 to {job.units}"
            place.at("slow", key).fault(message)
    return units


def _drawn(
    length: int | UnitLengthDistributionPart, place: DocumentLocation, seed: str
) -> DrawLength:
    if isinstance(length, int):
        return lambda: length
    if len(length.model_fields_set) != 1:
        place.fault(
            f"expected a time, or one of {', '.join(UnitLengthDistributionPart.model_fields)}"
        )
        return lambda: 1
    rng = random.Random(seed)
    if length.exponential is not None:
        mean_us = length.exponential
        return lambda: _bounded(rng.expovariate(1.0) * mean_us)
    if length.lognormal is not None:
        middle, sigma = log(length.lognormal.median), length.lognormal.sigma
        return lambda: _bounded(exp(rng.gauss(middle, sigma)))
    match length.uniform:
        case (int(shortest), int(longest)) if shortest <= longest:
            return lambda: rng.randint(shortest, longest)
    place.at("uniform").fault("expected the shortest and the longest time, such as [20s, 120s]")
    return lambda: 1


def _bounded(length_us: float) -> int:
    return max(1, round(min(length_us, MAX_DURATION_US)))
