"""Checks of a job graph that hold whatever its semantics makes of it."""

import re
from collections.abc import Iterator

from placer.slots.errors import JobGraphFault
from placer.slots.graph import (
    DEFAULT_GROUP,
    EdgeExchangeMode,
    EdgePartitioningStrategy,
    JobExecutionMode,
    JobGraph,
    ManagedMemoryShare,
    ManagedMemoryUseCase,
    Operator,
    SlotResourceSemantics,
)
from placer.slots.resources import ANY, UNKNOWN, SlotResourceAmounts
from placer.slots.wiring import index_job_graph
from placer_models.files.tree import Path
from placer_models.message_text import in_quotes

MAX_PARALLELISM = 1_000_000
MAX_WEIGHT = 2**31 - 1
_OF_A_REGION = re.compile(rf"{DEFAULT_GROUP}\[[0-9]+\]")
_SHOWN_NAMES = 8
"""Longest cycle that a message spells out."""


def job_graph_faults(job: JobGraph) -> Iterator[JobGraphFault]:
    """Yield what is wrong with a job graph."""
    if not job.operators:
        yield JobGraphFault(("operators",), "is empty; a job has at least one operator")
    yield from _settings(job)
    yield from _names(job)
    for i, operator in enumerate(job.operators):
        for fault in _operator(job, operator):
            yield fault._replace(path=("operators", i, *fault.path))
    broken = [*_ends(job), *_forwards(job)]
    yield from broken
    if not broken and len({o.name for o in job.operators}) == len(job.operators):
        yield from _cycles(job)


def _settings(job: JobGraph) -> Iterator[JobGraphFault]:
    if job.default_exchange is EdgeExchangeMode.UNDEFINED:
        yield JobGraphFault(("defaultExchange",), "got 'undefined'; expected what undefined means")
    later = job.semantics is SlotResourceSemantics.FLIP_141
    if (
        later
        and job.mode is JobExecutionMode.STREAMING
        and job.default_exchange is EdgeExchangeMode.BLOCKING
    ):
        yield JobGraphFault(
            ("defaultExchange",),
            "got 'blocking'; a streaming job under flip-141 exchanges nothing that way: "
            "write 'mode: batch', or leave it out",
        )
    for use_case, weight in job.consumer_weights:
        yield from _weight(("consumerWeights", use_case.value), weight)
    for name, amount in (
        ("bufferSize", job.network.buffer_bytes),
        ("buffersPerChannel", job.network.buffers_per_channel),
        ("floatingBuffers", job.network.floating_buffers),
    ):
        if amount < 0:
            yield JobGraphFault(("network", name), f"got {amount}; expected 0 or more")


def _names(job: JobGraph) -> Iterator[JobGraphFault]:
    for kind, names in (
        ("operators", [operator.name for operator in job.operators]),
        ("slotSharingGroups", [group.name for group in job.groups]),
    ):
        first: dict[str, int] = {}
        for i, name in enumerate(names):
            if first.setdefault(name, i) != i:
                yield JobGraphFault(
                    (kind, i, "name"),
                    f"{in_quotes(name)} is the name of {kind}[{first[name]}] already; rename one",
                )
    for i, group in enumerate(job.groups):
        yield from _name(("slotSharingGroups", i), group.name)
        if _OF_A_REGION.fullmatch(group.name):
            yield JobGraphFault(
                ("slotSharingGroups", i),
                f"{in_quotes(group.name)} is what the default group of a region is called; "
                "rename it",
            )
        if group.resources is None:
            continue
        if job.semantics is SlotResourceSemantics.FLIP_53:
            yield JobGraphFault(
                ("slotSharingGroups", i, "resources"),
                "belongs to 'semantics: flip-141'; under flip-53 operators have resources",
            )
        elif not group.resources.cpu_e8 or not group.resources.heap_bytes:
            yield JobGraphFault(
                ("slotSharingGroups", i, "resources"),
                "cpu and heap are more than 0 where a group has resources",
            )


def _operator(job: JobGraph, operator: Operator) -> Iterator[JobGraphFault]:
    yield from _name(("name",), operator.name)
    if not 1 <= operator.parallelism <= MAX_PARALLELISM:
        yield JobGraphFault(
            ("parallelism",), f"got {operator.parallelism}; expected 1 to {MAX_PARALLELISM:,}"
        )
    known = (DEFAULT_GROUP, *(group.name for group in job.groups))
    if operator.group is not None and operator.group not in known:
        yield JobGraphFault(
            ("group",),
            f"no slot sharing group is called {in_quotes(operator.group)}; "
            "name it under slotSharingGroups",
            operator.group,
            known,
        )
    if operator.resources is ANY:
        yield JobGraphFault(("resources",), "got ANY; expected amounts, or nothing at all")
    if isinstance(operator.resources, SlotResourceAmounts) and operator.resources.network_bytes:
        yield JobGraphFault(
            ("resources",), "states network memory; it is derived from the edges: leave it out"
        )
    yield from _managed(job, operator)


