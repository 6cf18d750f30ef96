"""Simulation of a scenario: a free thread of capacity takes a thread of work at once (Q1).

At one moment, runs end first, then capacity changes, then jobs arrive, then free threads
of capacity are given out, lowest number first. Nothing is random here: drawn lengths are
part of the scenario.
"""

import heapq
from collections import defaultdict
from enum import IntEnum
from typing import NamedTuple

from placer.queue.fair import FairQueue
from placer.queue.fairness import FairnessMeter
from placer.queue.model import (
    DEFAULT_GROUP,
    DispatchTicket,
    ReservedUnit,
    SiblingFlowChoice,
)
from placer.queue.simulation.bounds import makespan_lower_bound_us, makespan_upper_bound_us
from placer.queue.simulation.floor import SimulatedQueueThreadPool
from placer.queue.simulation.forecast import SimulatedFreeThreadsForecast, SimulatedThreadsHeldUntil
from placer.queue.simulation.result import (
    QueueSimulationResult,
    SimulatedJobResult,
    SimulatedJobThread,
)
from placer.queue.simulation.scenario import QueueScenario, SimulatedJob

MOST_FLOWS_MEASURED = 256
"""Up to this many flows, every dispatch is compared with all siblings."""


class _Kind(IntEnum):
    """Events of one moment, in the order in which they count."""

    END = 0
    CAPACITY = 1
    ARRIVAL = 2
    LOOK_AGAIN = 3


class _Event(NamedTuple):
    at_us: int
    kind: _Kind
    subject: int
    """The ticket's sequence number, the new capacity, or the job's index."""


def simulate_fair_queue(scenario: QueueScenario) -> QueueSimulationResult:
    """Run the scenario to its end."""
    return _Engine(scenario).run()


