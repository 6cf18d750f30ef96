"""What holds for every job: fractions, groups, gangs and slots (F6 to F19, F21, F23)."""

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from placer.slots.compiled import CompiledDataflowJob, OperatorMemoryFractions
from placer.slots.compiler import compile_job
from placer.slots.graph import (
    EdgeExchangeMode,
    JobExecutionMode,
    JobGraph,
    ManagedMemoryShare,
    Operator,
    OperatorEdge,
    SlotSharingGroup,
)
from placer.slots.resources import UNKNOWN, SlotResourceAmounts, merge_all_resource_profiles
from placer.slots.slot_memory import SlotManagedMemory
from slots.random_jobs import job_graphs

LAST_PLACE = Decimal("1e-16")


def members(job: CompiledDataflowJob, group: int) -> list[int]:
    """Return the operators of a group."""
    return [o for chain in job.groups[group].chains for o in job.chains[chain].operators]


def kinds(job: CompiledDataflowJob, operator: int) -> tuple[Decimal, Decimal]:
    """Return an operator's fractions of both kinds."""
    fractions = job.fractions[operator]
    assert isinstance(fractions, OperatorMemoryFractions)
    return fractions.on_heap, fractions.off_heap


def uses(operator: Operator) -> tuple[int, int]:
    """Return what an operator says of its managed memory, of both kinds."""
    needs = operator.resources
    if isinstance(needs, SlotResourceAmounts):
        return needs.managed_on_heap_bytes, needs.managed_off_heap_bytes
    return operator.on_heap.weight, operator.off_heap.weight


@given(job_graphs())
def test_fractions_of_a_group_come_to_one(graph: JobGraph) -> None:
    """
    Never above 1, and at most a last place below it for each user; 0 without users (F9).
    """
    job = compile_job(graph)

    for group in range(len(job.groups)):
        found = members(job, group)
        for kind in (0, 1):
            total = sum((kinds(job, i)[kind] for i in found), Decimal(0))
            users = [i for i in found if uses(graph.operators[i])[kind]]
            assert total <= 1
            assert total >= (1 - len(users) * LAST_PLACE if users else 0)
            assert all((kinds(job, i)[kind] > 0) == (i in users) for i in found if len(users) == 1)
            assert not any(kinds(job, i)[kind] for i in found if i not in users)


