"""The compiler: a job graph becomes chains, regions, groups, fractions and slot requests (F23)."""

from collections.abc import Sequence

from placer.slots.chains import operator_chains, slot_sharing_group_by_operator
from placer.slots.check import job_graph_faults
from placer.slots.compiled import (
    ChainsSharingSlots,
    CompiledDataflowJob,
    EdgeBetweenChains,
    Fractions,
    OperatorChain,
    PipelinedRegion,
    RegionGang,
)
from placer.slots.errors import JobGraphError
from placer.slots.fractions import (
    managed_memory_fractions_by_use_case,
    managed_memory_fractions_of_group,
)
from placer.slots.graph import DEFAULT_GROUP, EdgeExchangeMode, JobGraph, SlotResourceSemantics
from placer.slots.network_memory import network_memory_of_chains
from placer.slots.refuse import (
    refuse_groups_with_hybrid_edges,
    refuse_resources_on_some_operators,
    refuse_resources_on_some_slot_groups,
    refuse_torn_colocation,
)
from placer.slots.regions import (
    part_index_by_item,
    pipelined_regions_of,
    region_dependency_cycles,
    regions_started_together,
)
from placer.slots.resources import (
    UNKNOWN,
    ResourceProfile,
    SlotResourceAmounts,
    merge_all_resource_profiles,
    merge_resource_profiles,
)
from placer.slots.wiring import IndexedJobGraph, index_job_graph


def compile_job(job: JobGraph) -> CompiledDataflowJob:
    """Return the job, compiled.

    Raises:
        JobGraphError: It contradicts itself, or only a part of it states resources (F3).

    """
    for fault in job_graph_faults(job):
        raise JobGraphError(fault)
    if job.semantics is SlotResourceSemantics.FLIP_53:
        refuse_resources_on_some_operators(job)
    else:
        refuse_resources_on_some_slot_groups(
            job, slot_sharing_group_by_operator(job, index_job_graph(job))
        )
    return compile_job_with_mixed_resources(job)


def compile_job_with_mixed_resources(job: JobGraph) -> CompiledDataflowJob:
    """Return the job, compiled, though it may mix known and unknown resources.

    What merges known with unknown is unknown (F4). ``compile_job`` refuses such a job;
    this is for looking at it all the same.

    Raises:
        JobGraphError: Its groups contradict its edges, or its own fractions are too much.

    """
    wiring = index_job_graph(job)
    names = slot_sharing_group_by_operator(job, wiring)
    parts = operator_chains(job, wiring, names)
    chain_of = part_index_by_item(parts, len(job.operators))
    links = _links(job, wiring, chain_of)
    refuse_groups_with_hybrid_edges(job, names, links)
    chains = _chains(job, parts, names, links)
    regions = pipelined_regions_of(len(chains), links)
    region_of = part_index_by_item([region.chains for region in regions], len(chains))
    groups = _groups(job, chains, region_of)
    group_of = part_index_by_item([group.chains for group in groups], len(chains))
    refuse_torn_colocation(job, [group_of[chain] for chain in chain_of], groups)
    runs = regions_started_together(len(regions), links, region_of)
    return CompiledDataflowJob(
        name=job.name,
        semantics=job.semantics,
        mode=job.mode,
        operators=tuple(operator.name for operator in job.operators),
        chains=chains,
        links=links,
        regions=regions,
        groups=groups,
        chain_of=chain_of,
        region_of=region_of,
        group_of=group_of,
        fractions=_fractions(job, chains, groups),
        gangs=tuple(_gang(run, regions, chains, group_of) for run in runs),
        cycles=region_dependency_cycles(runs, links, region_of),
    )


def _links(
    job: JobGraph, wiring: IndexedJobGraph, chain_of: Sequence[int]
) -> tuple[EdgeBetweenChains, ...]:
    """Return the edges that chaining left over, between chains."""
    return tuple(
        EdgeBetweenChains(
            chain_of[wire.producer],
            chain_of[wire.consumer],
            wire.partition,
            job.default_exchange if wire.exchange is EdgeExchangeMode.UNDEFINED else wire.exchange,
        )
        for wire in wiring.wires
        if chain_of[wire.producer] != chain_of[wire.consumer]
    )


def _chains(
    job: JobGraph,
    parts: Sequence[tuple[int, ...]],
    names: Sequence[str],
    links: Sequence[EdgeBetweenChains],
) -> tuple[OperatorChain, ...]:
    parallelism = [job.operators[part[0]].parallelism for part in parts]
    network = network_memory_of_chains(links, parallelism, job.network)
    chains = []
    for i, part in enumerate(parts):
        requirement = merge_all_resource_profiles(
            job.operators[operator].resources for operator in part
        )
        task = merge_resource_profiles(requirement, SlotResourceAmounts(network_bytes=network[i]))
        chains.append(OperatorChain(part, parallelism[i], names[part[0]], requirement, task))
    return tuple(chains)


def _groups(
    job: JobGraph, chains: Sequence[OperatorChain], region_of: Sequence[int]
) -> tuple[ChainsSharingSlots, ...]:
    """Return the groups: one for each name, and for ``default`` one or one a region (F14, F15)."""
    given = {group.name: group.resources for group in job.groups}
    members: dict[tuple[str, int | None], list[int]] = {}
    for i, chain in enumerate(chains):
        apart = chain.group_name == DEFAULT_GROUP and not job.shares_default_group
        members.setdefault((chain.group_name, region_of[i] if apart else None), []).append(i)
    groups = []
    for (name, region), found in members.items():
        requirement = merge_all_resource_profiles(chains[i].requirement for i in found)
        slot: ResourceProfile = merge_all_resource_profiles(chains[i].task for i in found)
        if job.semantics is SlotResourceSemantics.FLIP_141:
            slot = given.get(name) or UNKNOWN
        groups.append(
            ChainsSharingSlots(
                name if region is None else f"{name}[{region}]",
                tuple(found),
                max(chains[i].parallelism for i in found),
                requirement,
                slot,
            )
        )
    return tuple(groups)


def _fractions(
    job: JobGraph, chains: Sequence[OperatorChain], groups: Sequence[ChainsSharingSlots]
) -> tuple[Fractions, ...]:
    found: dict[int, Fractions] = {}
    weights = dict(job.consumer_weights)
    for group in groups:
        members = [operator for chain in group.chains for operator in chains[chain].operators]
        if job.semantics is SlotResourceSemantics.FLIP_53:
            found |= managed_memory_fractions_of_group(job.operators, members, group)
        else:
            found |= managed_memory_fractions_by_use_case(
                job.operators,
                members,
                weights,
                state_backend_managed=job.state_backend_managed,
            )
    return tuple(found[i] for i in range(len(job.operators)))


def _gang(
    run: tuple[int, ...],
    regions: Sequence[PipelinedRegion],
    chains: Sequence[OperatorChain],
    group_of: Sequence[int],
) -> RegionGang:
    slots: dict[int, int] = {}
    for region in run:
        for chain in regions[region].chains:
            group = group_of[chain]
            slots[group] = max(slots.get(group, 0), chains[chain].parallelism)
    return RegionGang(run, tuple(sorted(slots.items())))
