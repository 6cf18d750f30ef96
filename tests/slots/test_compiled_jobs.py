"""Small jobs whose chains, regions, groups, network and fractions one can follow by hand."""

from dataclasses import replace
from decimal import Decimal
from itertools import pairwise

import pytest

from placer.slots.compiled import CompiledDataflowJob, EdgeBetweenChains, OperatorMemoryFractions
from placer.slots.compiler import compile_job
from placer.slots.graph import (
    EdgeExchangeMode,
    EdgePartitioningStrategy,
    JobExecutionMode,
    JobGraph,
    ManagedMemoryShare,
    ManagedMemoryUseCase,
    NetworkBufferSettings,
    Operator,
    OperatorChainingMode,
    OperatorEdge,
    SlotResourceSemantics,
    SlotSharingGroup,
)
from placer.slots.network_memory import network_memory_of_chains
from placer.slots.resources import UNKNOWN, SlotResourceAmounts

PIPELINED, BLOCKING = EdgeExchangeMode.PIPELINED, EdgeExchangeMode.BLOCKING


def chains(job: CompiledDataflowJob) -> list[list[str]]:
    return [[job.operators[i] for i in chain.operators] for chain in job.chains]


def kinds(job: CompiledDataflowJob) -> list[tuple[float, float]]:
    return [
        (float(f.on_heap), float(f.off_heap))
        for f in job.fractions
        if isinstance(f, OperatorMemoryFractions)
    ]


def line(*operators: Operator, exchange: EdgeExchangeMode = PIPELINED) -> JobGraph:
    """Return a job whose operators read one from another."""
    edges = (OperatorEdge(a.name, b.name, exchange=exchange) for a, b in pairwise(operators))
    return JobGraph(operators, tuple(edges), groups=(SlotSharingGroup("g"), SlotSharingGroup("h")))


A, B, C = Operator("a"), Operator("b"), Operator("c")


@pytest.mark.parametrize(
    ("middle", "expected"),
    [
        (B, [["a", "b", "c"]]),
        (Operator("b", parallelism=2), [["a"], ["b"], ["c"]]),
        (Operator("b", chaining=OperatorChainingMode.HEAD), [["a"], ["b", "c"]]),
        (Operator("b", chaining=OperatorChainingMode.NEVER), [["a"], ["b"], ["c"]]),
        (Operator("b", group="g"), [["a"], ["b", "c"]]),
        (Operator("b", group="default"), [["a", "b", "c"]]),
    ],
)
def test_what_breaks_a_chain(middle: Operator, expected: list[list[str]]) -> None:
    """
    Of a, b and c in a line: other parallelism, other group, or b that does not want to.
    """
    assert chains(compile_job(line(A, middle, C))) == expected


@pytest.mark.parametrize(
    ("edge", "expected"),
    [
        (OperatorEdge("a", "b", EdgePartitioningStrategy.FORWARD), [["a", "b"]]),
        (OperatorEdge("a", "b", EdgePartitioningStrategy.HASH), [["a"], ["b"]]),
        (OperatorEdge("a", "b", EdgePartitioningStrategy.RESCALE), [["a"], ["b"]]),
        (OperatorEdge("a", "b", exchange=BLOCKING), [["a"], ["b"]]),
        (OperatorEdge("a", "b", exchange=EdgeExchangeMode.HYBRID_FULL), [["a", "b"]]),
    ],
)
def test_which_edges_chain(edge: OperatorEdge, expected: list[list[str]]) -> None:
    """
    A forward edge that does not block, and no other (F1).
    """
    assert chains(compile_job(JobGraph((A, B), (edge,)))) == expected


def test_an_operator_of_two_inputs_heads_a_chain() -> None:
    """
    A join starts a task of its own, even if it reads the same operator twice.
    """
    twice = JobGraph(
        (A, B, C), (OperatorEdge("a", "b"), OperatorEdge("a", "b"), OperatorEdge("b", "c"))
    )

    assert chains(compile_job(twice)) == [["a"], ["b", "c"]]


def test_a_chain_may_branch() -> None:
    """
    Two operators that read one source forward run in its task, both.
    """
    job = compile_job(JobGraph((A, B, C), (OperatorEdge("a", "b"), OperatorEdge("a", "c"))))

    assert chains(job) == [["a", "b", "c"]]
    assert job.links == ()


def test_groups_are_inherited_where_inputs_agree() -> None:
    """
    From one group in, the same group out; from two, the default one.
    """
    job = JobGraph(
        (
            Operator("a", group="g"),
            Operator("b", group="h"),
            Operator("one"),
            Operator("both"),
            Operator("after", group="default"),
        ),
        (
            OperatorEdge("a", "one"),
            OperatorEdge("one", "both"),
            OperatorEdge("b", "both"),
            OperatorEdge("one", "after"),
        ),
        groups=(SlotSharingGroup("g"), SlotSharingGroup("h")),
    )

    compiled = compile_job(job)

    names = [compiled.chains[chain].group_name for chain in compiled.chain_of]
    assert names == ["g", "h", "g", "default", "default"]


