"""Operators and edges by index, and the order in which data visits the operators."""

from collections.abc import Sequence
from dataclasses import dataclass

from placer.slots.graph import (
    EdgeExchangeMode,
    EdgePartitioningStrategy,
    JobExecutionMode,
    JobGraph,
    Operator,
    OperatorEdge,
    SlotResourceSemantics,
)


@dataclass(frozen=True, slots=True)
class IndexedJobEdge:
    """An edge with all that the job's defaults add to it."""

    producer: int
    consumer: int
    partition: EdgePartitioningStrategy
    exchange: EdgeExchangeMode


@dataclass(frozen=True, slots=True)
class IndexedJobGraph:
    """A job graph by index; its edges name known operators.

    Attributes:
        wires: As the edges stand in the job.
        inputs: For each operator the wires into it, in the order of the edges.
        order: Operators, producers before consumers, else in the job's order; those on a
            cycle, and behind one, are missing.

    """

    wires: tuple[IndexedJobEdge, ...]
    inputs: tuple[tuple[int, ...], ...]
    order: tuple[int, ...]


def index_job_graph(job: JobGraph) -> IndexedJobGraph:
    """Return the job by index."""
    index = {operator.name: i for i, operator in enumerate(job.operators)}
    wires = tuple(
        IndexedJobEdge(
            index[edge.producer],
            index[edge.consumer],
            edge_partitioning_of(
                edge, job.operators[index[edge.producer]], job.operators[index[edge.consumer]]
            ),
            edge_exchange_mode_of(edge, job),
        )
        for edge in job.edges
    )
    inputs: list[list[int]] = [[] for _ in job.operators]
    for number, wire in enumerate(wires):
        inputs[wire.consumer].append(number)
    return IndexedJobGraph(wires, tuple(map(tuple, inputs)), _order(len(job.operators), wires))


def edge_partitioning_of(
    edge: OperatorEdge, producer: Operator, consumer: Operator
) -> EdgePartitioningStrategy:
    """Return the edge's partition, or what it is where nothing is said."""
    if edge.partition is not None:
        return edge.partition
    same = producer.parallelism == consumer.parallelism
    return EdgePartitioningStrategy.FORWARD if same else EdgePartitioningStrategy.REBALANCE


def edge_exchange_mode_of(edge: OperatorEdge, job: JobGraph) -> EdgeExchangeMode:
    """Return the exchange that the edge asks for; it may be undefined still.

    Later releases reset a blocking exchange in a streaming job without a word.
    """
    resets = (
        job.semantics is SlotResourceSemantics.FLIP_141 and job.mode is JobExecutionMode.STREAMING
    )
    if resets and edge.exchange is EdgeExchangeMode.BLOCKING:
        return EdgeExchangeMode.UNDEFINED
    return edge.exchange


def _order(operators: int, wires: Sequence[IndexedJobEdge]) -> tuple[int, ...]:
    consumers: list[list[int]] = [[] for _ in range(operators)]
    waits_for = [0] * operators
    for wire in wires:
        consumers[wire.producer].append(wire.consumer)
        waits_for[wire.consumer] += 1
    order = [i for i in range(operators) if not waits_for[i]]
    for producer in order:
        for consumer in consumers[producer]:
            waits_for[consumer] -= 1
            if not waits_for[consumer]:
                order.append(consumer)
    return tuple(order)
