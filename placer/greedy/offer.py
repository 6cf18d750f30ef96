"""A place inside a node, and what it costs."""

from collections.abc import Callable
from typing import NamedTuple

from placer_models.node_state import NodeState
from placer_models.problem import Choice, Fit, Shape
from placer_models.records import record


class Price(NamedTuple):
    """What a place costs, most important first. Prices compare as tuples: less is better.

    Attributes:
        opened: Offered nodes that are opened.
        shared_cores: Cores shared against the exclusive policy.
        shared_numa_nodes: NUMA nodes shared against the exclusive policy.
        affinity: Weights of wishes, about other owners of CPUs of a core or NUMA node, not kept.
        alignment: NUMA nodes beyond the fewest.
        node_preference: Weights of what the pod would like of the node and does not get.
        packages: Packages beyond the fewest, where the pod would like few.
        bind: CPUs against the bind policy.
        caches: Last-level caches beyond the fewest, where the pod would like few.
        joint: Groups that lack a type that is wanted there.
        partitions: Whether the GPUs should be a partition and are not.
        pair_minimum: How far the slowest pair of GPUs is short of the best, in 0.01 GB/s.
        pair_sum: How far the sum over pairs of GPUs is short of the best, in 0.01 GB/s.
        numa_strategy: Points against the node's NUMA strategy.
        numa_nodes: NUMA nodes beyond the fewest, where no policy asks.
        all_packages: Packages of all that the pod has, beyond the fewest.
        device_choice: How far it is off the pod's device choice, in millionths of use by others.
        strategy: What the last tier counts, as `node_strategy.cost_of` returns it.

    """

    opened: int = 0
    shared_cores: int = 0
    shared_numa_nodes: int = 0
    affinity: int = 0
    alignment: int = 0
    node_preference: int = 0
    packages: int = 0
    bind: int = 0
    caches: int = 0
    joint: int = 0
    partitions: int = 0
    pair_minimum: int = 0
    pair_sum: int = 0
    numa_strategy: int = 0
    numa_nodes: int = 0
    all_packages: int = 0
    device_choice: int = 0
    strategy: int = 0


@record(frozen=True, slots=True)
class Offer:
    """A place inside a node and its price."""

    price: Price
    choice: Choice


Chooser = Callable[[NodeState, Shape, Fit], Offer | None]
"""Returns the cheapest place found for a pod of the shape, or None if none was found."""
