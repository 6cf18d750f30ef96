"""Nodes while pods are being placed: equal states, exact undo, rankings kept up to date."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greedy.small import Numa, gang, instance, machine, scanned, spec
from placer.greedy import fleet as fleets
from placer.greedy.fleet import Fleet
from placer.greedy.ranking import Ranking
from placer.state.batch import build_problem
from placer_models.cluster import Instance
from placer_models.policy import AlignmentPolicy, BindPolicy, QosClass
from placer_models.problem import Choice

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


def states(fleet: Fleet) -> list[int]:
    return [fleet.state(node) for node in range(len(fleet.problem.nodes))]


@given(st.randoms(use_true_random=False))
def test_the_best_node_is_the_best_of_all_nodes(rng: Random) -> None:
    """
    However pods come and are taken back, the node found costs what asking every node
    anew says is the least.
    """
    problem = build_problem(some_pods(rng))
    fleet = Fleet(problem)
    marks = [fleet.mark()]
    for pod in range(len(problem.pods)):
        least = scanned(fleet, problem, pod)
        choice = fleet.find(pod)
        assert (choice is None) is (least is None)
        if choice is None:
            continue
        bid = fleet.bid(problem.pods[pod], fleet.state(choice.node))
        assert bid is not None
        assert (*bid.price, fleet.spare(bid.state)) == least
        marks.append(fleet.mark())
        fleet.take(pod, choice)
        if rng.random() < 0.3:
            fleet.undo(rng.choice(marks))


@given(st.randoms(use_true_random=False))
def test_undo_is_exact(rng: Random) -> None:
    """
    After an undo every node is in the state it was in, and the same places are found.
    """
    problem = build_problem(some_pods(rng))
    fleet = Fleet(problem)
    before: dict[int, tuple[list[int], int]] = {}
    for pod in range(len(problem.pods)):
        before[pod] = (states(fleet), fleet.mark())
        choice = fleet.find(pod)
        if choice is not None:
            fleet.take(pod, choice)
    placed = fleet.choices
    back = rng.randrange(len(problem.pods))
    was, mark = before[back]
    fleet.undo(mark)

    assert states(fleet) == was
    assert fleet.choices == {pod: choice for pod, choice in placed.items() if pod < back}
    for pod in range(back, len(problem.pods)):
        choice = fleet.find(pod)
        assert choice == placed.get(pod)
        if choice is not None:
            fleet.take(pod, choice)
    assert fleet.choices == placed


def test_few_rankings_are_kept_and_nothing_found_depends_on_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """
    Two shapes in turn, with room for one ranking: each pod needs a new one, and finds what
    it would find with room for both.
    """
    problem = build_problem(instance([SMALL] * 3, *(gang(f"g{i}", KINDS[i % 2]) for i in range(6))))
    made: list[Ranking] = []

    def counted(nodes: int) -> Ranking:
        made.append(Ranking(nodes))
        return made[-1]

    monkeypatch.setattr(fleets, "Ranking", counted)

    def found(most: int) -> list[Choice]:
        monkeypatch.setattr(fleets, "MOST_RANKINGS", most)
        made.clear()
        fleet = Fleet(problem)
        for pod in range(len(problem.pods)):
            choice = fleet.find(pod)
            assert choice is not None
            fleet.take(pod, choice)
        return list(fleet.choices.values())

    enough = found(2)
    assert len(made) == 2

    assert found(1) == enough
    assert len(made) == len(problem.pods)


def test_nodes_that_are_alike_share_a_state() -> None:
    """
    Three equal nodes are one state; after a pod two still are.
    """
    fleet = Fleet(build_problem(instance([SMALL] * 3, gang("a", spec(2)))))
    assert len(set(states(fleet))) == 1

    choice = fleet.find(0)
    assert choice is not None
    fleet.take(0, choice)

    assert choice.node == 0
    assert states(fleet)[1] == states(fleet)[2] != states(fleet)[0]


def test_the_node_that_loses_least_and_is_fullest_is_best() -> None:
    """
    The CPU pod goes where no GPU is idle; the second one joins it.
    """
    plain = machine(Numa(cores=(2,) * 4, memory_bytes=16))
    fleet = Fleet(build_problem(instance([SMALL, plain, plain], gang("a", spec(2), spec(2)))))
    for pod in (0, 1):
        choice = fleet.find(pod)
        assert choice is not None
        assert choice.node == 1
        fleet.take(pod, choice)


def test_a_fleet_without_nodes_has_no_place() -> None:
    """
    Nothing is found where nothing is.
    """
    fleet = Fleet(build_problem(instance([], gang("a", spec(1)))))

    assert fleet.find(0) is None
