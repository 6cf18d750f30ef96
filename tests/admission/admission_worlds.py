"""Worlds of an Admission: nodes of a few CPUs, workloads of known length, and rounds."""

from even_topologies import even_topology
from placer.admission import AdmissionQueue, AdmissionRound, Workload
from placer.queue.fair import FairQueue
from placer.queue.model import US_PER_S
from placer.scheduler import Scheduler
from placer.search.options import Engine, SolveOptions
from placer_models.cluster import Machine, Node
from placer_models.pod import Container, Gang, Pod, PodSpec, Resources
from placer_models.policy import QosClass

MINUTE = 60 * US_PER_S
GREEDY = SolveOptions(engine=Engine.GREEDY)


def node(cpus: int, name: str = "n") -> Node:
    """Return a node of so many cores."""
    return Node(name, Machine(f"cpus-{cpus}", "", even_topology(cpus, 0)))


def nodes(*cpus: int) -> tuple[Node, ...]:
    """Return a node of so many cores for each number: n0, n1, ..."""
    return tuple(node(count, f"n{i}") for i, count in enumerate(cpus))


def pod(name: str, cpus: int = 1) -> Pod:
    """Return a pod that owns CPUs."""
    requests = Resources(1000 * cpus)
    return Pod(name, "default", PodSpec((Container("main", requests),), qos=QosClass.LSR))


def gang(name: str, size: int, minimum: int, cpus: int = 1) -> Gang:
    """Return a gang of equal pods."""
    return Gang(name, "default", tuple(pod(f"{name}-{i}", cpus) for i in range(size)), minimum)


def work(name: str, size: int = 1, cpus: int = 1, minutes: int | None = 1) -> Workload:
    """Return a gang of so many pods that runs for so many minutes; None: nobody knows."""
    length_us = None if minutes is None else minutes * MINUTE
    return Workload(name, (gang(name, size, size, cpus),), length_us=length_us)


def desk_of(
    cluster: tuple[Node, ...], weights_milli: dict[str, int], most_units: int = 64, **options: int
) -> AdmissionQueue:
    """Return an Admission with a group of one job for each weight."""
    queue = FairQueue(**options)
    for name, weight_milli in weights_milli.items():
        queue.add_group(f"group-{name}", weight_milli=weight_milli)
        queue.add_job(name, group=f"group-{name}")
    return AdmissionQueue(queue, Scheduler(cluster), most_units=most_units)


def names(round_: AdmissionRound) -> list[str]:
    """Return what a round has started."""
    return [one.workload.key for one in round_.admitted]
