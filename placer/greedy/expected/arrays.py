"""Demand as arrays, and fills of many nodes at once by NumPy.

The numbers are those of `placer_models.expected`, and of `compiled_scores`, which Numba compiles.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from placer.greedy.columns import Indices, Numbers
from placer_models.demand import ExpectedDemand
from placer_models.expected import NodeLeft, NodesAlike, price_of, streams_of
from placer_models.records import record

_FULL = np.iinfo(np.int64).max
"""Stands for what is left of a GPU that a pod cannot have."""


@record(frozen=True, slots=True)
class DemandArrays:
    """The shapes of a demand, and its streams.

    Attributes:
        cpu_milli: cpu_milli[shape].
        gpu_milli: gpu_milli[shape]: of each of its GPUs.
        gpus: gpus[shape]: how many.
        streams: streams[stream, position]: index of a shape.

    """

    cpu_milli: Numbers
    gpu_milli: Numbers
    gpus: Numbers
    streams: Numbers

    @classmethod
    def of(cls, demand: ExpectedDemand) -> "DemandArrays":
        """Return the arrays of a demand."""
        shapes = demand.shapes
        streams = np.array(streams_of(demand), dtype=np.int64)
        return cls(
            np.array([shape.cpu_milli for shape in shapes], dtype=np.int64),
            np.array([shape.gpu_milli for shape in shapes], dtype=np.int64),
            np.array([shape.gpus for shape in shapes], dtype=np.int64),
            streams.reshape(-1, demand.length),
        )


def as_rows(lefts: Sequence[NodeLeft]) -> tuple[Numbers, Numbers]:
    """Return what nodes have left as columns: CPUs, and GPUs with zeros beyond those there are."""
    most = max((len(left.gpu_milli) for left in lefts), default=0)
    gpus: Numbers = np.zeros((len(lefts), max(1, most)), dtype=np.int64)
    for row, left in zip(gpus, lefts, strict=True):
        row[: len(left.gpu_milli)] = left.gpu_milli
    return np.array([left.cpu_milli for left in lefts], dtype=np.int64), gpus


def array_fills(
    demand: DemandArrays,
    open_: NDArray[np.bool_],
    rows: Indices,
    cpu_milli: Numbers,
    gpu_milli: Numbers,
) -> Numbers:
    """Return what all streams together place on each of some nodes, in thousandths of a GPU.

    Args:
        demand: The demand.
        open_: open_[row, shape]: whether pods of the shape may come to nodes of the row.
        rows: The row of each node.
        cpu_milli: What each node has left.
        gpu_milli: gpu_milli[node, gpu]: what is left of each of its GPUs, in any order.

    """
    count = len(demand.streams)
    cpu = np.repeat(cpu_milli[:, np.newaxis], count, axis=1)
    left = np.repeat(gpu_milli[:, np.newaxis, :], count, axis=1)
    placed: Numbers = np.zeros(len(cpu_milli), dtype=np.int64)
    sizes = demand.gpus * demand.gpu_milli
    for shapes in demand.streams.T:
        wants, each, several = (
            of[shapes] for of in (demand.cpu_milli, demand.gpu_milli, demand.gpus)
        )
        fits = left >= each[:, np.newaxis]
        able = open_[rows][:, shapes] & (cpu >= wants)
        able &= np.add.reduce(fits, axis=2) >= several
        if not able.any():
            continue
        cpu -= wants * able
        placed += np.add.reduce(sizes[shapes] * able, axis=1)
        room = np.where(fits, left, _FULL)
        for number in range(int(several.max())):
            nodes, streams = (able & (several > number)).nonzero()
            gpus = room[nodes, streams].argmin(axis=1)
            left[nodes, streams, gpus] -= each[streams]
            room[nodes, streams, gpus] = _FULL
    return placed


def array_prices(demand: ExpectedDemand, nodes: Sequence[NodesAlike]) -> tuple[int, ...]:
    """Return the prices that `prices_of` returns."""
    shapes = DemandArrays.of(demand)
    cpu, gpus = as_rows([row.left for row in nodes])
    counts = np.array([row.nodes for row in nodes], dtype=np.int64)
    open_ = np.array([row.open for row in nodes], dtype=np.bool_).reshape(len(nodes), -1)
    idle = int((counts * np.add.reduce(gpus, axis=1)).sum())
    mean = int((np.array(demand.counts, dtype=np.int64) * shapes.gpus * shapes.gpu_milli).sum())
    prices = []
    for k, (shape, count) in enumerate(zip(demand.shapes, demand.counts, strict=True)):
        if not shape.gpus:
            prices.append(0)  # Nobody pays for a place without GPUs.
            continue
        copies = np.add.reduce(gpus // shape.gpu_milli, axis=1) // shape.gpus
        if shape.cpu_milli:
            copies = np.minimum(copies, cpu // shape.cpu_milli)
        places = int((counts * copies * open_[:, k]).sum())
        prices.append(price_of(shape, count * idle, mean, places, idle))
    return tuple(prices)
