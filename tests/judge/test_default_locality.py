"""The tiers of default locality, by hand: where what a pod holds is, and how few places do."""

from dataclasses import replace

import pytest

from judge.hand import MACHINE, node, pod, put, world
from placer.judge.breaches import breaches
from placer.judge.measure import measure
from placer_models.cluster import Instance, Machine
from placer_models.device import Device
from placer_models.goals import LOCALITY_NUMA_NODES, LOCALITY_PACKAGES
from placer_models.placement import Placement, PodPlacement
from placer_models.policy import AlignmentPolicy, QosClass
from placer_models.topology import Cpu, NumaNode, Topology

BOX = Machine(
    "box",
    "",
    Topology(
        "x86_64",
        tuple(Cpu(i, core=i // 2, package=i // 8, numa_node=i // 4) for i in range(16)),
        (*(NumaNode(i, 8) for i in range(4)), NumaNode(4, 8)),
    ),
    devices=(
        *(Device("gpu", i, id=f"GPU-{i}", numa_node=i) for i in range(4)),
        Device("gpu", 4, id="GPU-4"),
    ),
)
"""Two packages of two NUMA nodes, each of two cores of two threads and a GPU; a NUMA node of
memory alone, and a GPU of no NUMA node."""

BEST_EFFORT = AlignmentPolicy.BEST_EFFORT


def values(instance: Instance, *places: PodPlacement) -> tuple[int, int]:
    """Return what the two tiers say of places without breaches."""
    placement = Placement(places)
    assert breaches(instance, placement) == ()
    worth = dict(measure(instance, placement))
    return worth[LOCALITY_NUMA_NODES], worth[LOCALITY_PACKAGES]


@pytest.mark.parametrize(
    ("cpus", "memory", "beyond"),
    [
        ("0-3", {0: 8}, (0, 0)),
        ("0-1,4-5", {0: 8}, (1, 0)),  # two NUMA nodes of one package
        ("0-1,8-9", {0: 8}, (1, 1)),
        ("0-3", {1: 8}, (1, 0)),  # memory is as far as CPUs are
        ("0-3", {2: 8}, (1, 1)),
        ("0-3", {4: 8}, (1, 0)),  # memory without CPUs is in no package
        ("0-1,4-5", {2: 4, 3: 4}, (3, 1)),
    ],
)
def test_cpus_and_memory_count_beyond_what_the_empty_node_needs(
    cpus: str, memory: dict[int, int], beyond: tuple[int, int]
) -> None:
    """
    One NUMA node has four CPUs and eight units, all that the pod asks for.
    """
    instance = world(pod("a", 4, memory=8), nodes=[node(machine=BOX)])

    assert values(instance, put("a", cpus, memory=memory)) == beyond


def test_what_the_empty_node_needs_is_not_counted() -> None:
    """
    Six CPUs are two NUMA nodes of one package at best, and ten are three in two packages.
    """
    six = world(pod("a", 6), nodes=[node(machine=BOX)])
    ten = world(pod("a", 10), nodes=[node(machine=BOX)])

    assert values(six, put("a", "0-5")) == (0, 0)
    assert values(six, put("a", "0-3,8-9")) == (0, 1)
    assert values(ten, put("a", "0-9")) == (0, 0)


def test_devices_count_and_those_without_a_numa_node_do_not() -> None:
    """
    Two GPUs may be one that has a NUMA node and one that has none: one NUMA node is enough.
    """
    instance = world(pod("a", 1, gpus=2, qos=QosClass.LS), nodes=[node(machine=BOX)])

    def place(*gpus: int) -> PodPlacement:
        return put("a", "0-15", gpus=gpus)

    assert values(instance, place(0, 4)) == (0, 0)
    assert values(instance, place(0, 1)) == (1, 0)
    assert values(instance, place(1, 2)) == (1, 1)


def test_a_policy_has_its_own_tier_and_packages_count_all_the_same() -> None:
    """
    Under BestEffort tier alignment counts the NUMA nodes.
    """
    instance = world(pod("a", 4, alignment=BEST_EFFORT), nodes=[node(machine=BOX)])

    assert values(instance, put("a", "0-1,4-5")) == (0, 0)
    assert values(instance, put("a", "0-1,8-9")) == (0, 1)


def test_restricted_without_a_width_holds_nothing_together() -> None:
    """
    A GPU without a NUMA node leaves GPUs without a width; with a CPU, owned or of a pool, there
    is one.
    """
    policy = AlignmentPolicy.RESTRICTED
    pool = pod("a", gpus=2, qos=QosClass.LS, alignment=policy)
    bound = pod("a", 1, gpus=2, qos=QosClass.LS, alignment=policy)
    owner = pod("a", 1, gpus=2, alignment=policy)

    assert values(world(pool, nodes=[node(machine=BOX)]), put("a", "0-15", gpus=(0, 1))) == (1, 0)
    assert values(world(owner, nodes=[node(machine=BOX)]), put("a", "0", gpus=(0, 4))) == (0, 0)
    assert values(world(bound, nodes=[node(machine=BOX)]), put("a", "0-3", gpus=(0, 4))) == (0, 0)


def test_a_bound_pod_is_in_the_packages_of_its_pool() -> None:
    """
    Six CPUs of a pool are of two NUMA nodes, whose packages count where the pod holds nothing, too.
    """
    bound = pod("a", 6, gpus=2, qos=QosClass.LS, alignment=AlignmentPolicy.RESTRICTED)
    instance = world(bound, nodes=[node(machine=BOX)])

    assert values(instance, put("a", "0-7", gpus=(0, 4))) == (0, 0)
    assert values(instance, put("a", "0-3,8-11", gpus=(0, 4))) == (0, 1)


def test_cpus_say_their_package_where_a_numa_node_has_two() -> None:
    """
    With one NUMA node over both packages memory says nothing, and CPUs do.
    """
    cpus = tuple(replace(cpu, numa_node=0) for cpu in BOX.topology.cpus)
    flat = Machine("flat", "", Topology("x86_64", cpus, (NumaNode(0, 8),)))
    instance = world(pod("a", 4, memory=8), nodes=[node(machine=flat)])

    worth = {
        cpus: dict(measure(instance, Placement((put("a", cpus, memory={0: 8}),))))
        for cpus in ("0-3", "0-1,8-9")
    }

    assert LOCALITY_NUMA_NODES not in worth["0-3"]
    assert [of[LOCALITY_PACKAGES] for of in worth.values()] == [0, 1]


def test_memory_alone_and_single_things_have_no_tier() -> None:
    """
    A pod of the pool with memory is not told apart from its equals; one CPU is in one place.
    """
    for one in (pod("a", 2, memory=8, qos=QosClass.LS), pod("a", 1), pod("a", gpus=1)):
        asked = dict(measure(world(one, nodes=[node(machine=BOX)]), Placement()))
        assert LOCALITY_NUMA_NODES not in asked
        assert LOCALITY_PACKAGES not in asked


def test_one_package_has_no_tier_of_packages() -> None:
    """
    The machine of these tests has two NUMA nodes in one package.
    """
    asked = dict(measure(world(pod("a", 2), nodes=[node(machine=MACHINE)]), Placement()))

    assert LOCALITY_NUMA_NODES in asked
    assert LOCALITY_PACKAGES not in asked
