"""Placing workloads on copies of a cluster, to see what would happen."""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace

from placer.admission.workload import Workload, batch_of_workloads
from placer.scheduler import Scheduler
from placer.scheduling.decision import Decision
from placer.scheduling.errors import UnknownPodError
from placer.search.options import SolveOptions
from placer_models.placement import NamespacedName

LEAST_TIME_S = 0.001
"""Seconds that a call gets at least. The fast path is never cut short; only reasons are."""


def place_workloads(
    cluster: Scheduler,
    workloads: Sequence[Workload],
    options: SolveOptions,
    limit_s: float = LEAST_TIME_S,
) -> Decision:
    """Place workloads together on a cluster, in at most so many seconds."""
    return cluster.place(batch_of_workloads(workloads), max(LEAST_TIME_S, limit_s), options=options)


def all_workloads_placed(decision: Decision, workloads: Iterable[Workload]) -> bool:
    """Return whether each of the workloads has a place, which is its minimum at least."""
    placed = {place.key for place in decision.placement.pods}
    return all(not placed.isdisjoint(workload.pods) for workload in workloads)


def is_pod_running_in_scheduler(cluster: Scheduler, pod: NamespacedName) -> bool:
    """Return whether a pod runs in a cluster."""
    try:
        cluster.placement_of(pod)
    except UnknownPodError:
        return False
    return True


def workload_fit_key(workload: Workload) -> Hashable:
    """Return all that decides whether a workload fits: those of one shape fit alike."""
    gangs = tuple(
        replace(gang, name="", pods=tuple(replace(pod, name="") for pod in gang.pods))
        for gang in workload.gangs
    )
    return gangs, workload.group is not None
