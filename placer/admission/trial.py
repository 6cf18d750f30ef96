"""The trial of a round: what would fit, where, and what that would put off."""

from collections import deque
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import replace
from time import monotonic
from typing import NamedTuple

from placer.admission.foresight import AdmissionForecast, PlannedWorkloadStart, RunningWorkload
from placer.admission.placing import (
    LEAST_TIME_S,
    all_workloads_placed,
    is_pod_running_in_scheduler,
    place_workloads,
    workload_fit_key,
)
from placer.admission.workload import Workload, batch_of_workloads
from placer.judge.measure import measure
from placer.queue.model import DispatchUnit
from placer.queue.reservation import UnitReservation
from placer.scheduler import Scheduler
from placer.scheduling.decision import ClusterChange, Decision
from placer.search.options import Engine, SolveOptions
from placer_models.placement import PartlyPlaced, Placed, Placement, TierValue, Unplaced

SHARE_OF_REFUSED = 0.5
"""How much of the time left is spent on the workload whose turn it is and that does not fit."""

MOST_WAYS = 16
"""How often a workload is tried on fewer of the nodes that another one waits for."""

TriedTogether = tuple[int, tuple[str, ...]]
"""A version of the cluster, and the keys of workloads that are to be placed there together."""


class _Try(NamedTuple):
    """A cluster in which one more workload runs, and the decisions that led to it."""

    cluster: Scheduler
    decisions: tuple[Decision, ...]


