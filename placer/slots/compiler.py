"""The compiler: a job graph becomes chains, regions, groups, fractions and slot requests (F23)."""

from collections.abc import Sequence

from placer.slots.chains import chain_of_operators, group_names
from placer.slots.check import job_graph_faults
from placer.slots.compiled import (
    ChainsSharingSlots,
    CompiledJob,
    Fractions,
    OperatorChain,
    OperatorChainEdge,
    PipelinedRegion,
    RegionGang,
)
from placer.slots.errors import JobGraphError
from placer.slots.fractions import managed_memory_fractions_by_kind
from placer.slots.graph import DEFAULT_GROUP, EdgeExchange, JobGraph, RuntimeSemantics
from placer.slots.network_memory import network_bytes
from placer.slots.refuse import (
    refuse_hybrid_groups,
    refuse_mixed_groups,
    refuse_mixed_operators,
    refuse_torn_colocation,
)
from placer.slots.regions import cycles_of, index_of, regions_of, runs_of_regions
from placer.slots.resources import UNKNOWN, ResourceAmounts, ResourceProfile, merge, merge_all
from placer.slots.use_cases import managed_memory_fractions_by_use_case
from placer.slots.wiring import WiredJob, wire_up


def compile_job(job: JobGraph) -> CompiledJob:
    """Return the job, compiled.

    Raises:
        JobGraphError: It contradicts itself, or only a part of it states resources (F3).

    """
    for fault in job_graph_faults(job):
        raise JobGraphError(fault)
    if job.semantics is RuntimeSemantics.FLIP_53:
        refuse_mixed_operators(job)
    else:
        refuse_mixed_groups(job, group_names(job, wire_up(job)))
    return lay_out(job)


def lay_out(job: JobGraph) -> CompiledJob:
    """Return the job, compiled, though it may mix known and unknown resources.

    What merges known with unknown is unknown (F4). ``compile_job`` refuses such a job;
    this is for looking at it all the same.

    Raises:
        JobGraphError: Its groups contradict its edges, or its own fractions are too much.

    """
    wiring = wire_up(job)
    names = group_names(job, wiring)
    parts = chain_of_operators(job, wiring, names)
    chain_of = index_of(parts, len(job.operators))
    links = _links(job, wiring, chain_of)
    refuse_hybrid_groups(job, names, links)
    chains = _chains(job, parts, names, links)
    regions = regions_of(len(chains), links)
    region_of = index_of([region.chains for region in regions], len(chains))
    groups = _groups(job, chains, region_of)
    group_of = index_of([group.chains for group in groups], len(chains))
    refuse_torn_colocation(job, [group_of[chain] for chain in chain_of], groups)
    runs = runs_of_regions(len(regions), links, region_of)
    return CompiledJob(
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
        cycles=cycles_of(runs, links, region_of),
    )


def _links(
    job: JobGraph, wiring: WiredJob, chain_of: Sequence[int]
) -> tuple[OperatorChainEdge, ...]:
    """Return the edges that chaining left over, between chains."""
    return tuple(
        OperatorChainEdge(
            chain_of[wire.producer],
            chain_of[wire.consumer],
            wire.partition,
            job.default_exchange if wire.exchange is EdgeExchange.UNDEFINED else wire.exchange,
        )
        for wire in wiring.wires
        if chain_of[wire.producer] != chain_of[wire.consumer]
    )


def _chains(
    job: JobGraph,
    parts: Sequence[tuple[int, ...]],
    names: Sequence[str],
    links: Sequence[OperatorChainEdge],
) -> tuple[OperatorChain, ...]:
    parallelism = [job.operators[part[0]].parallelism for part in parts]
    network = network_bytes(links, parallelism, job.network)
    chains = []
    for i, part in enumerate(parts):
        requirement = merge_all(job.operators[operator].resources for operator in part)
        task = merge(requirement, ResourceAmounts(network_bytes=network[i]))
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
        requirement = merge_all(chains[i].requirement for i in found)
        slot: ResourceProfile = merge_all(chains[i].task for i in found)
        if job.semantics is RuntimeSemantics.FLIP_141:
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
        if job.semantics is RuntimeSemantics.FLIP_53:
            found |= managed_memory_fractions_by_kind(job.operators, members, group)
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