def components(together: bool, mode: JobExecutionMode = JobExecutionMode.STREAMING) -> JobGraph:
    """Return two components, of parallelism 4 and 2, and 3 and 5."""
    return JobGraph(
        tuple(Operator(n, p) for n, p in (("a", 4), ("b", 2), ("c", 3), ("d", 5))),
        (OperatorEdge("a", "b"), OperatorEdge("c", "d")),
        one_default_group=together,
        mode=mode,
    )


def test_components_together_need_the_largest_parallelism() -> None:
    """
    {4, 2} and {3, 5} in one default group: 5 slots, in whatever order (F16, F17).
    """
    job = compile_job(components(together=True))

    assert [group.slots for group in job.groups] == [5]
    assert (job.slots_needed, job.slots_at_once, job.slots_in_turn) == (5, 5, 5)


def test_components_apart_need_the_sum_if_they_run_at_once() -> None:
    """
    4 + 5 slots for a stream, which has no end; 5 for a batch, one part after the other.
    """
    assert compile_job(components(together=False)).slots_needed == 9
    assert compile_job(components(together=False, mode=JobExecutionMode.BATCH)).slots_needed == 5


def test_what_nobody_says_is_one_group_of_default_slots() -> None:
    """
    A plain streaming job is what it always was: one group, slots of unknown size (F22).
    """
    job = compile_job(line(A, B, C))

    assert [(g.name, g.slots, g.slot) for g in job.groups] == [("default", 1, UNKNOWN)]
    assert kinds(job) == [(0, 0)] * 3


def test_blocking_edges_cut_a_batch_job_into_regions_with_groups() -> None:
    """
    Each region has a group of its own, so its operators share the slot only with those
    that run at the same time (F13, F14).
    """
    sorts = [Operator(name, off_heap=ManagedMemoryShare(1)) for name in ("a", "b", "c")]
    graph = replace(line(*sorts, exchange=BLOCKING), mode=JobExecutionMode.BATCH)

    job = compile_job(graph)

    assert [group.name for group in job.groups] == ["default[0]", "default[1]", "default[2]"]
    assert kinds(job) == [(0, 1)] * 3
    together = compile_job(replace(graph, one_default_group=True))
    assert [group.name for group in together.groups] == ["default"]
    assert len(together.regions) == 3
    assert kinds(together) == [(0, 0.3333333333333333)] * 3


def test_later_releases_let_streams_block_nowhere() -> None:
    """
    The same edge cuts a stream under flip-53, and is pipelined under flip-141.
    """
    graph = line(A, replace(B, parallelism=2), exchange=BLOCKING)

    assert len(compile_job(graph).regions) == 2
    later = compile_job(replace(graph, semantics=SlotResourceSemantics.FLIP_141))
    assert [link.exchange for link in later.links] == [PIPELINED]


def test_regions_that_wait_for_one_another_are_one_gang() -> None:
    """
    {s, j} reads l, which reads s: reported with its links, and scheduled together (F21).
    """
    source, sort, join = (Operator(name, 2) for name in "slj")
    graph = JobGraph(
        (source, sort, join),
        (
            OperatorEdge("s", "j", EdgePartitioningStrategy.HASH, PIPELINED),
            OperatorEdge("s", "l", EdgePartitioningStrategy.HASH, BLOCKING),
            OperatorEdge("l", "j", EdgePartitioningStrategy.HASH, BLOCKING),
        ),
        mode=JobExecutionMode.BATCH,
    )

    job = compile_job(graph)

    assert [cycle.regions for cycle in job.cycles] == [(0, 1)]
    assert [job.links[i].exchange for i in job.cycles[0].links] == [BLOCKING, BLOCKING]
    assert [(gang.regions, gang.slots, gang.width) for gang in job.gangs] == [
        ((0, 1), ((0, 2), (1, 2)), 4)
    ]


def test_a_region_may_wait_for_itself() -> None:
    """
    Two ways from a to b, one of which blocks: the ends start together, so b waits in vain.
    """
    graph = JobGraph(
        (A, B),
        (
            OperatorEdge("a", "b", EdgePartitioningStrategy.HASH, PIPELINED),
            OperatorEdge("a", "b", exchange=BLOCKING),
        ),
    )

    assert [cycle.regions for cycle in compile_job(graph).cycles] == [(0,)]


def test_a_hybrid_exchange_neither_joins_regions_nor_makes_them_wait() -> None:
    """
    The consumer may start now or later, so nothing can deadlock.
    """
    graph = JobGraph(
        (A, B),
        (OperatorEdge("a", "b", EdgePartitioningStrategy.HASH, EdgeExchangeMode.HYBRID_FULL),),
        mode=JobExecutionMode.BATCH,
    )

    job = compile_job(graph)

    assert (len(job.regions), len(job.gangs), job.cycles) == (2, 2, ())