class AdmissionTrialCluster:
    """Copies of a cluster on which workloads are placed one by one, by the fast path.

    It tells the queue what fits, and what is known of the time to come
    (`placer.queue.reservation.RunEndForecast`). It may take something for harmful that is not,
    where the fast path finds no other place; what it takes for harmless was tried.

    Attributes:
        refused: The first workload that has no place, and the decision that says so.
        hopeless: The question to which the options have found no answer, so that it is not
            asked again while nothing has changed.

    """

    def __init__(
        self,
        scheduler: Scheduler,
        waiting: Mapping[str, Workload],
        running: Iterable[RunningWorkload],
        *,
        now_us: int,
        ends_s: float,
        options: SolveOptions,
        most_refused: int,
        promise: UnitReservation | None = None,
        hopeless: TriedTogether | None = None,
    ) -> None:
        """Begin with the cluster as it is.

        Args:
            scheduler: The cluster; it is left alone.
            waiting: The workloads, by key.
            running: What was submitted and runs.
            now_us: The time.
            ends_s: The deadline, by the monotonic clock.
            options: How to solve where the fast path finds no place.
            most_refused: So many kinds of workloads that have no place are tried; what is left
                then has none.
            promise: What was reserved before.
            hopeless: As the last trial has left it.

        """
        self.refused: tuple[Workload, Decision] | None = None
        self.hopeless = hopeless
        self._base = self._cluster = scheduler.fork()
        self._waiting = waiting
        self._options = options
        self._fast = replace(options, engine=Engine.GREEDY)
        self._foresight = AdmissionForecast(running, now_us, self._fast)
        self._now_us = now_us
        self._ends_s = ends_s
        self._most_refused = most_refused
        self._promise = promise
        self._taken: list[Workload] = []
        self._decisions: tuple[Decision, ...] = ()
        self._tries: dict[str, _Try] = {}
        self._later: dict[str, PlannedWorkloadStart] = {}
        self._misfits: set[Hashable] = set()
        self._harmful: set[tuple[str, Hashable]] = set()
        self._plans: dict[str, PlannedWorkloadStart | None] = {}

    def fits(self, unit: DispatchUnit) -> bool:
        """Return whether a workload has a place beside all that was taken."""
        workload = self._waiting[str(unit.key)]
        if workload.key in self._tries:
            return True
        shape = workload_fit_key(workload)
        if shape in self._misfits or len(self._misfits) >= self._most_refused:
            return False
        first = self.refused is None
        cluster = self._cluster.fork()
        left_s = self._ends_s - monotonic() if first else LEAST_TIME_S  # for its reasons
        decision = place_workloads(cluster, (workload,), self._fast, left_s)
        found: _Try | None = _Try(cluster, (*self._decisions, decision))
        if not all_workloads_placed(decision, (workload,)):
            found = self._refuse(workload, decision) if first else None
        if found is None:
            self._misfits.add(shape)
            return False
        self._tries[workload.key] = found
        return True

    def take(self, unit: DispatchUnit) -> None:
        """Let a workload that fits run in the cluster of the trial."""
        workload = self._waiting[str(unit.key)]
        self._cluster, self._decisions = self._tries[workload.key]
        self._taken.append(workload)
        self._foresight.add(workload)
        if (later := self._later.get(workload.key)) is not None:
            self._plans[later.workload.key] = later
        self._plans.pop(workload.key, None)
        self._tries.clear()
        self._later.clear()

    def due_us(self, unit: DispatchUnit) -> int | None:
        """Return when a workload has a place if nothing else starts, as far as is known."""
        if self.fits(unit):
            return self._now_us
        plan = self._plan(unit)
        return plan.due_us if plan else None

    def delays(self, unit: DispatchUnit, reserved: DispatchUnit) -> bool:
        """Return whether a workload that fits could put off the one that is reserved.

        If it would where the fast path puts it, it is tried on other nodes.
        """
        plan, workload = self._plan(reserved), self._waiting[str(unit.key)]
        if plan is None:
            return False
        end_us = self._foresight.end_us(workload)
        if end_us is not None and end_us <= plan.due_us:
            return False
        harm = (plan.workload.key, workload_fit_key(workload))
        if harm in self._harmful:
            return True
        for found in self._ways(workload, plan):
            later = self._foresight.beside(plan, found.decisions[-1])
            if later is not None:
                self._tries[workload.key], self._later[workload.key] = found, later
                return False
        self._harmful.add(harm)
        return True

    def repack(self, reserved: DispatchUnit | None) -> bool:
        """Place all that was taken together, by the fast path; return whether places are others.

        One by one they may leave less room than together. ``reserved`` is not put off.
        """
        if len(self._decisions) < 2:
            return False
        cluster = self._base.fork()
        decision = place_workloads(cluster, self._taken, self._fast)
        plans = self._kept(decision, reserved)
        before = {pod.key: pod for pod in self._placement.pods}
        if plans is None or before == {pod.key: pod for pod in decision.placement.pods}:
            return False
        self._cluster, self._decisions, self._plans = cluster, (decision,), plans
        self._misfits.clear()
        self._harmful.clear()
        return True

    def keeps(self, decision: Decision, reserved: DispatchUnit | None) -> bool:
        """Return whether a decision places all that was taken, and puts nothing off.

        Args:
            decision: Made on the cluster as it was at the beginning.
            reserved: The workload that must not be put off, if there is one.

        """
        return self._kept(decision, reserved) is not None

    @property
    def taken(self) -> tuple[Workload, ...]:
        """What was taken."""
        return tuple(self._taken)

    @property
    def decision(self) -> Decision:
        """One decision that gives all that was taken the places of the trial."""
        if len(self._decisions) == 1:
            return self._decisions[0]
        batch, placement = batch_of_workloads(self._taken), self._placement
        asked = replace(self._base.snapshot().instance, gangs=batch.gangs, groups=batch.groups)
        tiers = tuple(TierValue(*item, None, False) for item in measure(asked, placement))
        left_out = tuple(
            one for decision in self._decisions for one in unplaced_in_decision(decision)
        )
        answer = PartlyPlaced(placement, tiers, left_out) if left_out else Placed(placement, tiers)
        return Decision(batch, answer, self._base.version)

    @property
    def _placement(self) -> Placement:
        keys = [key for workload in self._taken for key in workload.pods]
        running = [key for key in keys if is_pod_running_in_scheduler(self._cluster, key)]
        return Placement(tuple(map(self._cluster.placement_of, running)))

    def _plan(self, unit: DispatchUnit) -> PlannedWorkloadStart | None:
        """Return when a workload has a place that has none now; None if nobody can tell."""
        workload = self._waiting[str(unit.key)]
        if workload.key not in self._plans:
            known = self._promise if self._promise and self._promise.unit == unit else None
            promised_us = known.due_us if known else None
            plan = self._foresight.plan(workload, self._cluster, promised_us)
            self._plans[workload.key] = plan
        return self._plans[workload.key]

    def _kept(
        self, decision: Decision, reserved: DispatchUnit | None
    ) -> dict[str, PlannedWorkloadStart | None] | None:
        """Return the plans with a decision on all that was taken; None if it breaks them."""
        if not all_workloads_placed(decision, self._taken):
            return None
        plan = self._plans.get(str(reserved.key)) if reserved else None
        if plan is None:
            return {}
        cluster = self._base.fork()
        if not isinstance(cluster.confirm(decision), ClusterChange):
            return None
        kept = self._foresight.at(plan.due_us, plan.workload, cluster)
        return {plan.workload.key: kept} if kept else None

    def _refuse(self, workload: Workload, decision: Decision) -> _Try | None:
        """Note why a workload has no place, unless more than the fast path alone finds one.

        It may be found where all that was taken has other places, too.
        """
        self.refused = (workload, decision)
        question = (self._base.version, (*(one.key for one in self._taken), workload.key))
        alone = self._options.engine is Engine.GREEDY and not self._taken
        if alone or question == self.hopeless:
            return None
        cluster, together = self._base.fork(), (*self._taken, workload)
        left_s = SHARE_OF_REFUSED * (self._ends_s - monotonic())
        answered = place_workloads(cluster, together, self._options, left_s)
        if all_workloads_placed(answered, together):
            self.refused = None
            return _Try(cluster, (answered,))
        self.hopeless = question
        if not self._taken:
            self.refused = (workload, answered)
        return None

    def _ways(self, workload: Workload, plan: PlannedWorkloadStart) -> Iterator[_Try]:
        """Yield ways to place a workload that fits, beside a plan that uses some of the nodes.

        First as the fast path would, then on nodes that the plan does not use, then without
        some of the plan's nodes that it was given so far, few before many.
        """
        first = self._tries[workload.key]
        yield first
        if (elsewhere := self._avoiding(plan.nodes, workload)) is not None:
            yield elsewhere
        seen: set[frozenset[str]] = {frozenset(), plan.nodes}
        ways = deque([(frozenset[str](), first)])
        while ways:
            avoided, found = ways.popleft()
            used = {pod.node for pod in found.decisions[-1].placement.pods}
            for name in sorted(plan.nodes & used):
                fewer = avoided | {name}
                if fewer not in seen and len(seen) <= MOST_WAYS:
                    seen.add(fewer)
                    if (way := self._avoiding(fewer, workload)) is not None:
                        yield way
                        ways.append((fewer, way))

    def _avoiding(self, nodes: Iterable[str], workload: Workload) -> _Try | None:
        """Place a workload on other nodes than these."""
        cluster = self._cluster.fork()
        for name in nodes:
            cluster.cordon(name)
        decision = place_workloads(cluster, (workload,), self._fast)
        here = self._cluster.fork()
        complete = all_workloads_placed(decision, (workload,))
        if not complete or not isinstance(here.confirm(decision), ClusterChange):
            return None
        return _Try(here, (*self._decisions, decision))


def unplaced_in_decision(decision: Decision) -> tuple[Unplaced, ...]:
    """Return the pods that a decision leaves out, and why."""
    return () if isinstance(decision.answer, Placed) else decision.answer.unplaced
