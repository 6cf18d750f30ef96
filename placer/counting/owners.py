"""Owners of CPUs among the running pods: on which cores and NUMA nodes others meet them.

With an exclusive policy they keep others away (C9). Others may want to be beside them (C18).
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

from placer_models.cluster import Node, RunningPod
from placer_models.cpuset import CpuSet
from placer_models.effective import effective_exclusive
from placer_models.policy import ExclusivePolicy, Strength

Held = Mapping[int, Strength]
"""Core, or NUMA node -> how strongly it is kept; those that nobody keeps are missing."""


def cpus_still_on_node(node: Node, runner: RunningPod) -> CpuSet:
    """Return the pod's CPUs without those that an update took from the node."""
    return runner.placement.cpuset & node.machine.topology.cpu.keys()


def numa_nodes_held_exclusively(node: Node, running: Iterable[RunningPod]) -> Held:
    """Return the NUMA nodes with CPUs of running pods under NUMANodeLevel."""
    held: dict[int, Strength] = {}
    for pod in _under(node, ExclusivePolicy.NUMA_NODE_LEVEL, running):
        for numa_node in _numa_nodes(node, pod):
            _keep(held, numa_node, pod)
    return held


def cores_held_exclusively(node: Node, running: Iterable[RunningPod]) -> Held:
    """Return the cores with CPUs of running pods that count as PCPULevel."""
    running = tuple(running)
    levelled = _under(node, ExclusivePolicy.NUMA_NODE_LEVEL, running)
    guests = Counter(n for pod in levelled for n in _numa_nodes(node, pod))
    fallen = [
        pod
        for pod in levelled
        if not pod.pod.spec.exclusive_required
        and any(guests[numa_node] > 1 for numa_node in _numa_nodes(node, pod))
    ]
    held: dict[int, Strength] = {}
    cpus = node.machine.topology.cpu
    for pod in (*_under(node, ExclusivePolicy.PCPU_LEVEL, running), *fallen):
        for cpu in cpus_still_on_node(node, pod):
            _keep(held, cpus[cpu].core, pod)
    return held


def owners_relevant_to_affinity(running: Iterable[RunningPod]) -> tuple[RunningPod, ...]:
    """Return the pods that own CPUs and have labels or affinities of their own, by name."""
    found = [
        runner
        for runner in running
        if (runner.pod.spec.labels or runner.pod.spec.affinity) and runner.pod.spec.qos.owns_cpus
    ]
    return tuple(sorted(found, key=lambda runner: runner.pod.key))


def owners_of_cores(node: Node, owners: Iterable[RunningPod]) -> dict[int, tuple[int, ...]]:
    """Return core -> positions of the owners that are on it. Cores without any are left out."""
    found: defaultdict[int, tuple[int, ...]] = defaultdict(tuple)
    cpus = node.machine.topology.cpu
    for position, runner in enumerate(owners):
        for core in {cpus[cpu].core for cpu in cpus_still_on_node(node, runner)}:
            found[core] += (position,)
    return dict(found)


def _under(node: Node, policy: ExclusivePolicy, running: Iterable[RunningPod]) -> list[RunningPod]:
    return [pod for pod in running if effective_exclusive(pod.pod.spec, node) is policy]


def _numa_nodes(node: Node, pod: RunningPod) -> set[int]:
    cpus = node.machine.topology.cpu
    homes = {cpus[cpu].numa_node for cpu in cpus_still_on_node(node, pod)}
    return {home for home in homes if home is not None}


def _keep(held: dict[int, Strength], place: int, pod: RunningPod) -> None:
    if held.get(place) is not Strength.REQUIRED:
        required = pod.pod.spec.exclusive_required
        held[place] = Strength.REQUIRED if required else Strength.PREFERRED
