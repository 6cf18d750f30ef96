"""Pools of LS and BE pods as a solver sees them: what they have, which pods are bound (C8, C12)."""

from dataclasses import dataclass
from typing import NamedTuple

from placer_models.policy import QosClass


class CellPool(NamedTuple):
    """What a cell has of a pool.

    Attributes:
        cpus: How many CPUs the pods of the pool run on, reserved ones included.
        milli: What the requests of these pods may sum to.
        milli_per_cpu: What each CPU adds to ``milli``.

    """

    cpus: int = 0
    milli: int = 0
    milli_per_cpu: int = 1000

    def without(self, cpus: int) -> "CellPool":
        """Return what is left of the pool once ``cpus`` of its CPUs are owned."""
        if not (cpus and self.cpus):
            return self  # Pools that are not counted have no CPUs.
        milli = self.milli - self.milli_per_cpu * cpus
        return CellPool(self.cpus - cpus, milli, self.milli_per_cpu)


NO_POOL = CellPool()


@dataclass(frozen=True, slots=True, order=True)
class PoolBindingNeed:
    """What a pod, or a container of it, wants of the pool of its NUMA nodes on a node.

    Attributes:
        qos: LS or BE, for the shared pool or the BE pool.
        cells: The cells of its NUMA nodes, ascending (in an account: the ids of the nodes). Those
            without a CPU of the pool are none of them, so a running pod may have none at all.
        milli: CPU request, shared out over the cells in any way.
        cpus: How many CPUs of the pool it needs there: at least 1; it needs one in each cell, too.

    """

    qos: QosClass
    cells: tuple[int, ...]
    milli: int
    cpus: int
