"""Machines, nodes and pods that the worlds of several benchmarks are made of."""

from collections.abc import Sequence
from typing import Any

from placer_models.cluster import Machine, Node, RunningPod
from placer_models.placement import PodPlacement
from placer_models.pod import Gang, Pod
from placer_models.topology import Cpu, NumaNode, Topology

GIB = 2**30


def machine(
    name: str,
    cpus: int,
    memory_bytes: Sequence[int],
    *,
    threads: int = 1,
    packages: int = 1,
    apart: bool = False,
    **more: Any,
) -> Machine:
    """Return a machine whose cores are shared out evenly to packages and to NUMA nodes.

    Args:
        name: Its name.
        cpus: How many CPUs it has.
        memory_bytes: The memory of each NUMA node.
        threads: How many CPUs are one core: neighbours, or, if ``apart``, as many apart as there
            are cores.
        packages: How many packages it has.
        apart: How the threads of a core are numbered.
        more: What else a `Machine` is made of, such as its devices.

    """
    cores = cpus // threads
    core_of = [i % cores if apart else i // threads for i in range(cpus)]
    topology = Topology(
        "x86_64",
        tuple(
            Cpu(i, core, core * packages // cores, core * len(memory_bytes) // cores)
            for i, core in enumerate(core_of)
        ),
        tuple(NumaNode(i, amount) for i, amount in enumerate(memory_bytes)),
    )
    return Machine(name, more.pop("title", ""), topology, **more)


def nodes_in_turn(
    count: int, machines: Sequence[Machine], name: str = "node-{:05}"
) -> tuple[Node, ...]:
    """Return so many nodes, whose machines take turns."""
    return tuple(Node(name.format(i), machines[i % len(machines)]) for i in range(count))


def lone(pod: Pod, priority: int = 0) -> Gang:
    """Return the gang of one that stands for a pod without a gang."""
    return Gang(pod.name, pod.namespace, (pod,), 1, priority=priority, lone=True)


def running_pod(pod: Pod, node: str, cpus: frozenset[int], **held: Any) -> RunningPod:
    """Return a pod that runs on a node, with these CPUs and what else it holds there."""
    return RunningPod(pod, PodPlacement(pod.name, pod.namespace, None, node, cpus, **held))
