"""What running pods with an exclusive policy keep others from (C9)."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

from placer_models.cluster import Node, RunningPod
from placer_models.core_granularity import CoreGranularity
from placer_models.cpuset import CpuSet
from placer_models.policy import ExclusivePolicy, Strength
from placer_models.problem import Shape

Held = Mapping[int, Strength]
"""Core, or NUMA node -> how strongly it is kept; what nobody keeps is missing."""


def numa_nodes_held(node: Node, running: Iterable[RunningPod]) -> Held:
    """Return the NUMA nodes with CPUs of running pods under NUMANodeLevel."""
    held: dict[int, Strength] = {}
    for pod in _under(ExclusivePolicy.NUMA_NODE_LEVEL, running):
        for numa_node in _numa_nodes(node, pod):
            _keep(held, numa_node, pod)
    return held


def cores_held(node: Node, running: Iterable[RunningPod]) -> Held:
    """Return the cores with CPUs of running pods that count as PCPULevel."""
    running = tuple(running)
    levelled = _under(ExclusivePolicy.NUMA_NODE_LEVEL, running)
    guests = Counter(n for pod in levelled for n in _numa_nodes(node, pod))
    fallen = [
        pod
        for pod in levelled
        if not pod.pod.spec.exclusive_required
        and any(guests[numa_node] > 1 for numa_node in _numa_nodes(node, pod))
    ]
    held: dict[int, Strength] = {}
    cpus = node.machine.topology.cpu
    for pod in (*_under(ExclusivePolicy.PCPU_LEVEL, running), *fallen):
        for cpu in _known(node, pod):
            _keep(held, cpus[cpu].core, pod)
    return held


def granularity_of(shapes: Sequence[Shape], pods: Collection[int]) -> CoreGranularity:
    """Return how finely cores have to be told apart for the pods that wait."""
    wary = sum(shapes[index].keeps_cores for index in pods)
    return (CoreGranularity.ALIKE, CoreGranularity.HELD, CoreGranularity.PAIRS)[min(wary, 2)]


def _under(policy: ExclusivePolicy, running: Iterable[RunningPod]) -> list[RunningPod]:
    return [
        pod for pod in running if pod.pod.spec.exclusive is policy and pod.pod.spec.qos.owns_cpus
    ]


def _numa_nodes(node: Node, pod: RunningPod) -> set[int]:
    cpus = node.machine.topology.cpu
    homes = {cpus[cpu].numa_node for cpu in _known(node, pod)}
    return {home for home in homes if home is not None}


def _known(node: Node, pod: RunningPod) -> CpuSet:
    """Return the pod's CPUs without those that an update took from the node."""
    return pod.placement.cpuset & node.machine.topology.cpu.keys()


def _keep(held: dict[int, Strength], place: int, pod: RunningPod) -> None:
    if held.get(place) is not Strength.REQUIRED:
        required = pod.pod.spec.exclusive_required
        held[place] = Strength.REQUIRED if required else Strength.PREFERRED
