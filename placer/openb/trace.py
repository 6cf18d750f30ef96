"""Trace: lists of nodes and pods, and the order in which the pods arrive."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from placer.openb.arrivals import TraceArrivalOrder, read_arrival_order
from placer.openb.lists import WHOLE_MILLI, TraceNode, TracePod, read_trace_nodes, read_trace_pods
from placer.openb.words import TraceConverter, gpu_models_of_nodes
from placer_models.cluster import Instance, Node
from placer_models.pod import Gang


@dataclass(frozen=True, slots=True)
class WorkloadTrace:
    """One list of pods on the nodes, as they arrive under one seed."""

    nodes: tuple[TraceNode, ...]
    pods: tuple[TracePod, ...]
    arrivals: TraceArrivalOrder

    @property
    def capacity_milli(self) -> int:
        """All GPUs, in 1/1000."""
        return WHOLE_MILLI * sum(node.gpus for node in self.nodes)

    def ranked_nodes(self, words: TraceConverter) -> tuple[Node, ...]:
        """Return the nodes, whose names begin with their rank: by name is by rank."""
        width = len(str(len(self.nodes)))
        pairs = zip(self.nodes, self.arrivals.ranks, strict=True)
        return tuple(words.node(node, f"{rank:0{width}}-{node.name}") for node, rank in pairs)

    def arriving(self, words: TraceConverter, *, most: int | None = None) -> Iterator[Gang]:
        """Yield the pods in order of arrival, each with a name of its own.

        Args:
            words: Their words.
            most: How many; the order begins again at its end. None: all of it once.

        """
        order = self.arrivals.pods
        for number in range(len(order) if most is None else most):
            pod = self.pods[order[number % len(order)]]
            yield words.lone(pod, f"{number:06}-{pod.name}")


def read_trace(nodes: Path, pods: Path, sequence: Path, seed: int) -> WorkloadTrace:
    """Return a trace from its files.

    Raises:
        InputError: A file is not what it should be.

    """
    found = read_trace_nodes(nodes)
    listed = read_trace_pods(pods, gpu_models_of_nodes(found))
    arrivals = read_arrival_order(sequence, seed, nodes=len(found), pods=len(listed))
    return WorkloadTrace(found, listed, arrivals)


def instance_of_trace(nodes: tuple[TraceNode, ...], pods: tuple[TracePod, ...]) -> Instance:
    """Return all nodes, idle, and all pods, waiting, in the order of their lists."""
    words = TraceConverter()
    return Instance(
        tuple(words.node(node) for node in nodes), tuple(words.lone(pod) for pod in pods)
    )
