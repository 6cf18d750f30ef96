"""The room that nodes have for pods, as columns of sums.

No node holds more than its sums say, and often less: links, NUMA nodes and parts of devices are not
sums. So what fits by the columns is tried on the nodes (`laid`), unless all pods are plain.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from placer.search.exchanges.device_columns import device_capacity_constraints
from placer.search.exchanges.sweeps import Loads
from placer.search.plain_pods import is_shape_barred_from_node
from placer_models.problem.node_state import NodeState
from placer_models.problem.problem import Problem

EXACT = 2**53
"""Whole numbers below it are exact in floating point, and so are their sums."""


@dataclass(frozen=True, slots=True)
class ExchangeCapacityLeftColumns:
    """The room on nodes that other pods leave to some pods.

    Attributes:
        room: (node, resource) -> amount left, for resources that any of the pods asks for.
        sizes: (shape, resource) -> amount that a pod takes.
        kinds: A number per node; nodes with the same one bar the same shapes.
        barred: (shape, kind) -> whether pods of the shape may not come there.
        resources: What each resource is called.

    """

    room: Loads
    sizes: Loads
    kinds: NDArray[np.intp]
    barred: NDArray[np.bool_]
    resources: tuple[str, ...]

    def takes(self, shape_index: int) -> NDArray[np.bool_]:
        """Return, per node, whether it has room for a pod of the shape while no other comes."""
        fits = (self.room >= self.sizes[shape_index]).all(axis=1)
        open_to: NDArray[np.bool_] = fits & ~self.barred[shape_index, self.kinds]
        return open_to


def capacity_left_columns(
    problem: Problem, nodes: Sequence[NodeState], pods: Collection[int]
) -> ExchangeCapacityLeftColumns | None:
    """Return the room that the nodes have for the pods.

    Return None if the numbers are too large, or the pods ask for nothing that could be short.

    Args:
        problem: The batch.
        nodes: What all other pods leave of each node.
        pods: The pods.

    """
    if not nodes:
        return None
    taken = [shape.amounts for shape in problem.shapes]
    asked = sorted({problem.pods[pod] for pod in pods})
    columns = [
        (
            dimension.resource,
            [max(0, node.amounts[d]) for node in nodes],
            [taken[shape_index][d] for shape_index in asked],
        )
        for d, dimension in enumerate(problem.dimensions)
    ]
    for column in device_capacity_constraints(problem, nodes, asked):
        columns.append(
            (column.type, column.room, [column.sizes[shape_index] for shape_index in asked])
        )
    # Columns that say the same, such as percent and memory of a device, count once.
    used: dict[tuple[tuple[int, ...], tuple[int, ...]], str] = {}
    for resource, has, wants in columns:
        if any(wants):
            used.setdefault((tuple(has), tuple(wants)), resource)
    if not used or any(max(wants) * len(pods) >= EXACT or sum(has) >= EXACT for has, wants in used):
        return None
    rows: dict[tuple[bool, ...], int] = {}
    known: dict[tuple[int, bool, bool, tuple[int, ...]], int] = {}
    kinds = []
    barred_nodes = problem.affinity.barred
    kept_off = [shape for shape in asked if barred_nodes and barred_nodes[shape]]
    for at, node in enumerate(problem.nodes):
        off = tuple(shape for shape in kept_off if problem.affinity.bars(shape, at))
        key = (node.kind, node.pool_cpus > 0, node.best_effort_cpus > 0, off)
        if key not in known:
            row = tuple(
                is_shape_barred_from_node(problem, shape, node) or shape in off for shape in asked
            )
            known[key] = rows.setdefault(row, len(rows))
        kinds.append(known[key])
    barred = np.zeros((len(problem.shapes), len(rows)), dtype=np.bool_)
    barred[asked] = np.array(list(rows), dtype=np.bool_).T
    sizes = np.zeros((len(problem.shapes), len(used)))
    sizes[asked] = np.array([wants for _, wants in used], dtype=np.float64).T
    return ExchangeCapacityLeftColumns(
        room=np.array([has for has, _ in used], dtype=np.float64).T.copy(),
        sizes=sizes,
        kinds=np.array(kinds, dtype=np.intp),
        barred=barred,
        resources=tuple(used.values()),
    )
