"""Nodes while pods are being placed: equal states, exact undo, rankings kept up to date."""

from collections.abc import Hashable
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greedy.small import Numa, gang, instance, machine, scanned, spec
from placer.greedy import node_table
from placer.greedy.cache import GreedyCache
from placer.greedy.node_table import GreedyNodeTable
from placer.greedy.place import place_greedily
from placer.greedy.ranking import ShapeNodeRanking
from placer.state.batch import build_problem
from placer_models.cluster import Instance
from placer_models.policy import AlignmentPolicy, BindPolicy, QosClass
from placer_models.problem.problem import Choice

HALF = Numa(cores=(2, 2), memory_bytes=8, gpus=1)
SMALL = machine(HALF, HALF)
KINDS = (
    spec(2, memory_bytes=2),
    spec(1, bind=BindPolicy.SPREAD_BY_PCPUS),
    spec(2, gpus=1, memory_bytes=3, alignment=AlignmentPolicy.SINGLE_NUMA_NODE),
    spec(3, gpus=1, memory_bytes=9, alignment=AlignmentPolicy.BEST_EFFORT, qos=QosClass.LSE),
    spec(0.5, memory_bytes=1, qos=QosClass.LS),
    spec(1.5, qos=QosClass.BE),
)


def some_pods(rng: Random, nodes: int = 3, pods: int = 12) -> Instance:
    return instance([SMALL] * nodes, *(gang(f"g{i}", rng.choice(KINDS)) for i in range(pods)))


def states(table: GreedyNodeTable) -> list[int]:
    return [table.state(node) for node in range(len(table.problem.nodes))]


@given(st.randoms(use_true_random=False))
def test_the_best_node_is_the_best_of_all_nodes(rng: Random) -> None:
    """
    However pods come and are taken back, the node found costs what asking every node
    anew says is the least.
    """
    problem = build_problem(some_pods(rng))
    table = GreedyNodeTable(problem)
    marks = [table.mark()]
    for pod in range(len(problem.pods)):
        least = scanned(table, problem, pod)
        choice = table.find(pod)
        assert (choice is None) is (least is None)
        if choice is None:
            continue
        bid = table.bid(problem.pods[pod], table.state(choice.node))
        assert bid is not None
        assert (*bid.price, table.spare(bid.state)) == least
        marks.append(table.mark())
        table.take(pod, choice)
        if rng.random() < 0.3:
            table.undo(rng.choice(marks))


@given(st.randoms(use_true_random=False))
def test_undo_is_exact(rng: Random) -> None:
    """
    After an undo every node is in the state it was in, and the same places are found.
    """
    problem = build_problem(some_pods(rng))
    table = GreedyNodeTable(problem)
    before: dict[int, tuple[list[int], int]] = {}
    for pod in range(len(problem.pods)):
        before[pod] = (states(table), table.mark())
        choice = table.find(pod)
        if choice is not None:
            table.take(pod, choice)
    placed = table.choices
    back = rng.randrange(len(problem.pods))
    was, mark = before[back]
    table.undo(mark)

    assert states(table) == was
    assert table.choices == {pod: choice for pod, choice in placed.items() if pod < back}
    for pod in range(back, len(problem.pods)):
        choice = table.find(pod)
        assert choice == placed.get(pod)
        if choice is not None:
            table.take(pod, choice)
    assert table.choices == placed


def test_few_rankings_are_kept_and_nothing_found_depends_on_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """
    Two shapes in turn, with room for one ranking: each pod needs a new one, and finds what
    it would find with room for both.
    """
    problem = build_problem(instance([SMALL] * 3, *(gang(f"g{i}", KINDS[i % 2]) for i in range(6))))
    made: list[ShapeNodeRanking] = []

    def counted(nodes: int, epoch: Hashable) -> ShapeNodeRanking:
        made.append(ShapeNodeRanking(nodes, epoch))
        return made[-1]

    monkeypatch.setattr(node_table, "ShapeNodeRanking", counted)

    def found(most: int) -> list[Choice]:
        monkeypatch.setattr(node_table, "MOST_RANKINGS", most)
        monkeypatch.setattr(node_table, "MOST_RANKED", 0)
        made.clear()
        table = GreedyNodeTable(problem)
        for pod in range(len(problem.pods)):
            choice = table.find(pod)
            assert choice is not None
            table.take(pod, choice)
        return list(table.choices.values())

    enough = found(2)
    assert len(made) == 2

    assert found(1) == enough
    assert len(made) == len(problem.pods)


def test_states_that_no_node_is_in_are_forgotten_and_nothing_found_depends_on_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """
    One batch after the other on nodes that are empty again: what the last one left is
    forgotten but for what bids on empty nodes leave, and each finds what it would find alone.
    """
    problems = [build_problem(some_pods(Random(seed)), absolute=True) for seed in range(12)]
    alone = [place_greedily(problem) for problem in problems]

    def remembered(most: int) -> int:
        monkeypatch.setattr(node_table, "NEW_STATES", most)
        cache = GreedyCache()
        assert [place_greedily(problem, cache=cache) for problem in problems] == alone
        return cache.table_of(problems[-1]).size

    assert remembered(0) < remembered(1_000)


def test_nodes_that_are_alike_share_a_state() -> None:
    """
    Three equal nodes are one state; after a pod two still are.
    """
    table = GreedyNodeTable(build_problem(instance([SMALL] * 3, gang("a", spec(2)))))
    assert len(set(states(table))) == 1

    choice = table.find(0)
    assert choice is not None
    table.take(0, choice)

    assert choice.node == 0
    assert states(table)[1] == states(table)[2] != states(table)[0]


def test_the_node_that_loses_least_and_is_fullest_is_best() -> None:
    """
    The CPU pod goes where no GPU is idle; the second one joins it.
    """
    plain = machine(Numa(cores=(2,) * 4, memory_bytes=16))
    table = GreedyNodeTable(
        build_problem(instance([SMALL, plain, plain], gang("a", spec(2), spec(2))))
    )
    for pod in (0, 1):
        choice = table.find(pod)
        assert choice is not None
        assert choice.node == 1
        table.take(pod, choice)


def test_a_fleet_without_nodes_has_no_place() -> None:
    """
    Nothing is found where nothing is.
    """
    table = GreedyNodeTable(build_problem(instance([], gang("a", spec(1)))))

    assert table.find(0) is None
