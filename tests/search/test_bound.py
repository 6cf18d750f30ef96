"""The relaxed model bounds what no placement can reach."""

import pytest

from brute_force import best_vector
from judge.hand import pod, world
from placer.search.budget import SolveBudget
from placer.search.exact import trivial_tier_bounds
from placer.search.first_tier_bounds import bound_first_tiers
from placer.search.options import SolveOptions
from placer.state.batch import build_problem
from placer_models.cluster import Instance, Machine, Node
from placer_models.cpsat import relaxed
from placer_models.cpsat.classes import equal_pod_groups
from placer_models.pod import Container, Gang, Pod, PodSpec, Resources
from placer_models.topology import Cpu, NumaNode, Topology
from worlds import tiny_instance


def bounds(instance: Instance, values: list[int]) -> list[int | None]:
    problem = build_problem(instance)
    budget = SolveBudget(SolveOptions(workers=1, time_limit_s=60))
    return bound_first_tiers(problem, values, trivial_tier_bounds(problem), budget)


@pytest.mark.check
def test_no_tiny_world_beats_its_relaxed_bound() -> None:
    """
    Level by level, among placements that keep what the levels before reached.
    """
    for seed in range(150):
        instance = tiny_instance(seed)
        best = best_vector(instance)
        levels = len({gang.priority for gang in instance.gangs})

        for value, bound in zip(best[:levels], bounds(instance, list(best)), strict=True):
            assert bound is not None
            assert bound >= value


def test_slots_are_counted_not_only_sums() -> None:
    """
    Four nodes with 1 GiB each hold no pod of 2 GiB, though the sum is 4 GiB.
    """
    gib = 2**30
    topology = Topology("x86_64", (Cpu(0, 0, 0, 0),), (NumaNode(0, gib),))
    spec = PodSpec((Container("main", Resources(memory_bytes=2 * gib)),))
    instance = Instance(
        nodes=tuple(Node(f"n{i}", Machine("small", "", topology)) for i in range(4)),
        gangs=(Gang("pod", "default", (Pod("pod", "default", spec),), 1, lone=True),),
    )

    assert bounds(instance, [0]) == [0]


def test_pods_of_a_group_are_counted_with_their_gangs() -> None:
    """
    Equal pods are one family only where each is a gang of its own and in no group.
    """
    alone = build_problem(world(pod("a"), pod("b")))
    grouped = build_problem(world(pod("a"), pod("b"), groups=[["a", "b"]]))

    assert [(one.gang, one.pods) for one in equal_pod_groups(alone)] == [(None, (0, 1))]
    assert [(one.gang, one.pods) for one in equal_pod_groups(grouped)] == [(0, (0,)), (1, (1,))]


def test_a_relaxed_model_that_would_be_too_large_claims_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """
    What needs no solving is still known.
    """
    monkeypatch.setattr(relaxed, "MOST_COUNTS", 0)
    instance = tiny_instance(3)
    levels = len({gang.priority for gang in instance.gangs})

    assert bounds(instance, [0] * levels) == trivial_tier_bounds(build_problem(instance))[:levels]


def test_memory_beyond_64_bits_is_rounded_and_bounds_still_hold() -> None:
    """
    Nine thousand pods of 1 PiB and one odd byte: sums pass 2**63, a rounded bound does not.
    """
    pib = 2**50
    topology = Topology("x86_64", (Cpu(0, 0, 0, 0),), (NumaNode(0, pib + 1),))
    spec = PodSpec((Container("main", Resources(memory_bytes=pib)),))
    gangs = (Gang(f"p{i}", "default", (Pod(f"p{i}", "default", spec),), 1) for i in range(9_000))
    nodes = (Node(f"n{i}", Machine("huge", "", topology)) for i in range(100))
    (bound,) = bounds(Instance(tuple(nodes), tuple(gangs)), [200])

    assert bound is not None
    assert 200 <= bound <= 202
