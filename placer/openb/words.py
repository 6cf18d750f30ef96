"""Words for the trace: its nodes and pods as Placer knows them.

A node has its CPUs in one NUMA node and GPUs of which only the model is known, as a label. Pods are
LS pods: they share CPUs by milli, whatever the list says of their class. What a pod asks of one
GPU, it asks of its compute and of its memory alike. ``gpu_spec`` is a required node affinity, of
the operator ``In``.
"""

from collections.abc import Iterable

from placer.openb.lists import WHOLE_MILLI, TraceNode, TracePod
from placer_models.cluster import Machine, Node
from placer_models.device import GPU, Device
from placer_models.device_share import DeviceShare
from placer_models.node_affinity import NodeAffinity, NodeTerm
from placer_models.pod import Container, DeviceRequest, Gang, Pod, PodSpec, Resources, lone_gang
from placer_models.policy import QosClass
from placer_models.selectors import LabelExpression, SelectorOperator
from placer_models.topology import Cpu, NumaNode, Topology

MODEL = "gpu-model"
"""The label of a node that tells the model of its GPUs."""

NAMESPACE = "openb"
"""The namespace of all pods."""


class TraceConverter:
    """The words for one trace; equal rows of its lists share theirs."""

    def __init__(self) -> None:
        """Begin with none."""
        self._machines: dict[tuple[int, int, int, str], Machine] = {}
        self._specs: dict[tuple[int, int, int, int, tuple[str, ...]], PodSpec] = {}

    def machine(self, node: TraceNode) -> Machine:
        """Return what a node is inside."""
        key = node.cpu_milli, node.memory_mib, node.gpus, node.model
        if key not in self._machines:
            self._machines[key] = _machine(node)
        return self._machines[key]

    def node(self, node: TraceNode, name: str = "") -> Node:
        """Return the node.

        Args:
            node: Its row.
            name: Its name, if it is not that of the row.

        """
        labels = ((MODEL, node.model),) if node.model else ()
        return Node(name or node.name, self.machine(node), labels=labels)

    def spec(self, pod: TracePod) -> PodSpec:
        """Return what a pod asks for."""
        key = pod.cpu_milli, pod.memory_mib, pod.gpus, pod.gpu_milli, pod.models
        if key not in self._specs:
            self._specs[key] = _spec(pod)
        return self._specs[key]

    def lone(self, pod: TracePod, name: str = "") -> Gang:
        """Return the pod, which is in no gang.

        Args:
            pod: Its row.
            name: Its name, if it is not that of the row.

        """
        return lone_gang(Pod(name or pod.name, NAMESPACE, self.spec(pod)))


def gpu_models_of_nodes(nodes: Iterable[TraceNode]) -> frozenset[str]:
    """Return the models of GPUs that nodes have."""
    return frozenset(node.model for node in nodes if node.model)


def _machine(node: TraceNode) -> Machine:
    cpus, gib = node.cpu_milli // 1000, node.memory_mib / 1024
    name = f"openb-c{cpus}-m{gib:g}" + (f"-{node.gpus}x{node.model.lower()}" if node.gpus else "")
    topology = Topology(
        "x86_64",
        tuple(Cpu(cpu, core=cpu, package=0, numa_node=0) for cpu in range(cpus)),
        (NumaNode(0, node.memory_mib << 20),),
    )
    return Machine(name, name, topology, tuple(Device(GPU, minor) for minor in range(node.gpus)))


def _spec(pod: TracePod) -> PodSpec:
    devices: tuple[DeviceRequest, ...] = ()
    if pod.gpus:
        percent = 100 * pod.gpu_milli // WHOLE_MILLI
        share = None if percent == 100 else DeviceShare(percent, memory_percent=percent)
        devices = (DeviceRequest(GPU, pod.gpus, share),)
    requests = Resources(pod.cpu_milli, pod.memory_mib << 20, devices=devices)
    affinity = None
    if pod.models:
        term = NodeTerm((LabelExpression(MODEL, SelectorOperator.IN, pod.models),))
        affinity = NodeAffinity(required=(term,))
    return PodSpec((Container("main", requests),), QosClass.LS, node_affinity=affinity)