def test_what_is_read_through_a_hybrid_exchange_is_not_waited_for() -> None:
    """
    {a, c} waits for b, and b reads a through a hybrid exchange: no cycle, and b goes first.
    """
    graph = JobGraph(
        (A, B, C),
        (
            OperatorEdge("a", "c", EdgePartitioningStrategy.HASH, PIPELINED),
            OperatorEdge("a", "b", EdgePartitioningStrategy.HASH, EdgeExchangeMode.HYBRID_FULL),
            OperatorEdge("b", "c", EdgePartitioningStrategy.HASH, BLOCKING),
        ),
        mode=JobExecutionMode.BATCH,
    )

    job = compile_job(graph)

    assert job.cycles == ()
    assert [gang.regions for gang in job.gangs] == [(1,), (0,)]


def test_a_known_slot_is_the_sum_of_its_tasks_and_their_network() -> None:
    """
    Chained operators merge; tasks of one slot add up; each task has buffers (F5, F19).
    """
    needs = SlotResourceAmounts(10**8, 100, 0, 0, 10)
    graph = line(
        replace(A, parallelism=2, resources=needs),
        replace(B, parallelism=2, resources=needs),
        replace(C, parallelism=1, resources=needs),
    )

    job = compile_job(graph)

    assert [chain.requirement for chain in job.chains] == [
        SlotResourceAmounts(2 * 10**8, 200, 0, 0, 20),
        needs,
    ]
    buffers = [2 * 1 + 8, 2 * 2 + 8]
    assert [chain.task for chain in job.chains] == [
        SlotResourceAmounts(2 * 10**8, 200, 0, 0, 20, buffers[0] * 32768),
        replace(needs, network_bytes=buffers[1] * 32768),
    ]
    assert job.groups[0].requirement == SlotResourceAmounts(3 * 10**8, 300, 0, 0, 30)
    assert job.requests[0].profile == SlotResourceAmounts(
        3 * 10**8, 300, 0, 0, 30, sum(buffers) * 32768
    )
    assert kinds(job) == [(0, 0.3333333333333333)] * 3


@pytest.mark.parametrize(
    ("partition", "exchange", "up", "down"),
    [
        (EdgePartitioningStrategy.FORWARD, PIPELINED, 10, 10),
        (EdgePartitioningStrategy.HASH, PIPELINED, 3 * 2 + 8, 7 * 2 + 8),
        (EdgePartitioningStrategy.BROADCAST, BLOCKING, 3 + 1, 7 * 2 + 8),
        (EdgePartitioningStrategy.RESCALE, PIPELINED, 1 * 2 + 8, 3 * 2 + 8),
        (EdgePartitioningStrategy.RESCALE, BLOCKING, 1 + 1, 3 * 2 + 8),
        (EdgePartitioningStrategy.HASH, EdgeExchangeMode.HYBRID_FULL, 3 * 2 + 8, 7 * 2 + 8),
    ],
)
def test_network_memory_follows_from_channels(
    partition: EdgePartitioningStrategy, exchange: EdgeExchangeMode, up: int, down: int
) -> None:
    """
    From 7 subtasks to 3: channels of one reader, subpartitions of one writer (F2).
    """
    found = network_memory_of_chains(
        [EdgeBetweenChains(0, 1, partition, exchange)],
        [7, 3],
        NetworkBufferSettings(buffer_bytes=1),
    )

    assert found == [up, down]


def test_own_fractions_pass_through_and_leave_the_rest() -> None:
    """
    0.4 stays 0.4; weights 2 and 1 share the 0.6 that are left (F25, F8).
    """
    job = compile_job(
        line(
            replace(A, off_heap=ManagedMemoryShare(fraction=Decimal("0.4"))),
            replace(B, off_heap=ManagedMemoryShare(2)),
            replace(
                C, off_heap=ManagedMemoryShare(1), on_heap=ManagedMemoryShare(fraction=Decimal(1))
            ),
        )
    )

    assert kinds(job) == [(0, 0.4), (0, 0.4), (1, 0.2)]


def test_groups_own_resources_under_flip_141() -> None:
    """
    The slot is what its group says, whatever its operators do.
    """
    slot = SlotResourceAmounts(10**8, 100, extended_e8=(("gpu", 10**8),))
    graph = JobGraph(
        (
            Operator("a", 3),
            Operator("b", 2, slot_use_cases=frozenset([ManagedMemoryUseCase.PYTHON])),
        ),
        (OperatorEdge("a", "b"),),
        semantics=SlotResourceSemantics.FLIP_141,
        groups=(SlotSharingGroup("default", slot),),
    )

    job = compile_job(graph)

    assert [(r.count, r.profile) for r in job.requests] == [(3, slot)]


def test_a_deep_job_is_no_matter() -> None:
    """
    5,000 regions in a row are ordered without recursion.
    """
    operators = [Operator(f"op{i}") for i in range(5000)]
    graph = replace(line(*operators, exchange=BLOCKING), mode=JobExecutionMode.BATCH)

    job = compile_job(graph)

    assert [gang.regions for gang in job.gangs] == [(i,) for i in range(5000)]
