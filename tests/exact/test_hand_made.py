"""Worlds made by hand, in which a rule of the model binds that random ones seldom touch.

In some the rules of two families meet; each of those was wrong once.
"""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from brute_force import best_placement
from exact_checks import check_exact, check_greedy
from judge.cases_apart import NUMA, PCPU, apart
from judge.cases_burst import burst
from judge.cases_functions import WITH_FUNCTIONS
from judge.cases_functions import sharing as wanting_function
from judge.cases_joint import switched
from judge.cases_partitions import scoped
from judge.cases_shares import TEN_BYTES, share, sharing
from judge.hand import node, pod, put, world
from placer_models.cluster import Instance, Machine, Node
from placer_models.device import GPU, Device
from placer_models.placement import PodPlacement
from placer_models.pod import Container, DeviceRequest, DeviceShare, Gang, Pod, PodSpec, Resources
from placer_models.policy import (
    AlignmentPolicy,
    BindPolicy,
    PartitionPolicy,
    QosClass,
    SameTypeDevicesScope,
)
from placer_models.topology import Cpu, NumaNode, Topology

SINGLE = AlignmentPolicy.SINGLE_NUMA_NODE
LSE, LS, BE = QosClass.LSE, QosClass.LS, QosClass.BE
FULL, SPREAD = BindPolicy.FULL_PCPUS, BindPolicy.SPREAD_BY_PCPUS
CPUS = tuple(Cpu(i, core=i // 2, package=0, numa_node=0) for i in range(4))
MACHINE = Machine("two-cores", "", Topology("x86_64", CPUS, (NumaNode(0, 4),)))


def here(*waiting: Pod, running: Sequence[tuple[Pod, PodPlacement]] = ()) -> Instance:
    return world(*waiting, nodes=[node(machine=MACHINE)], running=running)


WIDE = replace(
    MACHINE, topology=replace(MACHINE.topology, cpus=tuple(replace(c, core=0) for c in CPUS))
)
"""One core of four threads."""

TWO_GPUS = replace(
    TEN_BYTES, devices=tuple(d for d in TEN_BYTES.devices if d.type == "gpu" and d.minor < 2)
)

BURST = burst("r", 1, 3), put("r", "0-3")

IDLE = pod("idle", qos=LS), put("idle", "0-3")
IDLE_BE = pod("idle", qos=BE), put("idle", "0-3")


def two_nics_of_one_numa_node() -> Pod:
    plain = pod("a", nics=2, qos=LS)
    return replace(
        plain, spec=replace(plain.spec, scopes=(("rdma", SameTypeDevicesScope.NUMA_NODE),))
    )


WORLDS = {
    "an owner leaves a running LS pod a CPU, though it asks for none": here(
        pod("a", 4), running=[IDLE]
    ),
    "an LSE owner leaves a running BE pod a CPU, though it asks for none": here(
        pod("a", 4, qos=LSE), running=[IDLE_BE]
    ),
    "an LSR owner need not": here(pod("a", 4), running=[IDLE_BE]),
    "nor any where none runs": here(pod("a", 4)),
    "owners leave a new LS pod a CPU, though it asks for none": here(
        pod("a", 3), pod("b", 1), pod("idle", qos=LS)
    ),
    "owners leave several new LS pods a CPU": here(
        pod("a", 4), pod("idle-0", qos=LS), pod("idle-1", qos=LS)
    ),
    "LSE owners leave a new BE pod a CPU, though it asks for none": here(
        pod("a", 3, qos=LSE), pod("b", 1, qos=LSE), pod("idle", qos=BE)
    ),
    "LSE owners leave several new BE pods a CPU": here(
        pod("a", 4, qos=LSE), pod("idle-0", qos=BE), pod("idle-1", qos=BE)
    ),
    "a pod that would spread has one core, where another has the other whole": here(
        pod("a", 2, bind=FULL, required=True), pod("b", 2, bind=SPREAD)
    ),
    "three pods of one NUMA node each fit by the sum, and not by NUMA node": world(
        *(
            pod(name, memory=size, qos=LS, alignment=SINGLE)
            for name, size in (("a", 3), ("b", 3), ("c", 2))
        )
    ),
    "two shares of a pod need two devices": world(
        sharing("a", share(10, 1), share(20, 1)),
        pod("b", gpus=1, qos=LS),
        nodes=[node(machine=TWO_GPUS)],
    ),
    "a device has so many virtual functions, whichever are wanted": world(
        *(wanting_function(f"any-{i}", ()) for i in range(2)),
        *(wanting_function(f"a-{i}") for i in range(2)),
        nodes=[node(machine=WITH_FUNCTIONS)],
    ),
    "two pods that require a NUMA node of their own": here(
        apart("a", NUMA, required=True), apart("b", NUMA, required=True)
    ),
    "an owner leaves a running burst pod its limit": world(pod("a", 7), running=[BURST]),
    "and may have the rest": world(pod("a", 6), running=[BURST]),
    "an owner leaves a running burst pod a CPU on each of its NUMA nodes": world(
        pod("a", 8), running=[(burst("r", 1, 1), put("r", "0-7"))]
    ),
    "running burst pods need their requests on their NUMA node": world(
        pod("a", 3, alignment=SINGLE),
        pod("b", 2, alignment=SINGLE),
        running=[(burst(name, 2, 2), put(name, "0-3")) for name in "rs"],
    ),
    "a new burst pod and an owner want the same CPUs": world(burst("b", 1, 8), pod("a", 2)),
    "a burst pod that asks for nothing has its limit all the same": world(burst("b", 0, 5)),
    "a pod that asks for nothing opens a node all the same": world(
        pod("a", qos=LS), nodes=[replace(node(), offered=True)]
    ),
    "the GPUs that are free are on two NUMA nodes": world(
        scoped(2, SameTypeDevicesScope.NUMA_NODE), nodes=[node(broken_gpus=[0, 3])]
    ),
    "two NICs of one NUMA node, of which another pod needs one": world(
        two_nics_of_one_numa_node(),
        pod("b", gpus=2, nics=1, qos=LS, alignment=SINGLE),
        nodes=[
            replace(
                node(machine=switched("aabb", "aabb")),
                unhealthy=frozenset({("gpu", 2), ("gpu", 3), ("rdma", 3)}),
            )
        ],
    ),
    "two pods that require cores of their own, on one of four threads": world(
        apart("a", PCPU, required=True),
        apart("b", PCPU, required=True),
        nodes=[node(machine=WIDE)],
    ),
}


@pytest.mark.parametrize("instance", WORLDS.values(), ids=WORLDS)
def test_it_is_solved_as_by_brute_force(instance: Instance) -> None:
    """
    The best is proven, and the greedy path breaks nothing.
    """
    best = best_placement(instance)

    check_exact(instance, best)
    check_greedy(instance, best)


TOPOLOGY = Topology("x86_64", (Cpu(0, 0, 0, 0),), (NumaNode(0, 0),))


def alone(*devices: DeviceRequest) -> Gang:
    """Return a lone pod that asks for devices only."""
    spec = PodSpec((Container("main", Resources(devices=devices)),))
    return Gang("pod", "default", (Pod("pod", "default", spec),), 1, lone=True)


def test_whole_gpus_and_shares_are_one_partition() -> None:
    """
    One whole GPU and shares of three others are a partition of four; there is none of one.
    """
    gpus = tuple(Device(GPU, minor, numa_node=0) for minor in range(4))
    node = Node(
        "n",
        Machine("box", "", TOPOLOGY, gpus),
        partitions=((0, 1, 2, 3),),
        partition_policy=PartitionPolicy.HONOR,
    )
    shares = DeviceRequest(GPU, 3, DeviceShare(percent=10, memory_percent=1))
    instance = Instance((node,), (alone(DeviceRequest(GPU, 1), shares),))

    best = best_placement(instance)

    assert len(best.placement.pods) == 1
    check_exact(instance, best)
    check_greedy(instance, best)
