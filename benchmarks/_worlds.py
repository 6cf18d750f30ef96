"""Machines, nodes and pods that the worlds of several benchmarks are made of."""

from collections.abc import Sequence
from typing import Any

from placer_models.cluster import Machine, Node, RunningPod
from placer_models.device import GPU, Device
from placer_models.placement import DeviceGrant, PodPlacement
from placer_models.pod import Container, DeviceRequest, Gang, Pod, PodSpec, Resources
from placer_models.policy import BindPolicy, QosClass, RequiredOrPreferred
from placer_models.topology import Cpu, NumaNode, Topology

GIB = 2**30

WHOLE_CORES: dict[str, Any] = {
    "bind": BindPolicy.FULL_PCPUS,
    "bind_strength": RequiredOrPreferred.REQUIRED,
}
"""Words of a pod that has to own whole cores."""


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


def spec(
    qos: QosClass, cpu_milli: int, memory_gib: int = 0, gpus: int = 0, **words: Any
) -> PodSpec:
    """Return what a pod of one container asks for; the words are those of a `PodSpec`."""
    devices = (DeviceRequest(GPU, gpus),) if gpus else ()
    requests = Resources(cpu_milli, memory_gib * GIB, devices=devices)
    return PodSpec((Container("main", requests),), qos, **words)


def gang(name: str, asked: PodSpec, size: int, minimum: int, **more: Any) -> Gang:
    """Return a gang of equal pods; one alone is a pod without a gang."""
    pods = tuple(Pod(f"{name}-{i}", "default", asked) for i in range(size))
    title = name if size > 1 else pods[0].name
    return Gang(title, "default", pods, minimum, lone=size == 1, **more)


def lone(pod: Pod, priority: int = 0) -> Gang:
    """Return the gang of one that stands for a pod without a gang."""
    return Gang(pod.name, pod.namespace, (pod,), 1, priority=priority, lone=True)


def running_pod(pod: Pod, node: str, cpus: frozenset[int], **held: Any) -> RunningPod:
    """Return a pod that runs on a node, with these CPUs and what else it holds there."""
    return RunningPod(pod, PodPlacement(pod.name, pod.namespace, None, node, cpus, **held))


def resident(
    name: str,
    node: Node,
    qos: QosClass,
    cpu_milli: int,
    memory: tuple[int, int],
    gpus: Sequence[Device],
    cpus: frozenset[int] = frozenset(),
) -> RunningPod:
    """Return a pod that runs on a node and holds GPUs, and memory: a NUMA node and bytes."""
    asked = tuple(DeviceRequest(gpu.type, 1) for gpu in gpus)
    requests = Resources(cpu_milli, memory[1], devices=asked)
    pod = Pod(name, "running", PodSpec((Container("main", requests),), qos))
    grants = tuple(DeviceGrant(gpu.type, gpu.minor, gpu.id) for gpu in gpus)
    return running_pod(pod, node.name, cpus, memory_bytes=(memory,), devices=grants)
