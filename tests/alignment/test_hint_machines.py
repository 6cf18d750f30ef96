"""Rows of the peers' merges on the machines behind them: who is turned away needlessly.

No row of these tables gives a machine. Of most the hints tell one (``hint_machines``); there
the pod waits on that machine, and the exact search says whether it has a place.
"""

import logging
from collections import Counter
from collections.abc import Callable, Mapping
from functools import cache

import pytest

from alignment.hint_machines import Stock, instance_of, stocks_of
from alignment.peer_rows import Row, name_of, providers_of, table
from alignment.row_objects import stocks_as_objects
from placer.judge.breaches import breaches
from placer.search.options import Engine, SolveOptions
from placer.search.solver import solve
from placer_models.cluster import Instance
from placer_models.cpuset import parse_cpu_list
from placer_models.placement import Infeasible, Placed
from placer_models.policy import AlignmentPolicy

ROWS: list[tuple[str, Row]] = [
    (peer, row) for peer in ("kubelet", "koordinator") for row in table(peer)["merges"]
]


def peer_admits(row: Row) -> bool:
    """Return whether the peer admits the row's pod."""
    admitted: bool = row.get("admitted", row["preferred"] or row["policy"] == "BestEffort")
    return admitted


def numa_nodes_in(row: Row) -> int:
    """Return how many NUMA nodes the row's node has."""
    listed = row.get("numa_nodes")
    return len(parse_cpu_list(listed)) if listed else 8 if row["closest"] else 4


Build = Callable[[Mapping[str, Stock], int, AlignmentPolicy], Instance]


@cache
def verdict(index: int, build: Build = instance_of) -> str:
    """Return what becomes of a row: no machine, equal, needless, nowhere, or worse.

    Nowhere: under BestEffort a merge admits a pod although a provider says that no NUMA nodes
    have the resource at all; what it admits the provider refuses in the end, and so do we.
    """
    _, row = ROWS[index]
    stocks = stocks_of(providers_of(row), numa_nodes_in(row))
    if stocks is None:
        return "no machine"
    instance = build(stocks, numa_nodes_in(row), AlignmentPolicy(row["policy"]))
    answer = solve(instance, SolveOptions(engine=Engine.EXACT, workers=1, seed=1))
    assert isinstance(answer, Placed | Infeasible)
    if isinstance(answer, Placed):
        assert breaches(instance, answer.placement) == ()
    ours, theirs = isinstance(answer, Placed), peer_admits(row)
    if row["policy"] == "BestEffort" and not all(stock.hints() for stock in stocks.values()):
        return "equal" if ours else "nowhere"
    return "equal" if ours is theirs else "needless" if ours else "worse"


@pytest.mark.parametrize(
    "index", range(len(ROWS)), ids=[f"{peer} {name_of(row)}" for peer, row in ROWS]
)
def test_nobody_is_refused_whom_the_peer_admits(index: int) -> None:
    """
    On the machine that the hints tell.
    """
    assert verdict(index) != "worse"


@pytest.mark.parametrize("index", range(len(ROWS)))
def test_objects_say_what_words_say(index: int) -> None:
    """
    A row has the same verdict where a Node and a NodeResourceTopology tell its machine.
    """
    assert verdict(index, stocks_as_objects) == verdict(index)


def test_how_many_rejections_a_joint_choice_proves_needless() -> None:
    """
    Row by row, for people. A merge of one pod's hints loses nothing on one machine: none is.
    Pods that come one by one are turned away needlessly, see ``test_machines``.
    """
    log = logging.getLogger(__name__)
    counted: Counter[str] = Counter()
    for index, (peer, row) in enumerate(ROWS):
        said = "admits" if peer_admits(row) else "rejects"
        log.info("%s %s: peer %s, %s", peer, name_of(row), said, verdict(index))
        counted[f"{said}: {verdict(index)}"] += 1

    assert counted == {
        "admits: equal": 61,
        "admits: no machine": 9,
        "admits: nowhere": 2,
        "rejects: equal": 13,
        "rejects: no machine": 4,
    }
