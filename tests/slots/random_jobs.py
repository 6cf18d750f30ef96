"""Random job graphs for property tests."""

from hypothesis import strategies as st

from placer.slots.graph import (
    EdgeExchangeMode,
    EdgePartitioningStrategy,
    JobExecutionMode,
    JobGraph,
    ManagedMemoryShare,
    Operator,
    OperatorChainingMode,
    OperatorEdge,
    SlotSharingGroup,
)
from placer.slots.resources import UNKNOWN, SlotResourceAmounts

GROUPS = ("g1", "g2")


@st.composite
def job_graphs(draw: st.DrawFn, *, known: bool | None = None) -> JobGraph:
    """Draw a job of up to nine operators that compiles under flip-53."""
    known = draw(st.booleans()) if known is None else known
    size = draw(st.integers(1, 9))
    operators = tuple(_operator(draw, f"op{i}", known) for i in range(size))
    edges = []
    for consumer in range(1, size):
        for producer in draw(st.lists(st.integers(0, consumer - 1), max_size=3)):
            edges.append(_edge(draw, operators[producer], operators[consumer]))
    return JobGraph(
        operators,
        tuple(edges),
        mode=draw(st.sampled_from(JobExecutionMode)),
        one_default_group=draw(st.sampled_from([None, True, False])),
        groups=tuple(map(SlotSharingGroup, GROUPS)),
    )


def _operator(draw: st.DrawFn, name: str, known: bool) -> Operator:
    # Few values, so that zeros and equals are frequent.
    amount = st.sampled_from([0, 1, 3, 7, 100, 2**30])
    return Operator(
        name,
        draw(st.sampled_from([1, 2, 3])),
        draw(st.sampled_from([None, None, "default", *GROUPS])),
        draw(
            st.sampled_from(
                [
                    OperatorChainingMode.ALWAYS,
                    OperatorChainingMode.ALWAYS,
                    OperatorChainingMode.HEAD,
                    OperatorChainingMode.NEVER,
                ]
            )
        ),
        resources=SlotResourceAmounts(1, 1, 0, draw(amount), draw(amount)) if known else UNKNOWN,
        on_heap=ManagedMemoryShare() if known else ManagedMemoryShare(draw(amount)),
        off_heap=ManagedMemoryShare() if known else ManagedMemoryShare(draw(amount)),
    )


def _edge(draw: st.DrawFn, producer: Operator, consumer: Operator) -> OperatorEdge:
    partitions = [None, EdgePartitioningStrategy.HASH, EdgePartitioningStrategy.RESCALE]
    exchanges = [EdgeExchangeMode.UNDEFINED, EdgeExchangeMode.PIPELINED, EdgeExchangeMode.BLOCKING]
    return OperatorEdge(
        producer.name,
        consumer.name,
        draw(st.sampled_from(partitions)),
        draw(st.sampled_from(exchanges)),
    )
