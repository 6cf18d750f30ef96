"""NUMA allocate strategies: cores as the strategy of a node would have them (C11)."""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import assert_never

from placer.greedy.cores import NO_CORES, choose_core_class_counts, ownable_cpu_count_of_core_class
from placer.greedy.inside import CandidatePlace, TierCosts
from placer_models.goals import NUMA_STRATEGY
from placer_models.policy import NumaStrategy
from placer_models.problem.node_state import NodeState
from placer_models.problem.numa_strategy import fewest_pairs_in_same_part, unordered_pair_count
from placer_models.problem.problem import CoreTake, Fit, Shape

MOST_CELLS = 16
"""How many cells are tried for a pod: of the roomiest, and again of the tightest."""


def _against_strategy(place: CandidatePlace) -> int:
    """Return what a place adds to the tier ``numa-strategy``."""
    node, shape, fit = place.node, place.shape, place.fit
    chosen = node.strategy
    if chosen is None or fit.fewest_cpu_cells is None:
        return 0
    share: Counter[int] = Counter()
    for c, take in zip(node.cores, place.cores, strict=True):
        share[c.cell] += take.whole * c.threads + take.threads
    share = +share
    beyond = len(share) - fit.fewest_cpu_cells
    match chosen.strategy:
        case NumaStrategy.MOST_ALLOCATED:
            beside = sum(n * (chosen.free[cell] - chosen.least_free) for cell, n in share.items())
            return chosen.points * beyond + beside
        case NumaStrategy.LEAST_ALLOCATED:
            left = _left(node)
            crowd = sum(
                unordered_pair_count(n) + n * (chosen.most_free - left[cell])
                for cell, n in share.items()
            )
            return (
                chosen.points * beyond
                + crowd
                - fewest_pairs_in_same_part(shape.owned_cpus, fit.fewest_cpu_cells)
            )
        case NumaStrategy.DISTRIBUTE_EVENLY:
            uneven = max(0, max(share.values()) - min(share.values()) - fit.cpus_apart)
            return chosen.points * uneven + beyond
        case never:
            assert_never(never)


def core_choices_for_numa_strategy(
    node: NodeState, shape: Shape, fit: Fit, cells: Collection[int], near: Collection[int]
) -> Iterator[tuple[CoreTake, ...]]:
    """Yield choices of cores that follow the node's strategy, if it has one.

    These are each cell that has room for the whole pod, else the fewest cells that have.
    Under DistributeEvenly, even shares over the roomiest cells come first.
    """
    chosen = node.strategy
    if chosen is None or fit.fewest_cpu_cells is None:
        return
    for strict in (replace(fit, bind_required=True), fit):
        rooms: Counter[int] = Counter()
        for c in node.cores:
            if c.cell in cells:
                rooms[c.cell] += ownable_cpu_count_of_core_class(c, strict)
        roomy = sorted(+rooms, key=lambda cell: (-rooms[cell], cell))
        if chosen.strategy is NumaStrategy.DISTRIBUTE_EVENLY:
            yield from _even(node, shape, strict, near, roomy)
        enough = [cell for cell in roomy if rooms[cell] >= shape.owned_cpus]
        if enough:
            sets = [[cell] for cell in (*enough[:MOST_CELLS], *enough[MOST_CELLS:][-MOST_CELLS:])]
        else:
            sums = accumulate(rooms[cell] for cell in roomy)
            count = next((i for i, n in enumerate(sums, 1) if n >= shape.owned_cpus), None)
            sets = [] if count is None else [roomy[:count]]
        for some in sets:
            found = choose_core_class_counts(node, shape, fit, some, near)
            if found is not None:
                yield found


def _even(
    node: NodeState,
    shape: Shape,
    fit: Fit,
    near: Collection[int],
    roomy: Sequence[int],
) -> Iterator[tuple[CoreTake, ...]]:
    """Yield even shares over more and more cells, in steps of what they may differ by."""
    step = fit.cpus_apart
    for count in range(2, min(len(roomy), MOST_CELLS) + 1):
        steps, rest = divmod(shape.owned_cpus, step)
        takes: list[CoreTake] = [NO_CORES] * len(node.cores)
        for position, cell in enumerate(roomy[:count]):
            share = step * (steps // count + (position < steps % count))
            # What is less than a step goes where it keeps the shares closest.
            share += rest if position == steps % count else 0
            part = choose_core_class_counts(
                node, replace(shape, owned_cpus=share), fit, (cell,), near
            )
            if part is None:
                break
            takes = [a if b is NO_CORES else b for a, b in zip(takes, part, strict=True)]
        else:
            yield tuple(takes)


def _left(node: NodeState) -> Counter[int]:
    left: Counter[int] = Counter()
    for c in node.cores:
        left[c.cell] += c.free_threads
    return left


COSTS: TierCosts = {NUMA_STRATEGY: _against_strategy}
