"""Sums that all placements keep: of each resource, over all nodes and over those that pods need.

Pods that can only be on some nodes, by what these are or by what they have left, must have room
there together, however much there is elsewhere.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from placer.search.exchanges.room_columns import ExchangeCapacityLeftColumns
from placer.search.exchanges.sweeps import Loads
from placer_models.placement import TierBottleneck
from placer_models.problem.problem import Problem

MOST_CONFINES = 20
"""The most sets of nodes beside all that are summed over: those that most pods are confined to."""


class ExchangeNodeSetCapacityLimit(NamedTuple):
    """A sum that all placements keep.

    Attributes:
        what: The resource and the nodes.
        sizes: (shape, what a pod of it takes) for all pods that can only be on these nodes.
        room: What the nodes have.

    """

    what: TierBottleneck
    sizes: tuple[tuple[int, int], ...]
    room: int


def node_set_capacity_limits(
    problem: Problem, columns: ExchangeCapacityLeftColumns, shapes: Mapping[int, int]
) -> Iterator[ExchangeNodeSetCapacityLimit]:
    """Yield a sum for each column over all nodes, and over nodes that pods are confined to.

    Args:
        problem: The batch.
        columns: The room on its nodes.
        shapes: How many pods of each shape there are.

    """
    takes = {shape: columns.takes(shape) for shape in shapes}
    everywhere: NDArray[np.bool_] = np.ones(len(problem.nodes), dtype=np.bool_)
    yield from _sums_over(problem, columns, everywhere, shapes)
    confines: Counter[bytes] = Counter()
    for shape, count in shapes.items():
        if not takes[shape].all():
            confines[takes[shape].tobytes()] += count
    for key, _ in confines.most_common(MOST_CONFINES):
        nodes = np.frombuffer(key, dtype=np.bool_)
        confined = [shape for shape, mine in takes.items() if not (mine & ~nodes).any()]
        yield from _sums_over(problem, columns, nodes, confined)


def _sums_over(
    problem: Problem,
    columns: ExchangeCapacityLeftColumns,
    nodes: NDArray[np.bool_],
    shapes: Collection[int],
) -> Iterator[ExchangeNodeSetCapacityLimit]:
    """Yield a sum over some nodes for each column that pods of the shapes take of."""
    for d, resource in enumerate(columns.resources):
        sizes = columns.sizes[:, d]
        taken = tuple((shape, int(sizes[shape])) for shape in shapes if sizes[shape])
        if taken:
            room = columns.room[:, d]
            having = nodes & (room > 0)
            having = having if having.any() else nodes
            names = tuple(problem.nodes[i].name for i in np.flatnonzero(having).tolist())
            what = TierBottleneck(resource, None if len(names) == len(problem.nodes) else names)
            yield ExchangeNodeSetCapacityLimit(what, taken, int(room[nodes].sum()))


def capacity_limits_as_arrays(
    sums: Sequence[ExchangeNodeSetCapacityLimit], shapes: int
) -> tuple[Loads, Loads]:
    """Return (shape, sum) -> what a pod takes of it, and what each sum has.

    Args:
        sums: The sums.
        shapes: How many shapes there are.

    """
    sizes = np.zeros((shapes, len(sums)))
    for number, each in enumerate(sums):
        for shape, size in each.sizes:
            sizes[shape, number] = size
    return sizes, np.array([float(each.room) for each in sums])
