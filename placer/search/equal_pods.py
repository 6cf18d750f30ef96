"""The last tier where all pods that wait are alike: how many are best put on which node.

The worth of a node then follows from how many pods come to it, so the best numbers are
found node by node, and no placement of all pods beats them. For pods that own CPUs or hold
devices, a node may be taken to be worth more than it is, which still gives a bound.
"""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from placer_models.cpsat.batch_model import most_pods_by_each_resource
from placer_models.goals import USABLE, WHOLE_CORE_POINTS, WORTH, ObjectiveSense, Tier
from placer_models.problem.dimensions import SHARED_POOL
from placer_models.problem.node_state import NodeState
from placer_models.problem.problem import Problem, Shape
from placer_models.problem.rooms import room_points

MOST_PODS = 1_000
MOST_STEPS = 50_000
"""The most numbers of pods on single nodes that are tried: a second or so."""

FIRST_WEIGHT = 10**12
"""The weight of a strategy's first tier: more than all that its second tier can count."""

Costs = NDArray[np.int64]
"""The cost of each number of pods, from 0 on."""


class EqualPodsPlacement(NamedTuple):
    """The best way to part equal pods among the nodes.

    Attributes:
        costs: One cost per tier of the strategy, beyond what nodes are worth without the pods.
            Less is better, even where the tier is maximised.
        nodes: For each pod, the index of the node that it comes to.

    """

    costs: tuple[int, ...]
    nodes: tuple[int, ...]


def best_split_of_equal_pods(
    problem: Problem, tiers: tuple[Tier, ...], stop: Callable[[], bool] = lambda: False
) -> EqualPodsPlacement | None:
    """Return the best way to part equal pods, or None if they differ or are too many.

    Args:
        problem: The batch, all pods of which are to be placed.
        tiers: The tiers of its strategy.
        stop: Asked now and then whether the time is over; if it is, None is returned.

    """
    pods = len(problem.pods)
    if not 0 < pods <= MOST_PODS or len(set(problem.pods)) > 1 or problem.homes:
        return None
    alike: defaultdict[tuple[int, ...], list[int]] = defaultdict(list)
    known: dict[Hashable, tuple[int, ...]] = {}
    for index in range(len(problem.nodes)):
        like = _told_by(problem, index)
        if like not in known:
            if stop():
                return None
            known[like] = tuple(_costs_on(problem, index, tiers))
        if len(known[like]) > 1:
            alike[known[like]].append(index)
    if pods == 1:  # only the cheapest nodes matter
        least = min((costs[1] for costs in alike), default=0)
        alike = defaultdict(list, {c: m[:1] for c, m in alike.items() if c[1] == least})
    if sum((len(costs) - 1) * min(len(m), pods) for costs, m in alike.items()) > MOST_STEPS:
        return None
    best: Costs = np.array([0, *[_NEVER] * pods], dtype=np.int64)
    steps: list[tuple[int, NDArray[np.intp]]] = []
    for costs, members in alike.items():
        for index in members[:pods]:
            if stop():
                return None
            best, taken = _with_node(best, costs)
            steps.append((index, taken))
    if best[pods] >= _NEVER // 2:
        return None
    left, nodes = pods, []
    for index, taken in reversed(steps):
        nodes += [index] * int(taken[left])
        left -= int(taken[left])
    total = int(best[pods])
    if len(tiers) == 1:
        return EqualPodsPlacement((total,), tuple(nodes))
    # The second cost may be below 0, but never by as much as one of the first.
    first = -(-(total - FIRST_WEIGHT // 2) // FIRST_WEIGHT)
    return EqualPodsPlacement((first, total - first * FIRST_WEIGHT), tuple(nodes))


_NEVER = 2**61


def _with_node(best: Costs, costs: tuple[int, ...]) -> tuple[Costs, NDArray[np.intp]]:
    """Return the costs with one more node, and how many of each number of pods come to it."""
    found = best.copy()
    taken: NDArray[np.intp] = np.zeros(len(best), dtype=np.intp)
    for count, cost in enumerate(costs[1 : len(best)], start=1):
        with_it = best[:-count] + cost
        better = with_it < found[count:]
        found[count:][better] = with_it[better]
        taken[count:][better] = count
    return found, taken


def _told_by(problem: Problem, index: int) -> Hashable:
    """Return a key that nodes alike to the pods have in common; most share its objects."""
    node = problem.nodes[index]
    inside = id(node.cells), id(node.cores), id(node.banks)
    pools = node.pool_cpus, node.best_effort_cpus
    barred = problem.affinity.bars(problem.pods[0], index)
    return (node.kind, *inside, *node.amounts, *pools, node.load, barred)


def _costs_on(problem: Problem, index: int, tiers: tuple[Tier, ...]) -> Iterator[int]:
    """Yield what 0, 1, 2 pods on a node cost, up to as many as there is room for."""
    node = problem.nodes[index]
    shape = problem.shape_on(problem.pods[0], node)
    most = most_pods_by_each_resource(problem, problem.pods[0], index, len(problem.pods))
    if tiers == (USABLE,):
        lost = _usable_lost(node, shape)
        yield from map(lost, range(most + 1))
        return
    fit = problem.fits[problem.pods[0]][node.kind]
    load = node.load
    yield 0
    if load is None or fit is None or fit.ask is None:
        return
    weights = [FIRST_WEIGHT, 1] if len(tiers) > 1 else [1]
    signed = [
        w if t.sense is ObjectiveSense.MINIMISE else -w for w, t in zip(weights, tiers, strict=True)
    ]
    empty = sum(w * WORTH[tier](load) for w, tier in zip(signed, tiers, strict=True))
    for _ in range(most):
        load = load.with_pod(fit.ask)
        yield sum(w * WORTH[tier](load) for w, tier in zip(signed, tiers, strict=True)) - empty


def _usable_lost(node: NodeState, shape: Shape) -> Callable[[int], int]:
    """Return a function: number of pods -> points of tier ``usable`` lost at least."""
    milli = shape.amounts_on(node)[SHARED_POOL]
    now = room_points(node.rooms, node.pool_milli, node.memory)
    broken = sum(c.cores * c.free for c in node.cores if not c.whole)
    widest = max((c.threads for c in node.cores), default=1)

    def lost(pods: int) -> int:
        cores = max(0, -(-(pods * shape.owned_cpus - broken) // widest))
        memory = node.memory - pods * shape.memory
        left = room_points(node.rooms, node.pool_milli - pods * milli, memory)
        return now - left + WHOLE_CORE_POINTS * cores

    return lost