def _name(path: Path, name: str) -> Iterator[JobGraphFault]:
    if not name.strip() or not name.isprintable():
        yield JobGraphFault(path, f"got {in_quotes(name)}; expected text that shows")


def _managed(job: JobGraph, operator: Operator) -> Iterator[JobGraphFault]:
    for name, share in (("onHeap", operator.on_heap), ("offHeap", operator.off_heap)):
        for fault in _share(share, operator):
            yield fault._replace(path=("managed", name, *fault.path))
    yield from _weight(("managed", ManagedMemoryUseCase.OPERATOR.value), operator.operator_weight)
    if ManagedMemoryUseCase.OPERATOR in operator.slot_use_cases:
        yield JobGraphFault(
            ("managed", ManagedMemoryUseCase.OPERATOR.value),
            "is no pool of the slot; give its weight, such as 1",
        )
    by_kind = operator.on_heap != ManagedMemoryShare() or operator.off_heap != ManagedMemoryShare()
    by_use = operator.operator_weight or operator.slot_use_cases
    if job.semantics is SlotResourceSemantics.FLIP_53 and by_use:
        yield JobGraphFault(("managed",), "names use cases; they belong to 'semantics: flip-141'")
    if job.semantics is SlotResourceSemantics.FLIP_141 and by_kind:
        yield JobGraphFault(
            ("managed",), "names onHeap or offHeap; they belong to 'semantics: flip-53'"
        )
    if job.semantics is SlotResourceSemantics.FLIP_141 and operator.resources is not UNKNOWN:
        yield JobGraphFault(
            ("resources",),
            "belongs to 'semantics: flip-53'; under flip-141 slot sharing groups have resources",
        )


def _share(share: ManagedMemoryShare, operator: Operator) -> Iterator[JobGraphFault]:
    yield from _weight(("weight",), share.weight)
    if share.fraction is not None and not 0 <= share.fraction <= 1:
        yield JobGraphFault(("fraction",), f"got {share.fraction}; a fraction of a slot is 0 to 1")
    if share.weight and share.fraction is not None:
        yield JobGraphFault((), "has a weight and a fraction; give one of them")
    elif share != ManagedMemoryShare() and operator.resources is not UNKNOWN:
        yield JobGraphFault(
            (),
            f"{in_quotes(operator.name)} has resources too, "
            "which settle its fraction; delete one of them",
        )


def _weight(path: tuple[str, ...], weight: int) -> Iterator[JobGraphFault]:
    if not 0 <= weight <= MAX_WEIGHT:
        yield JobGraphFault(path, f"got {weight}; a weight is 0 to {MAX_WEIGHT}")


def _ends(job: JobGraph) -> Iterator[JobGraphFault]:
    """Yield edges from or to nowhere."""
    # A dict for its order: messages name operators as the file does.
    names = {operator.name: None for operator in job.operators}
    for i, edge in enumerate(job.edges):
        for field, role, name in (
            ("from", "produces it", edge.producer),
            ("to", "consumes it", edge.consumer),
        ):
            if name not in names:
                yield JobGraphFault(
                    ("edges", i, field),
                    f"no operator is called {in_quotes(name)}, so nobody {role}",
                    name,
                    tuple(names),
                )


def _forwards(job: JobGraph) -> Iterator[JobGraphFault]:
    parallelism = {operator.name: operator.parallelism for operator in job.operators}
    for i, edge in enumerate(job.edges):
        here, there = parallelism.get(edge.producer), parallelism.get(edge.consumer)
        unequal = here is not None and there is not None and here != there
        if edge.partition is EdgePartitioningStrategy.FORWARD and unequal:
            yield JobGraphFault(
                ("edges", i, "partition"),
                f"got 'forward' from {in_quotes(edge.producer)} ({here} subtasks) to "
                f"{in_quotes(edge.consumer)} ({there}); forward needs as many on both sides: "
                "write rebalance or rescale",
            )


def _cycles(job: JobGraph) -> Iterator[JobGraphFault]:
    """Yield the first cycle found, at the edge that closes it."""
    wiring = index_job_graph(job)
    on_cycle = set(range(len(job.operators))) - set(wiring.order)
    if not on_cycle:
        return
    # Whoever is left waits for another who is left: walk upstream until one comes again.
    came_by: dict[int, int] = {}
    here = min(on_cycle)
    while here not in came_by:
        came_by[here] = next(w for w in wiring.inputs[here] if wiring.wires[w].producer in on_cycle)
        here = wiring.wires[came_by[here]].producer
    path = [came_by[here]]
    while wiring.wires[path[-1]].producer != here:
        path.append(came_by[wiring.wires[path[-1]].producer])
    names = [job.operators[wiring.wires[wire].consumer].name for wire in path]
    names = [names[0], *reversed(names)]
    if len(names) > _SHOWN_NAMES:
        names = [*names[: _SHOWN_NAMES - 1], "…", names[-1]]
    cycle = " -> ".join(names)
    yield JobGraphFault(
        ("edges", max(path)), f"closes a cycle: {cycle}; data flows one way, delete an edge"
    )
