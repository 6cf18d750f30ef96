"""What pods under ConstrainedBurst are worth in the tiers of NUMA nodes, by hand (C8)."""

from dataclasses import replace

import pytest

from judge.cases_burst import burst
from judge.hand import ALL_CPUS, MACHINE, node, put, world
from placer.judge.breaches import breaches
from placer.judge.measure import measure
from placer_models.cluster import Instance, Node
from placer_models.goals import ALIGNMENT, LOCALITY_NUMA_NODES, LOCALITY_PACKAGES, Tier
from placer_models.placement import Placement, PodPlacement
from placer_models.policy import AlignmentPolicy

BEST_EFFORT = node(alignment=AlignmentPolicy.BEST_EFFORT)
ANYWHERE = node()
POLICIES = ((BEST_EFFORT, ALIGNMENT), (ANYWHERE, LOCALITY_NUMA_NODES))


def value(tier: Tier, instance: Instance, place: PodPlacement) -> int:
    """Return what the tier says of a place without breaches."""
    placement = Placement((place,))
    assert breaches(instance, placement) == ()
    return dict(measure(instance, placement))[tier]


@pytest.mark.parametrize(("on", "tier"), POLICIES, ids=["BestEffort", "no policy"])
@pytest.mark.parametrize(
    ("cpus", "memory", "beyond"),
    [
        ("0-3", {0: 2}, 0),
        ("4-7", {0: 2}, 2),  # a NUMA node more than need be, and it has no CPU of the pod
        ("0-7", {0: 2}, 1),
        ("0-3", {0: 1, 1: 1}, 2),
        ("0-7", {0: 1, 1: 1}, 1),
    ],
)
def test_memory_counts_twice_where_the_pod_has_no_cpus(
    on: Node, tier: Tier, cpus: str, memory: dict[int, int], beyond: int
) -> None:
    """
    The NUMA nodes of its CPUs and its memory count beyond the fewest, those of memory alone again.
    """
    instance = world(burst("b", 1, 3, memory=2), nodes=[on])

    assert value(tier, instance, put("b", cpus, memory=memory)) == beyond


@pytest.mark.parametrize(("on", "tier"), POLICIES, ids=["BestEffort", "no policy"])
def test_the_fewest_holds_its_limit_and_its_memory(on: Node, tier: Tier) -> None:
    """
    A limit of five CPUs needs two NUMA nodes, and so do five bytes: on one alone no limit of four
    has its memory near.
    """
    wide = world(burst("b", 1, 5, memory=2), nodes=[on])
    large = world(burst("b", 1, 4, memory=5), nodes=[on])

    assert value(tier, wide, put("b", "0-7", memory={1: 2})) == 0
    assert value(tier, large, put("b", "0-7", memory={0: 4, 1: 1})) == 0
    assert value(tier, large, put("b", "0-3", memory={0: 4, 1: 1})) == 1


@pytest.mark.parametrize(("on", "tier"), POLICIES, ids=["BestEffort", "no policy"])
def test_reserved_cpus_hold_a_limit_in_the_fewest(on: Node, tier: Tier) -> None:
    """
    They are in the pool: four CPUs of which one is reserved need no second NUMA node.
    """
    instance = world(
        burst("b", 1, 4, memory=1), nodes=[replace(on, reserved_cpus=frozenset({0, 4}))]
    )

    assert value(tier, instance, put("b", "0-3", memory={0: 1})) == 0


@pytest.mark.parametrize(("on", "tier"), POLICIES, ids=["BestEffort", "no policy"])
def test_a_device_counts_as_memory_does(on: Node, tier: Tier) -> None:
    """
    Beside CPUs of NUMA node 0, GPU 2 is on one NUMA node more, and not with the CPUs.
    """
    instance = world(burst("b", 1, 3, gpus=1), nodes=[on])

    assert value(tier, instance, put("b", "0-3", gpus=[1])) == 0
    assert value(tier, instance, put("b", "0-3", gpus=[2])) == 2


def test_its_packages_count_whatever_the_policy() -> None:
    """
    Where each NUMA node is a package, CPUs and memory of two are in one more than need be.
    """
    cpus = tuple(
        replace(cpu, package=cpu.numa_node or 0) if cpu.numa_node is not None else cpu
        for cpu in MACHINE.topology.cpus
    )
    machine = replace(MACHINE, topology=replace(MACHINE.topology, cpus=cpus))
    for policy in (AlignmentPolicy.NONE, AlignmentPolicy.BEST_EFFORT):
        instance = world(
            burst("b", 1, 3, memory=2), nodes=[node(machine=machine, alignment=policy)]
        )

        assert value(LOCALITY_PACKAGES, instance, put("b", "0-3", memory={0: 2})) == 0
        assert value(LOCALITY_PACKAGES, instance, put("b", "0-3", memory={1: 2})) == 1


def test_a_pod_of_the_pool_without_the_policy_has_no_such_tier() -> None:
    """
    It floats: its memory is near none of its CPUs in particular.
    """
    pod = burst("b", 1, 3, memory=2)
    floats = replace(pod, spec=replace(pod.spec, constrained_burst=False))
    worth = dict(measure(world(floats), Placement((put("b", ALL_CPUS, memory={0: 2}),))))

    assert LOCALITY_NUMA_NODES not in worth
