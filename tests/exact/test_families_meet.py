"""Small cases in which the rules of two families meet; each was wrong once."""

from brute_force import best_placement
from exact_checks import check_exact, check_greedy
from placer_models.cluster import Instance, Machine, Node
from placer_models.device import GPU, Device
from placer_models.pod import Container, DeviceRequest, DeviceShare, Gang, Pod, PodSpec, Resources
from placer_models.policy import PartitionPolicy
from placer_models.topology import Cpu, NumaNode, Topology

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
