"""Replay of a trace through a Scheduler: how much of the GPUs is allocated, how fast, who is left.

The protocol is that of FGD's evaluation: pods arrive one by one, a pod that has no place is gone,
and none moves. Of each arrival two figures are kept: what has arrived so far and what of it has a
place, in parts of all GPUs. The allocation at a mark of 95 % is the mean over the arrivals after
which what has arrived rounds to 95 %.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from statistics import fmean
from time import perf_counter

from placer.openb.policies import expected_demand_for_policy, solve_options_for_policy
from placer.openb.trace import WorkloadTrace
from placer.openb.words import TraceConverter
from placer.scheduler import Scheduler
from placer.scheduling.decision import Batch
from placer.search.options import SolveOptions
from placer_models.device import GPU
from placer_models.placement import NamespacedName
from placer_models.pod import Gang

MARKS = (95, 100, 130)
"""At how many percent of arrivals, of all GPUs, the allocation is told."""

ROUNDS = 5
"""With departures, how many times the length of the list of pods arrives."""

SAMPLES_A_ROUND = 4
"""With departures, how often in a round the allocation is told."""

DEADLINE_S = 3600.0
"""Far more than any call takes: a replay does not depend on the clock."""

TellArrived = Callable[[int], object]
"""Told how many pods have arrived."""


@dataclass(frozen=True, slots=True)
class ReplayAllocationSample:
    """How much was allocated at some moment.

    Attributes:
        arrived: How many pods had arrived by then.
        allocated: Percent of all GPUs.

    """

    arrived: int
    allocated: float


@dataclass(frozen=True, slots=True)
class ReplayResult:
    """What a replay has shown.

    Attributes:
        allocation: Mark -> percent of all GPUs that are allocated there; marks that were not
            reached are left out.
        over_time: With departures, the allocation over time; else empty.
        pods: How many pods arrived.
        rejected: How many of them got no place.
        call_s: Seconds of each call.
        batch: Pods of a call, but for the last one.

    """

    allocation: dict[int, float]
    over_time: tuple[ReplayAllocationSample, ...]
    pods: int
    rejected: int
    call_s: tuple[float, ...]
    batch: int

    @property
    def pods_per_second(self) -> float:
        """How many pods were placed or rejected in a second of calls."""
        return self.pods / sum(self.call_s) if self.pods else 0.0

    def call_ms(self, percent: int) -> float:
        """Return the milliseconds that so many percent of the calls took at most."""
        if not self.call_s:
            return 0.0
        ordered = sorted(self.call_s)
        return 1000 * ordered[min(len(ordered) - 1, len(ordered) * percent // 100)]


class ReplayLeakError(Exception):
    """Something of pods that have left is still taken: a defect of ours."""


class _Calls:
    """Calls of a Scheduler, and what became of them."""

    def __init__(self, trace: WorkloadTrace, policy: str) -> None:
        words = TraceConverter()
        self.words = words
        specs = [words.spec(pod) for pod in trace.pods]
        nodes = trace.ranked_nodes(words)
        self.scheduler = Scheduler(nodes, demand=expected_demand_for_policy(policy, specs, nodes))
        self.options: SolveOptions = solve_options_for_policy(policy, specs)
        self.call_s: list[float] = []
        self.rejected = 0

    def place(self, gangs: Sequence[Gang]) -> frozenset[NamespacedName]:
        """Place pods in one call; return those that have a place."""
        batch = Batch(tuple(gangs))
        began_s = perf_counter()
        decision = self.scheduler.place(batch, DEADLINE_S, options=self.options)
        self.call_s.append(perf_counter() - began_s)
        placed = frozenset(place.key for place in decision.placement.pods)
        self.rejected += len(gangs) - len(placed)
        return placed


def replay_without_departures(
    trace: WorkloadTrace, policy: str, batch: int, tell: TellArrived
) -> ReplayResult:
    """Replay a trace without departures.

    Args:
        trace: The trace.
        policy: One of `POLICIES`.
        batch: How many pods arrive in one call.
        tell: Told of the progress.

    """
    calls = _Calls(trace, policy)
    asked, got = [], []
    for gangs in gangs_in_batches(trace.arriving(calls.words), batch):
        placed = calls.place(gangs)
        asked += [gpu_milli_asked_by_lone_pod(gang) for gang in gangs]
        got += [gpu_milli_asked_by_lone_pod(gang) * (gang.pods[0].key in placed) for gang in gangs]
        tell(len(asked))
    return ReplayResult(
        allocation=allocation_by_arrived_percent(MARKS, asked, got, trace.capacity_milli),
        over_time=(),
        pods=len(asked),
        rejected=calls.rejected,
        call_s=tuple(calls.call_s),
        batch=batch,
    )


def replay_with_departures(
    trace: WorkloadTrace, policy: str, batch: int, load_percent: int, tell: TellArrived
) -> ReplayResult:
    """Replay a trace again and again while the oldest pods leave in order of arrival.

    Before pods arrive, the oldest leave until what they and those still there have asked for is no
    more than the load. A pod that got no place counts in the load until its turn to leave
    comes, so the load is the same under all policies.

    Args:
        trace: The trace.
        policy: One of `POLICIES`.
        batch: How many pods arrive in one call.
        load_percent: The load, in percent of all GPUs.
        tell: Told of the progress.

    Raises:
        ReplayLeakError: All pods have left in the end, and some node is not as it was.

    """
    calls, capacity = _Calls(trace, policy), trace.capacity_milli
    idle = {
        node.name: calls.scheduler.account_of(node.name)
        for node in calls.scheduler.snapshot().instance.nodes
    }
    most = ROUNDS * len(trace.pods)
    every = max(1, len(trace.pods) // SAMPLES_A_ROUND)
    there: deque[tuple[NamespacedName, int, bool]] = deque()
    load = allocated = arrived = 0
    samples: list[ReplayAllocationSample] = []

    def leave(until: int) -> None:
        nonlocal load, allocated
        leaving = []
        while there and (load > until or until < 0):
            key, milli, placed = there.popleft()
            load -= milli
            if placed:
                allocated -= milli
                leaving.append(key)
        if leaving:
            calls.scheduler.release(leaving)

    for gangs in gangs_in_batches(trace.arriving(calls.words, most=most), batch):
        coming = sum(map(gpu_milli_asked_by_lone_pod, gangs))
        leave(load_percent * capacity // 100 - coming)
        placed = calls.place(gangs)
        for gang in gangs:
            key, milli = gang.pods[0].key, gpu_milli_asked_by_lone_pod(gang)
            there.append((key, milli, key in placed))
            load += milli
            allocated += milli * (key in placed)
        before, arrived = arrived, arrived + len(gangs)
        if arrived // every > before // every:
            samples.append(ReplayAllocationSample(arrived, 100 * allocated / capacity))
        tell(arrived)
    leave(-1)
    left = [name for name, account in idle.items() if calls.scheduler.account_of(name) != account]
    if left or calls.scheduler.snapshot().instance.running:
        raise ReplayLeakError(f"all pods have left, and {len(left)} nodes are not as they were")
    return ReplayResult(
        allocation={},
        over_time=tuple(samples),
        pods=arrived,
        rejected=calls.rejected,
        call_s=tuple(calls.call_s),
        batch=batch,
    )


def gangs_in_batches(gangs: Iterable[Gang], size: int) -> Iterator[tuple[Gang, ...]]:
    """Yield the gangs, so many at a time."""
    left = iter(gangs)
    while some := tuple(islice(left, size)):
        yield some


def gpu_milli_asked_by_lone_pod(gang: Gang) -> int:
    """Return what a lone pod asks of GPUs, in 1/1000."""
    devices = gang.pods[0].spec.requests.devices
    return sum(
        one.count * (10 * (one.share.percent or 0) if one.share else 1000)
        for one in devices
        if one.type == GPU
    )


def allocation_by_arrived_percent(
    marks: Iterable[int], asked: Sequence[int], got: Sequence[int], capacity: int
) -> dict[int, float]:
    """Return mark -> the mean allocation in percent over arrivals that round to the mark.

    Args:
        marks: Percent of the capacity that have arrived.
        asked: What each pod asks for, in order of arrival.
        got: What it got: the same, or nothing.
        capacity: All there is.

    """
    seen: dict[int, list[float]] = {mark: [] for mark in marks}
    arrived = allocated = 0
    for ask, get in zip(asked, got, strict=True):
        arrived, allocated = arrived + ask, allocated + get
        mark = round(100 * arrived / capacity)
        if mark in seen:
            seen[mark].append(100 * allocated / capacity)
    return {mark: fmean(values) for mark, values in seen.items() if values}
