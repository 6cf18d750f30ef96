"""Curves of a simulation: threads of capacity in use, and service, by job over time."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from placer.queue.simulation.result import QueueSimulationResult

Curve = tuple[tuple[int, int], ...]
"""(time, value) pairs: the value holds from that time on; times ascend."""


def job_threads_over_time(result: QueueSimulationResult) -> dict[str, Curve]:
    """Return for each job how many threads of capacity it held, over time."""
    changes: dict[str, dict[int, int]] = {job.name: defaultdict(int) for job in result.jobs}
    for run in result.runs:
        changes[run.job][run.start_us] += len(run.on)
        changes[run.job][run.end_us] -= len(run.on)
    return {job: _summed(by_time) for job, by_time in changes.items()}


def curve_means_in_time_bins(
    curve: Sequence[tuple[int, int]], end_us: int, bins: int
) -> list[float]:
    """Return the curve's mean in each of ``bins`` equal bins from 0 to the end."""
    areas = [0.0] * bins
    ends = [*(time for time, _ in curve[1:]), end_us]
    width = max(end_us, 1) / bins
    for (start, value), end in zip(curve, ends, strict=False):
        if value:
            _spread(areas, start / width, min(end, end_us) / width, value)
    return areas


def service_over_time(in_use: Mapping[str, Curve]) -> dict[str, Curve]:
    """Return the thread-microseconds that each job has had, linear between the points."""
    return {job: _integrated(curve) for job, curve in in_use.items()}


def _spread(areas: list[float], start: float, end: float, value: int) -> None:
    """Add a value that holds from one bin coordinate to another to the areas of the bins."""
    for i in range(int(start), min(len(areas), int(end) + 1)):
        areas[i] += value * max(0.0, min(end, i + 1) - max(start, i))


def _summed(by_time: Mapping[int, int]) -> Curve:
    points: list[tuple[int, int]] = []
    value = 0
    for time, change in sorted(by_time.items()):
        if change:
            value += change
            points.append((time, value))
    return tuple(points)


def _integrated(curve: Curve) -> Curve:
    points: list[tuple[int, int]] = []
    before, value, total = 0, 0, 0
    for time, after in curve:
        total += value * (time - before)
        points.append((time, total))
        before, value = time, after
    return tuple(points)
