"""Chains: operators that run as one task, and the group that each belongs to by name."""

from collections.abc import Sequence

from placer.slots.graph import (
    DEFAULT_GROUP,
    EdgeExchangeMode,
    EdgePartitioningStrategy,
    JobGraph,
    OperatorChainingMode,
)
from placer.slots.wiring import IndexedJobGraph


def slot_sharing_group_by_operator(job: JobGraph, wiring: IndexedJobGraph) -> tuple[str, ...]:
    """Return each operator's slot sharing group by name.

    An operator that names none takes the group that all its inputs share, else the
    default group; so does a source.
    """
    names = [""] * len(job.operators)
    for i in wiring.order:
        inherited = {names[wiring.wires[wire].producer] for wire in wiring.inputs[i]}
        own = job.operators[i].group
        names[i] = own or (inherited.pop() if len(inherited) == 1 else DEFAULT_GROUP)
    return tuple(names)


def operator_chains(
    job: JobGraph, wiring: IndexedJobGraph, names: Sequence[str]
) -> tuple[tuple[int, ...], ...]:
    """Return the chains, each as its operators, in the order of the data.

    An operator joins the chain before it if that is its only input, a forward edge that
    does not block, of equal parallelism, inside one group, and both operators agree.
    """
    chains: list[list[int]] = []
    chain_of: dict[int, int] = {}
    for i in wiring.order:
        producer = _joined_to(i, job, wiring, names)
        if producer is None:
            chain_of[i] = len(chains)
            chains.append([i])
        else:
            chain_of[i] = chain_of[producer]
            chains[chain_of[i]].append(i)
    return tuple(map(tuple, chains))


def _joined_to(i: int, job: JobGraph, wiring: IndexedJobGraph, names: Sequence[str]) -> int | None:
    if len(wiring.inputs[i]) != 1 or job.operators[i].chaining is not OperatorChainingMode.ALWAYS:
        return None
    wire = wiring.wires[wiring.inputs[i][0]]
    # A forward edge has the same parallelism at both ends, so that is not asked again.
    joins = (
        job.operators[wire.producer].chaining is not OperatorChainingMode.NEVER
        and wire.partition is EdgePartitioningStrategy.FORWARD
        and wire.exchange is not EdgeExchangeMode.BLOCKING
        and names[wire.producer] == names[i]
    )
    return wire.producer if joins else None
