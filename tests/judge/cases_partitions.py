"""The edges of the rules about partitions and scopes."""

from dataclasses import replace

from judge.hand import ALL_CPUS, MACHINE, Case, node, placed, pod, put, world
from placer_models.cluster import Node
from placer_models.device import PartitionTable
from placer_models.pod import Pod
from placer_models.policy import DeviceScope, PartitionPolicy, QosClass

LS = QosClass.LS
HONOR, PREFER = PartitionPolicy.HONOR, PartitionPolicy.PREFER
SWITCHED = replace(
    MACHINE,
    devices=tuple(replace(d, pcie_switch={0: "s", 1: "s"}.get(d.minor)) for d in MACHINE.devices),
)


def fabric(*table: tuple[int, ...], policy: PartitionPolicy = HONOR) -> Node:
    partitions: PartitionTable = table
    return replace(node(), partitions=partitions, partition_policy=policy)


def scoped(gpus: int, scope: DeviceScope) -> Pod:
    plain = pod("a", gpus=gpus, qos=LS)
    return replace(plain, spec=replace(plain.spec, scopes=(("gpu", scope),)))


PARTITION_CASES = (
    Case(
        "partition",
        "the GPUs of a pod are one partition",
        world(pod("a", gpus=2, qos=LS), nodes=[fabric((0, 1), (2, 3), (0, 1, 2, 3))]),
        good=placed(put("a", ALL_CPUS, gpus=[2, 3])),
        bad=placed(put("a", ALL_CPUS, gpus=[1, 2])),
    ),
    Case(
        "partition",
        "two partitions are not one",
        world(pod("a", gpus=4, qos=LS), nodes=[fabric((0, 1), (2, 3), (0, 1, 2, 3))]),
        good=placed(put("a", ALL_CPUS, gpus=[0, 1, 2, 3])),
        bad=placed(put("a", ALL_CPUS, gpus=[0, 1, 2, 3])),
        bad_world=world(pod("a", gpus=4, qos=LS), nodes=[fabric((0, 1), (2, 3))]),
    ),
    Case(
        "partition",
        "one GPU is a partition too, where the table says so",
        world(pod("a", gpus=1, qos=LS), nodes=[fabric((0,), (2, 3))]),
        good=placed(put("a", ALL_CPUS, gpus=[0])),
        bad=placed(put("a", ALL_CPUS, gpus=[1])),
    ),
    Case(
        "partition",
        "a pod without GPUs needs none",
        world(pod("a", nics=1, qos=LS), nodes=[fabric((0, 1))]),
        good=placed(put("a", ALL_CPUS, nics=[0])),
        bad=placed(put("a", ALL_CPUS, gpus=[0])),
        bad_world=world(pod("a", gpus=1, qos=LS), nodes=[fabric((0, 1))]),
    ),
    Case(
        "partition",
        "Prefer refuses nothing",
        world(pod("a", gpus=2, qos=LS), nodes=[fabric((0, 1), policy=PREFER)]),
        good=placed(put("a", ALL_CPUS, gpus=[1, 2])),
        bad=placed(put("a", ALL_CPUS, gpus=[1, 2])),
        bad_world=world(pod("a", gpus=2, qos=LS), nodes=[fabric((0, 1))]),
    ),
    Case(
        "device-scope",
        "all GPUs on one NUMA node",
        world(scoped(2, DeviceScope.NUMA_NODE)),
        good=placed(put("a", ALL_CPUS, gpus=[2, 3])),
        bad=placed(put("a", ALL_CPUS, gpus=[1, 2])),
    ),
    Case(
        "device-scope",
        "two GPUs of unknown switch are within none",
        world(scoped(2, DeviceScope.PCIE), nodes=[node(machine=SWITCHED)]),
        good=placed(put("a", ALL_CPUS, gpus=[0, 1])),
        bad=placed(put("a", ALL_CPUS, gpus=[2, 3])),
    ),
    Case(
        "device-scope",
        "one GPU is within any switch",
        world(scoped(1, DeviceScope.PCIE)),
        good=placed(put("a", ALL_CPUS, gpus=[2])),
        bad=placed(put("a", ALL_CPUS, gpus=[0, 1])),
        bad_world=world(scoped(2, DeviceScope.PACKAGE)),
    ),
)