@given(job_graphs())
def test_a_fraction_is_the_part_of_its_group(graph: JobGraph) -> None:
    """
    Of what the group's operators need (F6), or of their weights (F8): alike ones have 1/n
    each (F7). Cut after 16 places; 0 of nothing is 0.
    """
    job = compile_job(graph)

    for group in range(len(job.groups)):
        found = members(job, group)
        for kind in (0, 1):
            parts = {i: uses(graph.operators[i])[kind] for i in found}
            whole = sum(parts.values())
            for i, part in parts.items():
                exact = Fraction(part, whole) if whole else Fraction(0)
                assert 0 <= exact - Fraction(kinds(job, i)[kind]) < Fraction(LAST_PLACE)
            users = [part for part in parts.values() if part]
            if len(set(users)) == 1:
                cut = Decimal(10**16 // len(users)).scaleb(-16)
                assert all(kinds(job, i)[kind] == cut for i, part in parts.items() if part)


@settings(max_examples=40)
@given(job_graphs(known=True))
def test_groups_do_not_depend_on_what_is_known(graph: JobGraph) -> None:
    """
    The same job without a word about resources has the same groups (F23).
    """
    unsaid = tuple(replace(operator, resources=UNKNOWN) for operator in graph.operators)

    known, unknown = compile_job(graph), compile_job(replace(graph, operators=unsaid))

    assert known.group_of == unknown.group_of
    assert [g.name for g in known.groups] == [g.name for g in unknown.groups]
    assert [r.count for r in known.requests] == [r.count for r in unknown.requests]


@given(job_graphs(), st.integers(0, 2**40))
def test_quotas_of_a_compiled_group_fit_its_slot(graph: JobGraph, size_bytes: int) -> None:
    """
    All operators of a slot register and get their quota; together never more than it (F11).
    """
    job = compile_job(graph)

    for group in range(len(job.groups)):
        for kind in (0, 1):
            memory = SlotManagedMemory(size_bytes)
            fractions = {job.operators[i]: kinds(job, i)[kind] for i in members(job, group)}
            quotas = [memory.register(name, f) for name, f in fractions.items() if f]
            assert sum(quota.size_bytes for quota in quotas) <= size_bytes
            assert sum(quota.pages for quota in quotas) <= memory.pages


@given(job_graphs(known=False), st.integers(1, 1000))
def test_an_operator_elsewhere_changes_no_fraction(graph: JobGraph, weight: int) -> None:
    """
    Fractions depend on the group alone: whoever joins another one disturbs nobody (F10).
    """
    more = Operator(
        "more",
        1,
        "elsewhere",
        on_heap=ManagedMemoryShare(weight),
        off_heap=ManagedMemoryShare(weight),
    )
    larger = replace(
        graph,
        operators=(*graph.operators, more),
        edges=(*graph.edges, OperatorEdge(graph.operators[-1].name, "more")),
        groups=(*graph.groups, SlotSharingGroup("elsewhere")),
    )

    before, after = compile_job(graph), compile_job(larger)

    assert after.fractions[:-1] == before.fractions
    assert kinds(after, len(graph.operators)) == (Decimal(1), Decimal(1))


@given(job_graphs())
def test_a_region_is_never_split_over_default_groups(graph: JobGraph) -> None:
    """
    Who is joined by pipelined links and in a default group is in the same one (F13).
    """
    job = compile_job(graph)

    for region in job.regions:
        default = {job.group_of[c] for c in region.chains if job.chains[c].group_name == "default"}
        assert len(default) <= 1


@given(job_graphs())
def test_named_groups_are_one_group_each(graph: JobGraph) -> None:
    """
    What the user puts in one named group is there, whatever the regions are (F15).
    """
    job = compile_job(graph)

    for i, operator in enumerate(graph.operators):
        if operator.group not in (None, "default"):
            assert job.groups[job.group_of[job.chain_of[i]]].name == operator.group
    names = [group.name for group in job.groups]
    assert len(names) == len(set(names))


@given(job_graphs())
def test_default_groups_follow_the_option(graph: JobGraph) -> None:
    """
    One default group for all sources in one region; else one for each region (F14, F16).
    """
    job = compile_job(graph)

    default = [i for i, chain in enumerate(job.chains) if chain.group_name == "default"]
    groups = {job.group_of[chain] for chain in default}
    regions = {job.region_of[chain] for chain in default}
    shared = graph.one_default_group
    if shared is None:
        shared = graph.mode is JobExecutionMode.STREAMING
    assert len(groups) == (min(1, len(default)) if shared else len(regions))


@given(job_graphs())
def test_a_group_asks_for_a_slot_for_each_pipeline(graph: JobGraph) -> None:
    """
    As many slots as its widest chain; each of the sum of its tasks, or a default one.
    """
    job = compile_job(graph)

    assert [request.count for request in job.requests] == [
        max(job.chains[chain].parallelism for chain in group.chains) for group in job.groups
    ]
    for request, group in zip(job.requests, job.groups, strict=True):
        assert request.profile == merge_all_resource_profiles(
            job.chains[chain].task for chain in group.chains
        )
        assert (request.profile is UNKNOWN) == (graph.operators[0].resources is UNKNOWN)
    assert job.slots_at_once == sum(request.count for request in job.requests)
    assert max(chain.parallelism for chain in job.chains) <= job.slots_in_turn
    assert job.slots_in_turn <= job.slots_at_once


@given(job_graphs())
def test_whoever_shares_a_pipelined_link_is_in_one_gang(graph: JobGraph) -> None:
    """
    Both ends get their slots together, and producers that must finish come first (F21).
    """
    job = compile_job(graph)

    gang_of = {region: i for i, gang in enumerate(job.gangs) for region in gang.regions}
    assert sorted(gang_of) == list(range(len(job.regions)))
    for link in job.links:
        producer = gang_of[job.region_of[link.producer]]
        consumer = gang_of[job.region_of[link.consumer]]
        if link.exchange is EdgeExchangeMode.PIPELINED:
            assert job.region_of[link.producer] == job.region_of[link.consumer]
        elif producer != consumer:
            assert producer < consumer


@given(job_graphs())
def test_cycles_are_the_regions_that_reach_themselves(graph: JobGraph) -> None:
    """
    A region is reported exactly if it waits, step by step, for itself (F21).
    """
    job = compile_job(graph)

    waits = {
        (job.region_of[link.consumer], job.region_of[link.producer])
        for link in job.links
        if link.exchange is EdgeExchangeMode.BLOCKING
    }
    for middle in range(len(job.regions)):
        before = [a for a, b in waits if b == middle]
        after = [b for a, b in waits if a == middle]
        waits |= {(a, b) for a in before for b in after}
    reported = {region for cycle in job.cycles for region in cycle.regions}
    assert reported == {a for a, b in waits if a == b}
    for cycle in job.cycles:
        assert cycle.regions in [gang.regions for gang in job.gangs]
        assert cycle.links
