"""Choices of CPUs that Koordinator makes, row by row: ours is never worse.

What is worse is the first difference in: shared cores, shared NUMA nodes, NUMA nodes,
packages, cores (more of them under SpreadByPCPUs).
"""

from collections import Counter

import pytest

from exclusivity.peer_rows import Row, compared, instance_of, ours, rows, worth
from figures import tell
from placer_models.cpuset import parse_cpu_list

AVOIDABLE = (22, 81, 142, 147, 162, 262, 292, 293, 297)
"""Generated rows in which the peer shares a core or a NUMA node that it need not share."""

DOMINATED = (63, 125, 130, 150, 156, 190, 211, 213)
"""Generated rows in which another choice has fewer NUMA nodes and, under FullPCPUs, fewer
cores: the peer counts whole cores first, and then CPUs of any NUMA node."""

SINGLE_THREADS: Row = {
    "machine": "2x1x8x2",
    "held": {"-": "0-12,14,16,18,20,22,24,26,28-31"},
    "ask": "3 F -",
    "peer": "13,15,17",
}
"""Free are single threads: 13 and 15 of one package, 17 to 27 of the other."""


def test_no_choice_is_worse_than_the_peers() -> None:
    """
    The pod has a place wherever the peer finds one, and a choice that is as good or better.
    """
    results = [(row["name"], how) for row, how in compared()]
    counts = Counter(how for _, how in results)
    tell(f"Koordinator's CPU accumulator: {dict(counts)}")

    assert [name for name, how in results if how == "worse"] == []
    assert counts["equal"] + counts["better"] == 185
    assert counts["better"] >= 41


def generated(number: int) -> Row:
    return next(row for row in rows() if row["name"] == f"generated {number}")


@pytest.mark.parametrize("number", AVOIDABLE)
def test_what_need_not_be_shared_is_not(number: int) -> None:
    """
    The peer tries two filters and then takes what is there; we count what is shared.
    """
    instance = instance_of(generated(number))
    cpus = ours(instance)

    assert cpus is not None
    peers = worth(instance, parse_cpu_list(generated(number)["peer"]))
    assert worth(instance, cpus)[:2] < peers[:2]


@pytest.mark.parametrize(
    "row", [SINGLE_THREADS, *map(generated, DOMINATED)], ids=lambda row: row.get("name", "singles")
)
def test_a_choice_is_never_dominated(row: Row) -> None:
    """
    Fewer NUMA nodes and no more cores, or as many and fewer: the peer's choice was neither.
    """
    instance = instance_of(row)
    cpus = ours(instance)

    assert cpus is not None
    mine, peers = worth(instance, cpus), worth(instance, parse_cpu_list(row["peer"]))
    assert mine[:2] <= peers[:2]
    assert mine[2] < peers[2]
    assert mine[4] <= peers[4]
