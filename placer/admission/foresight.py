"""Foresight: what a cluster will look like once some of what runs has ended."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

from placer.admission.placing import (
    all_workloads_placed,
    is_pod_running_in_scheduler,
    place_workloads,
)
from placer.admission.workload import Workload
from placer.scheduler import Scheduler
from placer.scheduling.decision import ClusterChange, Decision
from placer.search.options import SolveOptions
from placer_models.placement import NamespacedName


class RunningWorkload(NamedTuple):
    """Pods of a workload that run, and when they end; None if that is not known."""

    end_us: int | None
    pods: tuple[NamespacedName, ...]


@dataclass(frozen=True, slots=True)
class PlannedWorkloadStart:
    """When a workload that has no place now will have one.

    Attributes:
        cluster: The cluster at that time, as far as is known, without the workload.
        decision: The places that it has there.

    """

    workload: Workload
    due_us: int
    cluster: Scheduler
    decision: Decision

    @property
    def nodes(self) -> frozenset[str]:
        """The nodes of these places."""
        return frozenset(place.node for place in self.decision.placement.pods)


class AdmissionForecast:
    """What is known of the ends of what runs. What has no known end does not end.

    Whatever it says has been placed, by the fast path: a plan is a place that exists.
    """

    def __init__(self, running: Iterable[RunningWorkload], now_us: int, fast: SolveOptions) -> None:
        self._running = list(running)
        self._now_us = now_us
        self._fast = fast

    def add(self, workload: Workload) -> None:
        """Count on the end of a workload that starts now."""
        self._running.append(RunningWorkload(self.end_us(workload), workload.pods))

    def end_us(self, workload: Workload) -> int | None:
        """Return when a workload ends if it starts now; None if its length is not known."""
        return None if workload.length_us is None else self._now_us + workload.length_us

    def plan(
        self, workload: Workload, cluster: Scheduler, promised_us: int | None
    ) -> PlannedWorkloadStart | None:
        """Return when a workload has a place if nothing else starts; None if nobody can tell.

        Args:
            workload: It has no place in the cluster as it is.
            cluster: What runs now.
            promised_us: When it is due as far as was known before; it can only be earlier.

        """
        ends = sorted({max(self._now_us, end) for end, _ in self._running if end is not None})
        if not ends:
            return None
        last_us = ends[-1]
        found = self.at(min(last_us, promised_us or last_us), workload, cluster)
        found = found or self.at(last_us, workload, cluster)
        # Bisection: with fewer pods it mostly fits still, and what is found was tried.
        times = [end_us for end_us in ends if found and end_us < found.due_us]
        low, high = 0, len(times)
        while found is not None and low < high:
            middle = (low + high) // 2
            earlier = self.at(times[middle], workload, cluster)
            low, high = (middle + 1, high) if earlier is None else (low, middle)
            found = earlier or found
        return found

    def at(
        self, time_us: int, workload: Workload, cluster: Scheduler
    ) -> PlannedWorkloadStart | None:
        """Return the plan of a workload for a given time, if it has a place then."""
        then = cluster.fork()
        ended = [pods for end, pods in self._running if end is not None and end <= time_us]
        then.release(
            pod for pods in ended for pod in pods if is_pod_running_in_scheduler(then, pod)
        )
        decision = place_workloads(then.fork(), (workload,), self._fast)
        complete = all_workloads_placed(decision, (workload,))
        return PlannedWorkloadStart(workload, time_us, then, decision) if complete else None

    def beside(self, plan: PlannedWorkloadStart, decision: Decision) -> PlannedWorkloadStart | None:
        """Return the plan if a decision is taken now and its pods do not end before.

        None if the workload has no place then.
        """
        then = plan.cluster.fork()
        if not isinstance(then.confirm(decision), ClusterChange):
            return None
        found = place_workloads(then.fork(), (plan.workload,), self._fast)
        complete = all_workloads_placed(found, (plan.workload,))
        return replace(plan, cluster=then, decision=found) if complete else None
