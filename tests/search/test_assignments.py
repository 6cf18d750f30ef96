"""Assignments counted without a model: as many as pairs, from one look at each node."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from mixed_worlds import mixed_instance
from placer.search.exact import CORES_OF_A_SEAT, assignment_count
from placer.state.batch import build_problem
from placer_models.cluster import Instance, Node
from placer_models.cpsat.batch_model import pod_units_of
from placer_models.cpsat.tier_limits import number_of_modelled_tiers
from placer_models.device import GPU
from placer_models.machines.catalogue import load_machine
from placer_models.pod import Container, DeviceRequest, Gang, Pod, PodSpec, Resources
from placer_models.policy import QosClass
from placer_models.problem.node_state import CoreClassGranularity, NodeState
from placer_models.problem.problem import Problem


class Counted(tuple[NodeState, ...]):
    """Nodes that count how often they are gone through."""

    __slots__ = ()
    times = 0

    def __iter__(self) -> Iterator[NodeState]:
        Counted.times += 1
        return super().__iter__()


def pair_by_pair(problem: Problem) -> int:
    """Return the size of all pairs of a unit and a node that may host it."""
    found = 0
    for unit in pod_units_of(problem):
        for node in problem.nodes:
            if problem.fits[unit.shape][node.kind] is not None:
                found += 1
                if problem.granularity >= CoreClassGranularity.PAIRS:
                    found += len(node.cores) // CORES_OF_A_SEAT
    return found


@pytest.mark.parametrize("seed", range(0, 60, 3))
@pytest.mark.parametrize("each_core", [False, True])
def test_all_pairs_are_counted(seed: int, each_core: bool) -> None:
    """
    Whether cores are told apart or not.
    """
    problem = build_problem(mixed_instance(seed), each_core=each_core)

    assert assignment_count(problem) == pair_by_pair(problem)


@pytest.mark.parametrize("count", [assignment_count, number_of_modelled_tiers])
def test_nodes_are_gone_through_a_few_times(count: Callable[[Problem], int]) -> None:
    """
    However many shapes there are: 1,000 different pods and 8,000 nodes are no 8 million looks.
    """
    nodes = tuple(Node(f"n{i}", load_machine("dgx-a100")) for i in range(2))
    pods = []
    for i in range(50):
        asked = Resources(1000 * (i + 1), 1, devices=(DeviceRequest(GPU, 2),))
        pods.append(Pod(f"p{i}", "default", PodSpec((Container("app", asked),), QosClass.LSR)))
    gangs = [Gang(pod.name, "default", (pod,), 1, lone=True) for pod in pods]
    problem = build_problem(Instance(nodes, tuple(gangs)))
    Counted.times = 0

    count(replace(problem, nodes=Counted(problem.nodes)))

    assert Counted.times < 10 < len(problem.shapes)
