"""Chains, groups and fractions are those of Apache Flink, to the last bit."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from placer.slots.amount_text import format_hundred_millionths
from placer.slots.compiled import CompiledDataflowJob, OperatorMemoryFractions
from placer.slots.compiler import compile_job_with_mixed_resources
from placer.slots.graph import ManagedMemoryShare, Operator
from placer.slots.resources import UNKNOWN, ResourceProfile, SlotResourceAmounts
from placer_models.files.errors import InputError
from slots.job_files import Row, chain_names, compiled, partition, read, row_id, rows

FLIP_141 = rows("graphs_flip_141.json")
FLIP_53 = rows("graphs_flip_53.json")

ONE = ManagedMemoryShare(weight=1)


@pytest.mark.parametrize("row", FLIP_141, ids=row_id)
def test_flip_141_compiles_as_the_peer_does(row: Row, tmp_path: Path) -> None:
    """
    The same chains, slot sharing groups, slots, and fractions of each use case.
    """
    expected = row["expected"]

    job = compiled(tmp_path, row["job"])

    assert_same_shape(job, expected["chains"])
    theirs = [g if isinstance(g, list) else [g, None] for g in expected["groups"]]
    slots = {i: [group.slots, known(group.slot)] for i, group in enumerate(job.groups)}
    assert in_their_order(slots, job, expected["chains"]) == theirs
    assert job.slots_at_once == expected["slots"]
    assert {
        name: {f.use_case.value: [float(f.of_use_case), f.of_slot] for f in fractions}
        for name, fractions in zip(job.operators, job.fractions, strict=True)
        if isinstance(fractions, tuple)
    } == expected["fractions"]


@pytest.mark.parametrize("kind", ["onHeap", "offHeap"])
@pytest.mark.parametrize("row", FLIP_53, ids=row_id)
def test_flip_53_compiles_as_the_peer_does(row: Row, kind: str, tmp_path: Path) -> None:
    """
    The same chains, groups, resources and fractions, whichever kind the memory is of.

    Where the peer merges known with unknown resources, the job is refused; laid out all
    the same, it is what the peer makes of it (F6, F7, F8).
    """
    document, expected = of_kind(row["job"], kind), row["expected"]
    if "error" in expected:
        with pytest.raises(InputError, match=expected["error"]):
            compiled(tmp_path, document)
        return
    graph = read(tmp_path, document)
    states = [operator.resources is not UNKNOWN for operator in graph.operators]

    if any(states) and not all(states):
        with pytest.raises(InputError, match=r"states no resources, but '.*' does"):
            compiled(tmp_path, document)
        # The peer gives every operator a weight of 1, those with resources too.
        job = compile_job_with_mixed_resources(
            replace(graph, operators=tuple(map(weighed, graph.operators)))
        )
    else:
        job = compiled(tmp_path, document)

    assert_same_shape(job, [chain[:3] for chain in expected["chains"]])
    resources = {tuple(sorted(chain[0])): chain[3] for chain in expected["chains"]}
    for i, chain in enumerate(job.chains):
        assert as_peer(chain.requirement, kind) == resources[tuple(chain_names(job, i))]
    groups = {i: [g.slots, as_peer(g.requirement, kind)] for i, g in enumerate(job.groups)}
    assert in_their_order(groups, job, expected["chains"]) == expected["groups"]
    assert {
        name: float(fractions.on_heap if kind == "onHeap" else fractions.off_heap)
        for name, fractions in zip(job.operators, job.fractions, strict=True)
        if isinstance(fractions, OperatorMemoryFractions)
    } == expected["fractions"]


def assert_same_shape(job: CompiledDataflowJob, theirs: list[Any]) -> None:
    """Compare chains with their parallelism, and who shares a group."""
    chains = {tuple(chain_names(job, i)): chain for i, chain in enumerate(job.chains)}
    assert {names: chain.parallelism for names, chain in chains.items()} == {
        tuple(sorted(names)): parallelism for names, parallelism, _ in theirs
    }
    group_of = {name: job.group_of[job.chain_of[i]] for i, name in enumerate(job.operators)}
    assert partition(group_of) == partition({n: g for names, _, g in theirs for n in names})


def in_their_order(mine: dict[int, Any], job: CompiledDataflowJob, theirs: list[Any]) -> list[Any]:
    """Return what groups have, by the peer's numbers of groups."""
    group_of = {name: job.group_of[job.chain_of[i]] for i, name in enumerate(job.operators)}
    number = {chain[2]: group_of[chain[0][0]] for chain in theirs}
    return [mine[number[i]] for i in range(len(number))]


def known(profile: ResourceProfile) -> dict[str, object] | None:
    """Return a group's resources as the rows spell them."""
    if not isinstance(profile, SlotResourceAmounts):
        return None
    return {"cpu": format_hundred_millionths(profile.cpu_e8), "heap": profile.heap_bytes}


def as_peer(profile: ResourceProfile, kind: str) -> list[object] | None:
    """Return resources as the rows spell them."""
    if not isinstance(profile, SlotResourceAmounts):
        return None
    on_heap = kind == "onHeap"
    return [
        format_hundred_millionths(profile.cpu_e8),
        profile.heap_bytes,
        profile.off_heap_bytes,
        profile.managed_on_heap_bytes if on_heap else profile.managed_off_heap_bytes,
        format_hundred_millionths(profile.extended_of("gpu")),
    ]


def of_kind(job: Row, kind: str) -> Row:
    """Return the job with its managed memory of this kind; the rows say off-heap."""
    if kind == "offHeap":
        return job
    text = json.dumps(job).replace('"managedOffHeap"', '"managedOnHeap"')
    found: Row = json.loads(text.replace('"managed": {"offHeap"', '"managed": {"onHeap"'))
    return found


def weighed(operator: Operator) -> Operator:
    """Return the operator with a weight of 1 where it states resources."""
    if operator.resources is UNKNOWN:
        return operator
    return replace(operator, on_heap=ONE, off_heap=ONE)
