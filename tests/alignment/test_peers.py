"""The peers' own tests of merging, row by row: the same NUMA nodes, the same verdict."""

import pytest

from alignment.hints import Koordinator, Kubelet, Merged, merge
from alignment.hints.kubelet import aim_of, fitness, unpreferred
from alignment.hints.wishes import mask_of, wishes_of
from alignment.peer_rows import Row, hint_of, hints_of, name_of, numa_nodes_of, providers_of, table
from placer_models.cpuset import parse_cpu_list
from placer_models.policy import AlignmentPolicy, RequiredOrPreferred

KUBELET_ROWS = table("kubelet")
KOORDINATOR_ROWS = table("koordinator")


@pytest.mark.parametrize("row", KUBELET_ROWS["merges"], ids=name_of)
def test_a_merge_is_the_kubelets(row: Row) -> None:
    """
    The kubelet's NUMA nodes, whether it prefers them, and whether it admits the pod.
    """
    closest = row["closest"]
    distances = tuple(map(tuple, KUBELET_ROWS["distances"]))

    merged = merge(
        AlignmentPolicy(row["policy"]),
        providers_of(row),
        numa_nodes=range(8 if closest else 4),
        peer=Kubelet(distances if closest else ()),
    )

    assert (merged.affinity, merged.preferred, merged.admitted) == (
        numa_nodes_of(row["affinity"]),
        row["preferred"],
        row["admitted"],
    )


@pytest.mark.parametrize("row", KUBELET_ROWS["aims"], ids=lambda row: f"aim {row['aim']}")
def test_the_aim_is_the_kubelets(row: Row) -> None:
    """
    Of what nobody prefers the kubelet aims at as many NUMA nodes as the most demanding
    resource needs at least.
    """
    provider = {f"resource{i}": hints_of(text) for i, text in enumerate(row["hints"])}

    assert aim_of(wishes_of([provider], range(4))) == row["aim"]


@pytest.mark.parametrize("row", KUBELET_ROWS["comparisons"], ids=name_of)
def test_of_two_hints_ours_is_the_kubelets(row: Row) -> None:
    """
    Preferred before not; of two that are not, the one whose width is nearer to the aim.
    """
    fit = fitness(range(4), ())
    candidate = hint_of(row["candidate"])
    hints = [hint_of(row["current"])] if row["current"] else []
    if candidate.affinity:  # a mask of no NUMA node is never a candidate
        hints.append(candidate)

    best = min(
        hints,
        key=lambda hint: (
            not hint.preferred,
            (fit if hint.preferred else unpreferred(fit, row["aim"]))(mask_of(hint.affinity or ())),
        ),
        default=None,
    )

    assert ("candidate" if best is candidate else "current") == row["better"]


@pytest.mark.parametrize("row", KOORDINATOR_ROWS["merges"], ids=name_of)
def test_a_merge_is_koordinators(row: Row) -> None:
    """
    Koordinator's NUMA nodes with all that it says of them, down to the reason in its words.
    """
    numa_nodes = sorted(parse_cpu_list(row["numa_nodes"]))

    merged = merge(
        AlignmentPolicy(row["policy"]),
        providers_of(row),
        numa_nodes=numa_nodes,
        peer=Koordinator(),
    )

    assert merged == Merged(
        affinity=numa_nodes_of(row["affinity"]),
        preferred=row["preferred"],
        admitted=row["preferred"] or row["policy"] == "BestEffort",
        unsatisfied=row["unsatisfied"],
        score=row["score"],
        reasons=tuple(row.get("reasons", ())),
    )


@pytest.mark.parametrize("row", KOORDINATOR_ROWS["exclusivity"], ids=name_of)
def test_exclusivity_of_numa_nodes_is_koordinators(row: Row) -> None:
    """
    One NUMA node not beside pods that span several, several not beside pods of one.
    """
    peer = Koordinator(
        exclusive=RequiredOrPreferred(row["exclusive"]),
        single=parse_cpu_list(row["single"]),
        shared=parse_cpu_list(row["shared"]),
    )

    assert peer.allows(numa_nodes_of(row["affinity"])) is row["allowed"]
