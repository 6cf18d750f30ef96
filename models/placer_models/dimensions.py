"""Dimensions: what is counted in plain amounts, and what amounts in several of them do.

Nodes and devices have vectors of amounts, pods and shares take others of them, and one rule
holds for each dimension: what is taken sums to no more than there is.
"""

from collections.abc import Iterable, Sequence
from operator import le, sub
from typing import NamedTuple

Amounts = tuple[int, ...]
"""One amount a dimension, in an order that what is had and what is taken share."""

MEMORY = 0
SHARED_POOL = -2
BEST_EFFORT_POOL = -1
"""Where these are among the dimensions of every Problem."""


class Dimension(NamedTuple):
    """One thing that a Problem counts in plain amounts.

    Attributes:
        rule: The rule of the judge that counts it, too.
        subject: An extended resource or the size of a page, where the rule counts each for itself.
        unit: What one stands for: bytes of memory, milli of a CPU, pages, units of a resource.
        per_cell: Each cell has so much of it, and a pod may be held to some of them; else the
            node has it as a whole.

    """

    rule: str
    subject: str = ""
    unit: int = 1
    per_cell: bool = False

    @property
    def page_bytes(self) -> int:
        """The size of the hugepages that it counts; 0: it counts something else."""
        return int(self.subject) if self.rule == "hugepages" else 0


def amounts_at(amounts: Amounts, owned_cpus: int, milli_per_cpu: int) -> Amounts:
    """Return what a pod takes where each CPU that it owns takes so much of the pools.

    Args:
        amounts: What it takes where that is 1000.
        owned_cpus: CPUs that it gets by id.
        milli_per_cpu: As of the node.

    """
    if not owned_cpus or milli_per_cpu == 1000:
        return amounts
    owned = milli_per_cpu * owned_cpus
    pools = (owned if amounts[pool] else 0 for pool in (SHARED_POOL, BEST_EFFORT_POOL))
    return (*amounts[:SHARED_POOL], *pools)


def in_cells(dimensions: Iterable[Dimension]) -> tuple[Dimension, ...]:
    """Return those of which each cell has so much; they are the first."""
    return tuple(dimension for dimension in dimensions if dimension.per_cell)


def fits(taken: Amounts, left: Amounts) -> bool:
    """Return whether so much is left of each."""
    return all(map(le, taken, left))


def less(left: Amounts, taken: Amounts) -> Amounts:
    """Return what is left once the amounts are taken."""
    return tuple(map(sub, left, taken))


def times(taken: Sequence[int], left: Sequence[int], most: int) -> int:
    """Return how often the amounts can be taken of what is left, at most so often."""
    return min((most, *(have // want for want, have in zip(taken, left, strict=True) if want)))
