"""Dimensions: what is counted in plain amounts, and the arithmetic of vectors of amounts.

Nodes and devices have vectors of amounts, and pods and shares take such vectors from them.
One rule holds for each dimension: what is taken sums to no more than there is.
"""

from collections.abc import Iterable, Sequence
from operator import le, sub
from typing import NamedTuple

from placer_models.pod import Resources

Amounts = tuple[int, ...]
"""One amount per dimension, in the same order for what there is and what is taken."""

MEMORY = 0
SHARED_POOL = -2
BEST_EFFORT_POOL = -1
"""Indices of these three among the dimensions of every Problem."""


class Dimension(NamedTuple):
    """One thing that a Problem counts in plain amounts.

    Attributes:
        rule: The judge's rule that counts the same thing.
        subject: An extended resource or a page size, where the rule counts each by itself.
        unit: What 1 stands for: bytes of memory, milli of a CPU, pages, units of a resource.
        per_cell: Whether each cell has an amount of it, so that a pod may be held to some
            cells; otherwise the node has it as a whole.

    """

    rule: str
    subject: str = ""
    unit: int = 1
    per_cell: bool = False

    @property
    def resource(self) -> str:
        """What people call it, as in `placement.TierBottleneck`."""
        names = {"shared-pool": "cpu", "be-pool": "best-effort-cpu", "max-pods": "pods"}
        named = {"hugepages": f"hugepages-{self.subject}", "host-ports": f"port {self.subject}"}
        return names.get(self.rule) or named.get(self.rule) or self.subject or self.rule

    @property
    def page_bytes(self) -> int:
        """The size of the hugepages that it counts, in bytes; 0 if it counts something else."""
        return int(self.subject) if self.rule == "hugepages" else 0

    def asked_by(self, requests: Resources) -> int:
        """Return how much is asked for of what cells have."""
        size = self.page_bytes
        return requests.pages_of(size) if size else requests.memory_bytes // self.unit

    def held_on(
        self,
        memory_bytes: Iterable[tuple[int, int]],
        hugepages: Iterable[tuple[int, int, int]],
    ) -> dict[int | None, int]:
        """Return NUMA node -> how much of it is held there; both as in a ``PodPlacement``."""
        size = self.page_bytes
        if size:
            return {numa: count for numa, of, count in hugepages if of == size}
        return {numa: amount // self.unit for numa, amount in memory_bytes}


def amounts_at_milli_per_cpu(amounts: Amounts, owned_cpus: int, milli_per_cpu: int) -> Amounts:
    """Return what a pod takes if each CPU that it owns takes ``milli_per_cpu`` of the pools.

    Args:
        amounts: What the pod takes where a CPU takes 1000.
        owned_cpus: How many CPUs it gets by id.
        milli_per_cpu: As in the node.

    """
    if not owned_cpus or milli_per_cpu == 1000:
        return amounts
    owned = milli_per_cpu * owned_cpus
    pools = (owned if amounts[pool] else 0 for pool in (SHARED_POOL, BEST_EFFORT_POOL))
    return (*amounts[:SHARED_POOL], *pools)


def cell_dimensions(dimensions: Iterable[Dimension]) -> tuple[Dimension, ...]:
    """Return the dimensions of which each cell has an amount; they are the first ones."""
    return tuple(dimension for dimension in dimensions if dimension.per_cell)


def enough_is_left(taken: Amounts, left: Amounts) -> bool:
    """Return whether enough is left in each dimension."""
    return all(map(le, taken, left))


def amounts_left(left: Amounts, taken: Amounts) -> Amounts:
    """Return what is left once the amounts are taken."""
    return tuple(map(sub, left, taken))


def times_amounts_fit(taken: Sequence[int], left: Sequence[int], most: int) -> int:
    """Return how often the amounts can be taken from what is left, but no more than ``most``."""
    return min((most, *(have // want for want, have in zip(taken, left, strict=True) if want)))
