"""Demand as arrays, and fills of many nodes at once by NumPy.

The numbers are those of `placer_models.expected`, and of `compiled_scores`, which Numba compiles.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from placer.greedy.columns import Indices, Numbers
from placer_models.cluster import NodesWithCachedFacts
from placer_models.demand import ExpectedDemand
from placer_models.expected import (
    NodesAlikeForExpectedPods,
    ResourcesLeftForExpectedPods,
    admitted_shape_mask_of_each_node,
    expected_pod_streams,
    expected_shape_price,
    group_equal_left_nodes,
)
from placer_models.records import record


@record(frozen=True, slots=True)
class ExpectedDemandArrays:
    """The shapes of a demand, and its streams.

    Attributes:
        cpu_milli: cpu_milli[shape].
        gpu_milli: gpu_milli[shape]: of each of its GPUs.
        gpus: gpus[shape]: how many.
        memory_bytes: memory_bytes[shape].
        streams: streams[stream, position]: index of a shape.

    """

    cpu_milli: Numbers
    gpu_milli: Numbers
    gpus: Numbers
    memory_bytes: Numbers
    streams: Numbers

    @classmethod
    def of(cls, demand: ExpectedDemand) -> "ExpectedDemandArrays":
        """Return the arrays of a demand."""
        shapes = demand.shapes
        streams = np.array(expected_pod_streams(demand), dtype=np.int64)
        return cls(
            np.array([shape.cpu_milli for shape in shapes], dtype=np.int64),
            np.array([shape.gpu_milli for shape in shapes], dtype=np.int64),
            np.array([shape.gpus for shape in shapes], dtype=np.int64),
            np.array([shape.memory_bytes for shape in shapes], dtype=np.int64),
            streams.reshape(-1, demand.length),
        )


class LeftOnNodesForExpectedDemand(NamedTuple):
    """What nodes have left, column by column.

    Attributes:
        cpu_milli: CPUs of each node.
        memory_bytes: Memory of each node.
        gpu_milli: gpu_milli[node, gpu]: what is left of each of its GPUs, in any order.

    """

    cpu_milli: Numbers
    memory_bytes: Numbers
    gpu_milli: Numbers


def left_as_arrays(lefts: Sequence[ResourcesLeftForExpectedPods]) -> LeftOnNodesForExpectedDemand:
    """Return what nodes have left as columns; GPUs that a node does not have are zeros."""
    most = max((len(left.gpu_milli) for left in lefts), default=0)
    gpus: Numbers = np.zeros((len(lefts), max(1, most)), dtype=np.int64)
    for row, left in zip(gpus, lefts, strict=True):
        row[: len(left.gpu_milli)] = left.gpu_milli
    return LeftOnNodesForExpectedDemand(
        np.array([left.cpu_milli for left in lefts], dtype=np.int64),
        np.array([left.memory_bytes for left in lefts], dtype=np.int64),
        gpus,
    )


def filled_gpu_milli_by_arrays(
    demand: ExpectedDemandArrays,
    open_: NDArray[np.bool_],
    rows: Indices,
    lefts: LeftOnNodesForExpectedDemand,
) -> Numbers:
    """Return what all streams together place on each of some nodes, in thousandths of a GPU.

    Args:
        demand: The demand.
        open_: open_[row, shape]: whether pods of the shape may come to nodes of the row.
        rows: The row of each node.
        lefts: What each node has left.

    """
    count = len(demand.streams)
    cpu = np.repeat(lefts.cpu_milli[:, np.newaxis], count, axis=1)
    memory = np.repeat(lefts.memory_bytes[:, np.newaxis], count, axis=1)
    # The GPUs stand ascending, so the last ones decide whether several have enough.
    left = np.repeat(np.sort(lefts.gpu_milli)[:, np.newaxis, :], count, axis=1)
    width, stream = left.shape[2], np.arange(count)
    gpu = np.arange(width)
    placed: Numbers = np.zeros(len(cpu), dtype=np.int64)
    looks_at_memory = bool(demand.memory_bytes.any())
    sizes = demand.gpus * demand.gpu_milli
    may = open_[rows]
    for shapes in demand.streams.T:
        wants, each, several = (
            of[shapes] for of in (demand.cpu_milli, demand.gpu_milli, demand.gpus)
        )
        last = np.clip(width - several, 0, width - 1)
        able = may[:, shapes] & (cpu >= wants) & (several <= width)
        able &= left[:, stream, last] >= each
        if looks_at_memory:
            able &= memory >= demand.memory_bytes[shapes]
        nodes, streams = able.nonzero()
        if not nodes.size:
            continue
        cpu -= wants * able
        if looks_at_memory:
            memory -= demand.memory_bytes[shapes] * able
        placed += np.add.reduce(sizes[shapes] * able, axis=1)
        has, part = left[nodes, streams], each[streams, np.newaxis]
        first = np.add.reduce(has < part, axis=1)[:, np.newaxis]
        has -= part * ((gpu >= first) & (gpu < first + several[streams, np.newaxis]))
        has.sort(axis=1)
        left[nodes, streams] = has
    return placed


def expected_shape_prices_given_left(
    demand: ExpectedDemand,
    nodes: NodesWithCachedFacts,
    lefts: Iterable[ResourcesLeftForExpectedPods],
) -> tuple[int, ...]:
    """Return the prices on nodes that have so much left."""
    rows = zip(admitted_shape_mask_of_each_node(demand, nodes), lefts, strict=True)
    return expected_shape_prices_by_arrays(demand, group_equal_left_nodes(rows))


def expected_shape_prices_by_arrays(
    demand: ExpectedDemand, nodes: Sequence[NodesAlikeForExpectedPods]
) -> tuple[int, ...]:
    """Return the prices that `expected_shape_prices` returns."""
    shapes = ExpectedDemandArrays.of(demand)
    cpu, memory, gpus = left_as_arrays([row.left for row in nodes])
    counts = np.array([row.nodes for row in nodes], dtype=np.int64)
    open_ = np.array([row.open for row in nodes], dtype=np.bool_).reshape(len(nodes), -1)
    idle = int((counts * np.add.reduce(gpus, axis=1)).sum())
    mean = int((np.array(demand.counts, dtype=np.int64) * shapes.gpus * shapes.gpu_milli).sum())
    # Shapes with parts of one size find as many of them.
    parts = {
        milli: np.add.reduce(gpus // milli, axis=1) for milli in {*shapes.gpu_milli.tolist()} - {0}
    }
    prices = []
    for k, (shape, count) in enumerate(zip(demand.shapes, demand.counts, strict=True)):
        if not shape.gpus:
            prices.append(0)  # Nobody pays for a place without GPUs.
            continue
        copies = parts[shape.gpu_milli] // shape.gpus
        if shape.cpu_milli:
            copies = np.minimum(copies, cpu // shape.cpu_milli)
        if shape.memory_bytes:
            copies = np.minimum(copies, memory // shape.memory_bytes)
        places = int((counts * copies * open_[:, k]).sum())
        prices.append(expected_shape_price(shape, count * idle, mean, places, idle))
    return tuple(prices)
