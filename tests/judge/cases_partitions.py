"""The edges of the rules about partitions and scopes."""

from dataclasses import replace

from judge.hand import ALL_CPUS, MACHINE, Edge, node, pod, put, world
from placer_models.cluster import Node
from placer_models.device import PartitionTable
from placer_models.pod import Pod
from placer_models.policy import PartitionPolicy, QosClass, SameTypeDevicesScope

LS = QosClass.LS
HONOR, PREFER = PartitionPolicy.HONOR, PartitionPolicy.PREFER
SWITCHED = replace(
    MACHINE,
    devices=tuple(replace(d, pcie_switch={0: "s", 1: "s"}.get(d.minor)) for d in MACHINE.devices),
)


def fabric(*table: tuple[int, ...], policy: PartitionPolicy = HONOR) -> Node:
    partitions: PartitionTable = table
    return replace(node(), partitions=partitions, partition_policy=policy)


def scoped(gpus: int, scope: SameTypeDevicesScope) -> Pod:
    plain = pod("a", gpus=gpus, qos=LS)
    return replace(plain, spec=replace(plain.spec, scopes=(("gpu", scope),)))


PARTITION_EDGES = {
    "partition: the GPUs of a pod are one partition": Edge(
        world(pod("a", gpus=2, qos=LS), nodes=[fabric((0, 1), (2, 3), (0, 1, 2, 3))]),
        good=put("a", ALL_CPUS, gpus=[2, 3]),
        bad=put("a", ALL_CPUS, gpus=[1, 2]),
    ),
    "partition: two partitions are not one": Edge(
        world(pod("a", gpus=4, qos=LS), nodes=[fabric((0, 1), (2, 3), (0, 1, 2, 3))]),
        good=put("a", ALL_CPUS, gpus=[0, 1, 2, 3]),
        bad_world=world(pod("a", gpus=4, qos=LS), nodes=[fabric((0, 1), (2, 3))]),
    ),
    "partition: one GPU is a partition too, where the table says so": Edge(
        world(pod("a", gpus=1, qos=LS), nodes=[fabric((0,), (2, 3))]),
        good=put("a", ALL_CPUS, gpus=[0]),
        bad=put("a", ALL_CPUS, gpus=[1]),
    ),
    "partition: a pod without GPUs needs none": Edge(
        world(pod("a", nics=1, qos=LS), nodes=[fabric((0, 1))]),
        good=put("a", ALL_CPUS, nics=[0]),
        bad=put("a", ALL_CPUS, gpus=[0]),
        bad_world=world(pod("a", gpus=1, qos=LS), nodes=[fabric((0, 1))]),
    ),
    "partition: Prefer refuses nothing": Edge(
        world(pod("a", gpus=2, qos=LS), nodes=[fabric((0, 1), policy=PREFER)]),
        good=put("a", ALL_CPUS, gpus=[1, 2]),
        bad_world=world(pod("a", gpus=2, qos=LS), nodes=[fabric((0, 1))]),
    ),
    "device-scope: all GPUs on one NUMA node": Edge(
        world(scoped(2, SameTypeDevicesScope.NUMA_NODE)),
        good=put("a", ALL_CPUS, gpus=[2, 3]),
        bad=put("a", ALL_CPUS, gpus=[1, 2]),
    ),
    "device-scope: two GPUs of unknown switch are within none": Edge(
        world(scoped(2, SameTypeDevicesScope.PCIE), nodes=[node(machine=SWITCHED)]),
        good=put("a", ALL_CPUS, gpus=[0, 1]),
        bad=put("a", ALL_CPUS, gpus=[2, 3]),
    ),
    "device-scope: one GPU is within any switch": Edge(
        world(scoped(1, SameTypeDevicesScope.PCIE)),
        good=put("a", ALL_CPUS, gpus=[2]),
        bad=put("a", ALL_CPUS, gpus=[0, 1]),
        bad_world=world(scoped(2, SameTypeDevicesScope.PACKAGE)),
    ),
}
