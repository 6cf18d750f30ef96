"""Largest nodes: what parts of a node are measured against."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from placer.greedy.scorer import ScorerNodeColumnsLeft
from placer_models.cluster import Node
from placer_models.demand import WHOLE_MILLI
from placer_models.device import GPU


@dataclass(frozen=True, slots=True)
class MaxNodeCapacity:
    """The most that any node has, for scorers that measure by it alone.

    Attributes:
        cpu_milli: The most CPUs of any node, in 1/1000; at least one.
        gpu_milli: The most GPUs of any node, in 1/1000; at least one.

    """

    cpu_milli: int
    gpu_milli: int

    @classmethod
    def of(cls, nodes: Sequence[Node]) -> Self:
        """Return the most of these nodes."""
        cpus = max((len(node.machine.topology.online) for node in nodes), default=0)
        gpus = max((sum(d.type == GPU for d in node.devices) for node in nodes), default=0)
        return cls(max(1, cpus) * 1000, max(1, gpus) * WHOLE_MILLI)

    def epoch(self, free: ScorerNodeColumnsLeft) -> None:
        """Scores depend on the pod and the node alone."""
