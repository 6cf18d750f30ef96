"""Default locality, solved: answers worked out by hand, and who may still be counted together."""

import pytest

from answers import expect
from even_topologies import even_topology
from judge.hand import node, pod, put, world
from placer.judge.measure import measure
from placer.search import joint_search
from placer.search.options import Engine, SolveOptions
from placer.search.solver import solve
from placer.state.batch import build_problem
from placer_models.cluster import Instance, Machine
from placer_models.cpsat.batch_model import pod_units_of
from placer_models.goals import LOCALITY_NUMA_NODES, LOCALITY_PACKAGES
from placer_models.placement import Placed
from placer_models.policy import QosClass

BOX = Machine("box", "", even_topology(16, 32, 32, threads=2, packages=2))
"""Two packages, each a NUMA node of four cores of two threads."""


def solved(instance: Instance, engine: Engine = Engine.EXACT) -> Placed:
    """Return the answer, proven in every tier unless it is greedy."""
    found = expect(Placed, solve(instance, SolveOptions(engine=engine, workers=1, seed=1)))
    assert engine is Engine.GREEDY or all(tier.proven for tier in found.tiers)
    return found


@pytest.mark.parametrize("engine", [Engine.GREEDY, Engine.EXACT])
def test_five_cpus_come_from_the_numa_node_that_is_free(engine: Engine) -> None:
    """
    CPU 5 stands alone beside a running pod; with it the pod would break one core less, and
    be on both NUMA nodes.
    """
    runs = (pod("old", 5), put("old", "0-4"))
    instance = world(pod("five", 5, memory=16), nodes=[node(machine=BOX)], running=(runs,))

    place, *_ = solved(instance, engine).placement.pods

    assert place.cpuset == frozenset(range(8, 13))
    assert place.memory_bytes == ((1, 16),)


@pytest.mark.parametrize("counted_first", [False, True])
def test_four_pods_share_two_numa_nodes_by_cpus_and_memory(
    monkeypatch: pytest.MonkeyPatch, *, counted_first: bool
) -> None:
    """
    Each asks for four CPUs and 16 units: two are on each NUMA node, wherever greedy began,
    and none of them on both, whether they are counted together first or not.
    """
    if counted_first:
        monkeypatch.setattr(joint_search, "FEW_ASSIGNMENTS", 0)
    instance = world(*(pod(f"p{i}", 4, memory=16) for i in range(4)), nodes=[node(machine=BOX)])

    found = solved(instance).placement

    worth = dict(measure(instance, found))
    assert (worth[LOCALITY_NUMA_NODES], worth[LOCALITY_PACKAGES]) == (0, 0)
    assert all(len(place.memory_bytes) == 1 for place in found.pods)


def test_what_cannot_be_near_is_proven_not_to_be() -> None:
    """
    A running pod has the memory of one NUMA node, another the CPUs of the other.
    """
    instance = world(
        pod("a", 2, memory=8),
        nodes=[node(machine=BOX)],
        running=(
            (pod("cpus", 8), put("cpus", "8-15")),
            (pod("memory", memory=32, qos=QosClass.LS), put("memory", "0-7", memory={0: 32})),
        ),
    )

    worth = {tier.tier: tier.value for tier in solved(instance).tiers}

    assert (worth[LOCALITY_NUMA_NODES], worth[LOCALITY_PACKAGES]) == (1, 1)


def test_pods_with_memory_alone_are_counted_together() -> None:
    """
    Thirty LS pods are one count in the model, though their memory has a place; owners are
    counted together until locality is asked for.
    """
    pool = world(
        *(pod(f"p{i}", 0.1, memory=1, qos=QosClass.LS) for i in range(30)),
        nodes=[node(machine=BOX)],
    )
    owners = world(*(pod(f"p{i}", 2) for i in range(4)), nodes=[node(machine=BOX)])

    assert len(pod_units_of(build_problem(pool))) == 1
    assert len(pod_units_of(build_problem(owners))) == 4
    assert len(pod_units_of(joint_search.without_locality(build_problem(owners)))) == 1
