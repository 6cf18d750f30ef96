"""Running pods that others may want beside their CPUs, or away from them (C18)."""

from collections import defaultdict
from collections.abc import Iterable

from placer_models.cluster import Node, RunningPod
from placer_models.cpuset import CpuSet


def owners_beside(running: Iterable[RunningPod]) -> tuple[RunningPod, ...]:
    """Return those that own CPUs and have labels or affinities of their own, by name."""
    found = [
        runner
        for runner in running
        if (runner.pod.spec.labels or runner.pod.spec.affinity) and runner.pod.spec.qos.owns_cpus
    ]
    return tuple(sorted(found, key=lambda runner: runner.pod.key))


def known_cpus(node: Node, runner: RunningPod) -> CpuSet:
    """Return the pod's CPUs without those that an update took from the node."""
    return runner.placement.cpuset & node.machine.topology.cpu.keys()


def owners_of_cores(node: Node, owners: Iterable[RunningPod]) -> dict[int, tuple[int, ...]]:
    """Return who of the owners is on each core, by their positions; nobody is left out."""
    found: defaultdict[int, tuple[int, ...]] = defaultdict(tuple)
    cpus = node.machine.topology.cpu
    for position, runner in enumerate(owners):
        for core in {cpus[cpu].core for cpu in known_cpus(node, runner)}:
            found[core] += (position,)
    return dict(found)