class _Engine:
    def __init__(self, scenario: QueueScenario) -> None:
        self._scenario = scenario
        self._specs = {job.name: job for job in scenario.jobs}
        self._queue = _queue_of(scenario)
        self._meter = _meter_of(scenario)
        self._floor = SimulatedQueueThreadPool(scenario.capacity)
        self._gangs = any(job.width > 1 for job in scenario.jobs)
        self._events: list[_Event] = []
        self._running: dict[int, tuple[DispatchTicket, SimulatedJobThread]] = {}
        self._runs: list[SimulatedJobThread] = []
        self._capacity_us = 0
        self._look_again_us = -1

    def run(self) -> QueueSimulationResult:
        for at_us, threads in self._scenario.capacity.changes:
            self._push(at_us, _Kind.CAPACITY, threads)
        for index, job in enumerate(self._scenario.jobs):
            if job.running_on:
                self._adopt(job)
            else:
                self._push(job.arrives_us, _Kind.ARRIVAL, index)
        now_us = 0
        while self._events:
            event = heapq.heappop(self._events)
            if self._running or self._queue.tree.root.active:
                self._capacity_us += (event.at_us - now_us) * self._floor.present
            now_us = event.at_us
            self._happens(event)
            if not self._events or self._events[0].at_us > now_us:
                self._give_out(now_us)
        return self._result()

    def _happens(self, event: _Event) -> None:
        match event.kind:
            case _Kind.END:
                ticket, run = self._running.pop(event.subject)
                self._queue.finish(ticket, event.at_us)
                self._floor.give(run.on)
            case _Kind.CAPACITY:
                self._floor.resize(event.subject)
                self._queue.retry(event.at_us)
            case _Kind.ARRIVAL:
                job = self._scenario.jobs[event.subject]
                units = [job.unit(i) for i in range(len(job.lengths_us))]
                self._queue.submit(job.name, *units, now_us=event.at_us)
                if self._meter:
                    self._meter.arrived(job.name, len(units))
            case _Kind.LOOK_AGAIN:
                pass

    def _give_out(self, now_us: int) -> None:
        while self._floor.free:
            steps = self._queue.explain(now_us)
            if self._gangs:
                forecast = SimulatedFreeThreadsForecast(
                    self._floor, self._held_until(now_us), now_us
                )
                chosen = self._queue.next_that_fits(now_us, forecast.fits, forecast)
            else:
                chosen = self._queue.next(now_us)
            if isinstance(chosen, ReservedUnit):
                self._push_look_again(self._hold_ends_us(now_us))
                return
            if chosen is None:
                return
            run = self._start(chosen, self._floor.take(chosen.unit.width), now_us, steps)
            if self._meter:
                self._meter.dispatched(chosen.job, run.service, now_us)

    def _held_until(self, now_us: int) -> list[SimulatedThreadsHeldUntil]:
        """Return when running gangs should let their threads go, as far as the queue was told."""
        return [
            SimulatedThreadsHeldUntil(
                None if ticket.told_end_us is None else max(now_us, ticket.told_end_us), run.on
            )
            for ticket, run in self._running.values()
        ]

    def _hold_ends_us(self, now_us: int) -> int:
        reserved = self._queue.reserved
        due_us = reserved.due_us if reserved else None
        return max(now_us, due_us or 0) + self._scenario.hold_us

    def _start(
        self,
        ticket: DispatchTicket,
        on: tuple[int, ...],
        now_us: int,
        steps: tuple[SiblingFlowChoice, ...],
    ) -> SimulatedJobThread:
        thread = int(ticket.unit.key)
        length_us = self._specs[ticket.job].lengths_us[thread]
        end_us = now_us + self._floor.duration_us(length_us, on)
        run = SimulatedJobThread(
            ticket.job, thread + 1, on, now_us, end_us, ticket.passes, steps, ticket.turn_us
        )
        self._runs.append(run)
        self._running[ticket.sequence] = (ticket, run)
        self._push(end_us, _Kind.END, ticket.sequence)
        return run

    def _adopt(self, job: SimulatedJob) -> None:
        numbers = iter(job.running_on)
        for i in range(len(job.lengths_us)):
            on = self._floor.take_these([next(numbers) for _ in range(job.width)])
            ticket = self._queue.adopt(job.name, job.unit(i), 0)
            self._start(ticket, on, 0, ())

    def _push(self, at_us: int, kind: _Kind, subject: int) -> None:
        heapq.heappush(self._events, _Event(at_us, kind, subject))

    def _push_look_again(self, at_us: int) -> None:
        """Look again when a hold may have ended, even if nothing else happens then."""
        if at_us > self._look_again_us:
            self._look_again_us = at_us
            self._push(at_us, _Kind.LOOK_AGAIN, 0)

    def _result(self) -> QueueSimulationResult:
        left = {job.name: len(job.lengths_us) for job in self._scenario.jobs}
        by_job: dict[str, list[SimulatedJobThread]] = defaultdict(list)
        for run in self._runs:
            left[run.job] -= 1
            by_job[run.job].append(run)
        return QueueSimulationResult(
            scenario=self._scenario,
            runs=tuple(self._runs),
            jobs=tuple(_job_result(job, by_job[job.name]) for job in self._scenario.jobs),
            makespan_us=max((run.end_us for run in self._runs), default=0),
            lower_bound_us=makespan_lower_bound_us(self._scenario),
            upper_bound_us=makespan_upper_bound_us(self._scenario),
            capacity_us=self._capacity_us,
            lead=self._meter.worst if self._meter else None,
            never_ran=tuple((name, threads) for name, threads in left.items() if threads),
        )


def _queue_of(scenario: QueueScenario) -> FairQueue:
    queue = FairQueue(
        charge=scenario.charge,
        guess_us=scenario.guess_us,
        bypass_limit=scenario.bypass_limit,
        hold_us=scenario.hold_us,
    )
    for group in scenario.groups:
        queue.add_group(group.name, weight_milli=group.weight_milli, parent=group.parent)
    for job in scenario.jobs:
        queue.add_job(job.name, weight_milli=job.weight_milli, group=job.group, served=job.served)
    return queue


def _meter_of(scenario: QueueScenario) -> FairnessMeter | None:
    if len(scenario.groups) + len(scenario.jobs) > MOST_FLOWS_MEASURED:
        return None
    queue = _queue_of(scenario)
    reports = [queue.report(name, 0) for name in queue.tree.flows]
    meter = FairnessMeter(
        {report.name: report.group or "" for report in reports},
        {report.name: report.weight_milli for report in reports},
    )
    for job in scenario.jobs:
        if job.served is not None:
            meter.served(job.name, job.served)
    return meter


def _job_result(job: SimulatedJob, runs: list[SimulatedJobThread]) -> SimulatedJobResult:
    complete = len(runs) == len(job.lengths_us)
    return SimulatedJobResult(
        name=job.name,
        group=job.group or DEFAULT_GROUP,
        arrives_us=job.arrives_us,
        threads=len(job.lengths_us),
        first_start_us=min((run.start_us for run in runs), default=None),
        end_us=max(run.end_us for run in runs) if complete else None,
        service=sum(run.service for run in runs),
    )
