"""The pools of LS and BE pods as a solver sees them: what they have, and who is bound (C8, C12)."""

from dataclasses import dataclass
from typing import NamedTuple

from placer_models.policy import QosClass


class CellPool(NamedTuple):
    """What a cell has of a pool.

    Attributes:
        cpus: CPUs that the pods of the pool run on, reserved ones included.
        milli: What their requests may sum to.
        milli_per_cpu: What a CPU adds to that.

    """

    cpus: int = 0
    milli: int = 0
    milli_per_cpu: int = 1000

    def without(self, cpus: int) -> "CellPool":
        """Return what is left once so many of its CPUs are owned."""
        if not (cpus and self.cpus):
            return self  # Where pools are not counted, they have nothing.
        milli = self.milli - self.milli_per_cpu * cpus
        return CellPool(self.cpus - cpus, milli, self.milli_per_cpu)


NO_POOL = CellPool()


@dataclass(frozen=True, slots=True, order=True)
class Bound:
    """What a pod, or a container of it, wants of the pool of its NUMA nodes on a node.

    Attributes:
        qos: LS or BE, for the shared pool or the BE pool.
        cells: Of the NUMA nodes, ascending (in an account: their ids).
        milli: CPU request, shared out over them in any way.
        cpus: CPUs of the pool that it needs there: one at least, and on each one.

    """

    qos: QosClass
    cells: tuple[int, ...]
    milli: int
    cpus: int
