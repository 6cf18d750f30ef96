"""The room that nodes have for plain pods, as columns."""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from placer.search.exchanges.swaps import Loads
from placer.search.plain import never_on
from placer_models.problem import Choices, Problem

EXACT = 2**53
"""Whole numbers below it are exact in floating point, and so are their sums."""


@dataclass(frozen=True, slots=True)
class NodeColumns:
    """The room on nodes that other pods leave to some pods.

    Attributes:
        room: (node, resource) -> amount left, for resources that any of the pods asks for.
        sizes: (shape, resource) -> amount that a pod takes.
        kinds: A number per node; nodes with the same one bar the same shapes.
        barred: (shape, kind) -> whether pods of the shape may not come there.

    """

    room: Loads
    sizes: Loads
    kinds: NDArray[np.intp]
    barred: NDArray[np.bool_]

    def takes(self, thing: int) -> NDArray[np.bool_]:
        """Return, per node, whether it has room for a pod of the shape while no other comes."""
        fits = (self.room >= self.sizes[thing]).all(axis=1)
        open_to: NDArray[np.bool_] = fits & ~self.barred[thing, self.kinds]
        return open_to


def columns_of(problem: Problem, start: Choices, pods: Collection[int]) -> NodeColumns | None:
    """Return the room that all other pods leave to the pods.

    Return None if the numbers are too large, the pods ask for nothing that could be short, or
    what they take is not the same on all nodes.
    """
    if not problem.nodes or any(s.amounts != s.most_amounts for s in problem.shapes):
        return None
    room = [list(node.amounts) for node in problem.nodes]
    taken = [shape.amounts for shape in problem.shapes]
    for pod, choice in start.items():
        if pod not in pods:
            for resource, amount in enumerate(taken[problem.pods[pod]]):
                room[choice.node][resource] -= amount
    asked = sorted({problem.pods[pod] for pod in pods})
    used = [d for d in range(len(room[0])) if any(taken[thing][d] for thing in asked)]
    largest = [max(taken[thing][d] for thing in asked) for d in used]
    if (
        not used
        or any(size * len(pods) >= EXACT for size in largest)
        or any(sum(row[d] for row in room) >= EXACT for d in used)
    ):
        return None
    rows: dict[tuple[bool, ...], int] = {}
    known: dict[tuple[int, bool, bool], int] = {}
    kinds = []
    for node in problem.nodes:
        key = (node.kind, node.pool_cpus > 0, node.best_effort_cpus > 0)
        if key not in known:
            row = tuple(never_on(problem, thing, node) for thing in asked)
            known[key] = rows.setdefault(row, len(rows))
        kinds.append(known[key])
    barred = np.zeros((len(problem.shapes), len(rows)), dtype=np.bool_)
    barred[asked] = np.array(list(rows), dtype=np.bool_).T
    sizes = np.zeros((len(problem.shapes), len(used)))
    sizes[asked] = [[taken[thing][d] for d in used] for thing in asked]
    return NodeColumns(
        room=np.array([[max(0, row[d]) for d in used] for row in room], dtype=np.float64),
        sizes=sizes,
        kinds=np.array(kinds, dtype=np.intp),
        barred=barred,
    )
