"""Merging as the kubelet's Topology Manager does, without its combinations.

The kubelet takes one hint of each resource in every combination: 255^4 for four
resources on 8 NUMA nodes. What it compares is only the mask that a combination has in
common and whether it is preferred, and it compares them by a total order. So it is
enough to know which masks can be reached.
"""

from collections.abc import Callable, Sequence

from alignment.hints.model import Kubelet, Merged, ProviderHints
from alignment.hints.wishes import (
    Wish,
    affinity_of,
    mask_of,
    on_one_numa_node,
    preferred_by_all,
    wishes_of,
)
from placer_models.policy import AlignmentPolicy

REASON = "Resources cannot be allocated with Topology locality"
"""What the kubelet says of every pod that it does not admit."""

Rank = Callable[[int], tuple[int, ...]]
"""What orders masks: the least is the best."""


def merge_as_kubelet(
    policy: AlignmentPolicy,
    provider_hints: Sequence[ProviderHints | None],
    numa_nodes: Sequence[int],
    peer: Kubelet,
) -> Merged:
    """Return the best mask that the hints have in common, and the policy's verdict."""
    everywhere = mask_of(numa_nodes)
    wishes = wishes_of(provider_hints, numa_nodes)
    single = policy is AlignmentPolicy.SINGLE_NUMA_NODE
    if single:
        wishes = on_one_numa_node(wishes)
    fit = fitness(numa_nodes, () if single else peer.distances)
    mask, preferred = _best(wishes, everywhere, fit)
    wherever = single and mask == everywhere
    admitted = preferred or policy is AlignmentPolicy.BEST_EFFORT
    return Merged(
        affinity=None if wherever else affinity_of(mask),
        preferred=preferred,
        admitted=admitted,
        reasons=() if admitted else (REASON,),
    )


def _best(wishes: Sequence[Wish], everywhere: int, fit: Rank) -> tuple[int, bool]:
    """Return the mask to settle on, and whether it is preferred."""
    if agreed := preferred_by_all(wishes, everywhere):
        return min(agreed, key=fit), True
    reached = {everywhere}
    for wish in wishes:
        masks = {everywhere if option.mask is None else option.mask for option in wish}
        reached = {mask & other for mask in reached for other in masks} - {0}
    return min(reached, key=unpreferred(fit, aim_of(wishes)), default=everywhere), False


def aim_of(wishes: Sequence[Wish]) -> int:
    """Return the NUMA nodes that the most demanding resource needs at least; 0: none says."""
    widths = [
        [option.mask.bit_count() for option in wish if option.mask is not None] for wish in wishes
    ]
    return max((min(some) for some in widths if some), default=0)


def fitness(numa_nodes: Sequence[int], distances: Sequence[Sequence[int]]) -> Rank:
    """Return the order of masks: narrower, then nearer if distances are given, then lower.

    The sum over all pairs of a mask stands for the mean: only equally wide masks meet it.

    Raises:
        ValueError: The distances are not one row and one column a NUMA node.

    """
    n = len(numa_nodes)
    if distances and [len(row) for row in distances] != [n] * n:
        raise ValueError(f"NUMA distances: expected {n} rows of {n} numbers")
    place = {numa_node: i for i, numa_node in enumerate(numa_nodes)}

    def rank(mask: int) -> tuple[int, ...]:
        if not distances:
            return mask.bit_count(), mask
        places = [place[numa_node] for numa_node in affinity_of(mask)]
        return mask.bit_count(), sum(distances[a][b] for a in places for b in places), mask

    return rank


def unpreferred(fit: Rank, aim: int) -> Rank:
    """Return the order of masks that nobody prefers: as wide as the aim, or nearly.

    Widths go: the aim itself, then below it from the widest, then above it from the
    narrowest. A mask narrower than the aim starves some resource.
    """

    def rank(mask: int) -> tuple[int, ...]:
        width = mask.bit_count()
        step = aim - width if width <= aim else aim + width
        return step, *fit(mask)

    return rank
