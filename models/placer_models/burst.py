"""A pod under ConstrainedBurst as a solver sees it (C8)."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Burst:
    """A pod under ConstrainedBurst on a node.

    Attributes:
        cells: Of its NUMA nodes, ascending.
        milli: Its CPU request.
        cpus: CPUs of the shared pool that it needs on them.

    """

    cells: tuple[int, ...]
    milli: int
    cpus: int
