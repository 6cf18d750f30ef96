"""Lengths of a job's threads of work: given, or drawn with a seed."""

import random
from collections.abc import Callable
from math import exp, log

from placer.queue.file.amounts import MAX_DURATION_US, parse_duration_us
from placer.queue.file.fields import Fields
from placer.queue.simulation.scenario import dealt, split_evenly
from placer_models.files.tree import Mapping

MAX_THREADS = 200_000
"""Most threads of work of one job, and of a whole simulation."""

MAX_SIGMA = 5.0

_WAYS = ("length", "lengths", "work")
_DRAWN = ("uniform", "exponential", "lognormal")

Draw = Callable[[], int]


def read_lengths(job: Fields, seed: str) -> tuple[int, ...]:
    """Return the length of each thread of work of a job.

    ``length`` is that of each of its units of work, ``lengths`` lists them, ``work`` is
    their sum. ``threads`` deals the units to so many threads of work, in order.
    """
    given = [way for way in _WAYS if way in job]
    if len(given) != 1:
        got = " and ".join(given) or "none of them"
        job.fault("", f"needs one of 'length', 'lengths' and 'work'; got {got}")
        return (1,)
    for name in ("units", "slow"):
        if name in job and given != ["length"]:
            job.fault(name, f"goes with 'length'; with '{given[0]}' leave it out")
    if given == ["work"]:
        work_us = job.duration_us("work", least=1)
        threads = job.integer("threads", 1, least=1, most=MAX_THREADS)
        if threads > work_us:
            job.fault("threads", f"got {threads} for {work_us} us of work; each takes 1 us or more")
            return (1,)
        return split_evenly(work_us, threads)
    units = _listed(job) if given == ["lengths"] else _alike(job, seed)
    if not units:
        if job.is_empty("lengths"):
            job.fault("lengths", "is empty; list the length of each unit of work")
        return (1,)
    threads = job.integer("threads", len(units), least=1, most=MAX_THREADS)
    if threads > len(units):
        job.fault("threads", f"got {threads}; there are {len(units)} units of work to deal")
        return (1,)
    return dealt(units, threads)


def _listed(job: Fields) -> list[int]:
    return list(job.scalars("lengths", _length_us))


def _alike(job: Fields, seed: str) -> list[int]:
    """Return units of one length, or of drawn ones, with the slow ones put in."""
    count = job.integer("units", 1, least=1, most=MAX_THREADS)
    draw = _drawn(job, seed)
    units = [draw() for _ in range(count)]
    for key, length_us, place in job.pairs("slow", _length_us):
        if key.isascii() and key.isdigit() and len(key) < 10 and 1 <= int(key) <= count:
            units[int(key) - 1] = length_us
        else:
            place.fault(f"got unit '{key}'; expected the number of a unit, 1 to {count}")
    return units


def _drawn(job: Fields, seed: str) -> Draw:
    if not isinstance(job.node("length"), Mapping):
        length_us = job.duration_us("length", least=1)
        return lambda: length_us
    ways = job.below("length", _DRAWN)
    given = [way for way in _DRAWN if ways and way in ways]
    if ways is None or len(given) != 1:
        job.fault("length", f"expected a time, or one of {', '.join(_DRAWN)}")
        return lambda: 1
    rng = random.Random(seed)
    match given[0]:
        case "uniform":
            return _uniform(ways, rng)
        case "exponential":
            mean_us = ways.duration_us("exponential", least=1)
            return lambda: _bounded(rng.expovariate(1.0) * mean_us)
        case _:
            return _lognormal(ways, rng)


def _uniform(ways: Fields, rng: random.Random) -> Draw:
    ends = list(ways.scalars("uniform", _length_us))
    if len(ends) != 2 or ends[0] > ends[1]:
        ways.fault("uniform", "expected the shortest and the longest time, such as [20s, 120s]")
        return lambda: 1
    return lambda: rng.randint(ends[0], ends[1])


def _lognormal(ways: Fields, rng: random.Random) -> Draw:
    shape = ways.below("lognormal", ("median", "sigma"))
    if shape is None:
        return lambda: 1
    median_us = shape.duration_us("median", least=1)
    sigma = shape.parsed("sigma", 0.5, _sigma)
    return lambda: _bounded(exp(rng.gauss(log(median_us), sigma)))


def _bounded(length_us: float) -> int:
    return max(1, round(min(length_us, MAX_DURATION_US)))


def _length_us(text: str) -> int:
    length_us = parse_duration_us(text)
    if length_us < 1:
        raise ValueError("expected more than 0")
    return length_us


def _sigma(text: str) -> float:
    try:
        sigma = float(text)
    except ValueError:
        sigma = -1.0
    if not 0 < sigma <= MAX_SIGMA:
        raise ValueError(f"expected a number above 0, at most {MAX_SIGMA:g}")
    return sigma
