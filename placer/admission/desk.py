"""The desk where work waits: a fair queue in front of a Scheduler (Q12).

The queue decides which workloads start, in order of fairness, and the Scheduler where. The
first that has no place when its turn comes has a reservation: nothing starts that could put
it off, as far as lengths are known, and what may go before it is bounded.
"""

from dataclasses import replace
from time import monotonic

from placer.admission.foresight import RunningWorkload
from placer.admission.placing import LEAST_TIME_S
from placer.admission.trial import AdmissionTrialCluster, TriedTogether, unplaced_in_decision
from placer.admission.workload import (
    AdmissionRound,
    AdmittedWorkload,
    ReservedWorkload,
    Workload,
    batch_of_workloads,
)
from placer.queue.fair import FairQueue
from placer.queue.model import DispatchTicket, DispatchUnit, QueuePick
from placer.scheduler import Scheduler
from placer.scheduling.checks import check_batch, legal_gangs_of_batch
from placer.scheduling.decision import ClusterChange, Decision
from placer.search.options import BatchOrder, Engine, SolveOptions
from placer_models.placement import NamespacedName, pod_or_gang_title
from placer_models.typed import check_argument_types

MOST_UNITS = 64
"""The most workloads in one round, unless told otherwise."""


class AdmissionQueue:
    """A queue and a Scheduler that work together. Not safe for several threads at once."""

    @check_argument_types
    def __init__(
        self, queue: FairQueue, scheduler: Scheduler, *, most_units: int = MOST_UNITS
    ) -> None:
        """Compose them; both may hold flows and running pods already.

        Args:
            queue: Whose turn it is. Its ``bypass_limit`` and ``hold_us`` hold here.
            scheduler: The cluster. Others may use it, too.
            most_units: At most so many workloads start in one round, and so many kinds of
                workloads that have no place are tried.

        """
        if most_units < 1:
            raise ValueError(f"most_units is {most_units}; a round has 1 unit or more")
        self.queue = queue
        self.scheduler = scheduler
        self.most_units = most_units
        self._waiting: dict[str, Workload] = {}
        self._running: dict[str, tuple[DispatchTicket, tuple[NamespacedName, ...]]] = {}
        self._hopeless: TriedTogether | None = None
        self._pods: set[NamespacedName] = set()

    @check_argument_types
    def submit(self, job: str, *workloads: Workload, now_us: int) -> None:
        """Queue workloads behind what waits in the flow of the job.

        Raises:
            ValueError: A key is in use, a workload has no pods, or a pod waits or runs already.
            BadPodError: A pod asks for what no pod may ask for.
            ContradictionError: A workload contradicts itself.

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
            if again := [pod_or_gang_title(*pod) for pod in workload.pods if pod in self._pods]:
                raise ValueError(
                    f"pod {again[0]!r} of workload {workload.key!r} waits or runs already; "
                    "a pod is in one workload"
                )
        # What the Scheduler refuses to be asked would stop every round from here on.
        batch, nodes = batch_of_workloads(workloads), self.scheduler.snapshot().instance.nodes
        check_batch(batch, ())
        legal_gangs_of_batch(batch, nodes, skip_illegal=False)
        units = [
            DispatchUnit(workload.key, workload.length_us, workload.width) for workload in workloads
        ]
        self.queue.submit(job, *units, now_us=now_us)
        self._waiting.update((workload.key, workload) for workload in workloads)
        self._pods.update(pod for workload in workloads for pod in workload.pods)

    @check_argument_types
    def step(
        self, now_us: int, deadline_s: float, options: SolveOptions | None = None
    ) -> AdmissionRound:
        """Start what may start now, least served first, and place it all in one decision.

        Call it when something was submitted, has ended, or has changed in the cluster, with
        all that has ended finished before. If as many workloads have started as may in one
        round, call it again.

        The fast path finds out what fits. Where it finds no place for the workload whose turn
        it is, the options decide; and they decide where all that starts is placed.

        When placing raises, the queue is as it was before the call. So it is if others have
        changed the cluster in the meantime, so that nothing can start.

        """
        if not deadline_s > 0:
            raise ValueError(f"deadline_s is {deadline_s}; give the call more than 0 seconds")
        # What starts in a round starts together: the order of the queue has had its say by then.
        options = replace(options or SolveOptions(), order=BatchOrder.LARGEST_FIRST)
        ends_s = monotonic() + deadline_s
        trial = AdmissionTrialCluster(
            self.scheduler,
            self._waiting,
            [RunningWorkload(ticket.told_end_us, pods) for ticket, pods in self._running.values()],
            now_us=now_us,
            ends_s=ends_s,
            options=options,
            most_refused=self.most_units,
            promise=self.queue.reserved,
            hopeless=self._hopeless,
        )
        try:
            with self.queue.all_or_none():
                picks = self._picked(trial, now_us)
                decision = self._taken(trial, ends_s, options) if picks else None
        except _ChangedMeanwhileError as changed:
            return AdmissionRound(changed.decision, (), self.queue.bypasses(now_us))
        self._hopeless = trial.hopeless
        if decision is None and trial.refused is not None:
            decision = trial.refused[1]
        admitted = tuple(self._admitted(pick, decision) for pick in picks if decision)
        return AdmissionRound(
            decision, admitted, self.queue.bypasses(now_us), self._reserved(trial)
        )

    @check_argument_types
    def finish(self, key: str, now_us: int) -> None:
        """End a workload: its pods are released, and its flow is charged what it really took.

        Raises:
            KeyError: No workload of that key runs.

        """
        ticket, pods = self._running[key]
        self.scheduler.release(pods)
        self.queue.finish(ticket, now_us)
        del self._running[key]
        self._pods.difference_update(pods)

    @property
    def waiting(self) -> tuple[str, ...]:
        """Keys of the workloads that wait, in the order in which they were submitted."""
        return tuple(self._waiting)

    @property
    def running(self) -> tuple[str, ...]:
        """Keys of the workloads that run."""
        return tuple(self._running)

    def _picked(self, trial: AdmissionTrialCluster, now_us: int) -> list[QueuePick]:
        """Dispatch what may start in the cluster of a trial, in order of fairness."""
        picks: list[QueuePick] = []
        while len(picks) < self.most_units:
            steps = self.queue.explain(now_us)
            chosen = self.queue.next_that_fits(now_us, trial.fits, trial)
            if isinstance(chosen, DispatchTicket):
                trial.take(chosen.unit)
                picks.append(QueuePick(chosen, steps))
            elif not trial.repack(self._reserved_unit):
                break
        return picks

    def _taken(
        self, trial: AdmissionTrialCluster, ends_s: float, options: SolveOptions
    ) -> Decision:
        """Place together what a trial has taken, if that leaves nothing out and puts nothing off.

        Raises:
            _ChangedMeanwhileError: The cluster is not as it was when the trial began.

        """
        decision = trial.decision if len(trial.taken) == 1 else None
        if decision is None or options.engine is not Engine.GREEDY:
            left_s = max(LEAST_TIME_S, ends_s - monotonic())
            together = self.scheduler.place(
                batch_of_workloads(trial.taken), left_s, dry_run=True, options=options
            )
            decision = together if trial.keeps(together, self._reserved_unit) else trial.decision
        left_s = max(LEAST_TIME_S, ends_s - monotonic())
        change = self.scheduler.confirm(decision, left_s)
        if not isinstance(change, ClusterChange):
            raise _ChangedMeanwhileError(decision)
        return replace(decision, change=change)

    def _admitted(self, pick: QueuePick, decision: Decision) -> AdmittedWorkload:
        """Note that a workload runs."""
        ticket = pick.ticket
        workload = self._waiting.pop(str(ticket.unit.key))
        placed = {place.key for place in decision.placement.pods}
        here = tuple(key for key in workload.pods if key in placed)
        missing = tuple(key for key in workload.pods if key not in placed)
        self._running[workload.key] = (ticket, here)
        self._pods.difference_update(missing)
        return AdmittedWorkload(workload, ticket.job, pick.steps, missing, ticket.turn_us)

    @property
    def _reserved_unit(self) -> DispatchUnit | None:
        return self.queue.reserved.unit if self.queue.reserved else None

    def _reserved(self, trial: AdmissionTrialCluster) -> ReservedWorkload | None:
        reserved = self.queue.reserved
        if reserved is None or str(reserved.unit.key) not in self._waiting:
            return None
        workload = self._waiting[str(reserved.unit.key)]
        refused = trial.refused if trial.refused and trial.refused[0] is workload else None
        why = unplaced_in_decision(refused[1]) if refused else ()
        return ReservedWorkload(workload, reserved.job, reserved.since_us, reserved.due_us, why)


class _ChangedMeanwhileError(Exception):
    """Others have changed the cluster, so that a decision cannot be taken."""

    def __init__(self, decision: Decision) -> None:
        super().__init__(decision)
        self.decision = decision
