"""Largest nodes: what parts of a node are measured against."""

from collections.abc import Sequence

from placer.greedy.free_nodes import WHOLE_MILLI
from placer_models.cluster import Node
from placer_models.device import GPU


def largest_of(nodes: Sequence[Node]) -> tuple[int, int]:
    """Return the most CPUs and the most GPUs of any node, in 1/1000; at least 1 of each."""
    cpus = max((len(node.machine.topology.online) for node in nodes), default=0)
    gpus = max((sum(d.type == GPU for d in node.devices) for node in nodes), default=0)
    return max(1, cpus) * 1000, max(1, gpus) * WHOLE_MILLI
