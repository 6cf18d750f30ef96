"""Real machines that are half full, and pods with most words there are."""

from dataclasses import replace
from random import Random

from placer_models.capacity import DeviceQuantity, DeviceQuantityUnit
from placer_models.cluster import Instance, Machine, Node
from placer_models.device import GPU, Device
from placer_models.device_share import DeviceShare
from placer_models.machines.catalogue import load_machine
from placer_models.mig import TABLES
from placer_models.pod import (
    Container,
    DeviceRequest,
    Gang,
    JointDevicesRequest,
    Pod,
    PodSpec,
    Resources,
)
from placer_models.policy import (
    AlignmentPolicy,
    BindPolicy,
    CpuLocalityWish,
    ExclusivePolicy,
    JointDevicesScope,
    QosClass,
    RequiredOrPreferred,
    SameTypeDevicesScope,
)

GIB = 2**30
MACHINES = (
    "dgx-a100",
    "hgx-h100",
    "dgx-1-v100",
    "epyc-7402-nps1",
    "xeon-6230-snc2",
    "core-i7-1270p",
    "knl-7250-snc4",
)
TABLE = "A100-40GB"


def shares(rng: Random, kind: str) -> tuple[DeviceRequest, ...]:
    """Draw parts of devices: by percent, by memory, and maybe a whole one beside them."""
    part = DeviceShare(rng.choice((20, 50, 70)))
    more = DeviceShare(memory_percent=rng.choice((10, 60)))
    parts = [DeviceRequest(kind, rng.randint(1, 2), rng.choice((part, more)))]
    if rng.random() < 0.3:
        parts.insert(0, DeviceRequest(kind, 1))
    return tuple(parts)


def with_disks(rng: Random, machine: Machine) -> Machine:
    """Add disks of two sizes, that share space and bandwidth."""
    disks = tuple(
        Device(
            "disk",
            i,
            capacity=(
                DeviceQuantity("bandwidth", rng.choice((1_000, 3_000))),
                DeviceQuantity("space", rng.choice((1, 2)) * 2**40, DeviceQuantityUnit.BYTES),
            ),
        )
        for i in range(3)
    )
    return replace(machine, devices=(*disks, *machine.devices))


def of_disks(rng: Random) -> tuple[DeviceRequest, ...]:
    """Draw parts of disks: amounts, or percent, and maybe a whole one beside them."""
    space = DeviceQuantity("space", rng.choice((1, 300, 700)) * GIB, DeviceQuantityUnit.BYTES)
    bandwidth = DeviceQuantity("bandwidth", rng.choice((100, 600, 900)))
    capacity = rng.choice(((space,), (bandwidth,), (bandwidth, space)))
    share = DeviceShare(capacity=capacity) if rng.random() < 0.85 else DeviceShare(30)
    parts = [DeviceRequest("disk", rng.randint(1, 2), share)]
    if rng.random() < 0.2:
        parts.insert(0, DeviceRequest("disk", 1))
    return tuple(parts)


def devices(rng: Random) -> tuple[DeviceRequest, ...]:
    """Draw what a pod asks for besides CPUs and memory."""
    instances = [profile.type for profile in TABLES[TABLE] if profile.usual]
    if rng.random() < 0.3:
        return of_disks(rng)
    return rng.choice(
        (
            (),
            (),
            (DeviceRequest(GPU, rng.choice((1, 2, 3, 4, 8))),),
            (DeviceRequest(GPU, rng.choice((1, 2))), DeviceRequest("rdma", 1)),
            (DeviceRequest(rng.choice(instances), rng.choice((1, 2))),),
            shares(rng, GPU),
        )
    )


def spec(rng: Random) -> PodSpec:
    """Draw a pod with many of the words there are."""
    asked = devices(rng)
    cpus, memory_gib = rng.choice((1, 3, 4, 7, 8, 16, 24)), rng.choice((0, 1, 8, 30))
    containers = (Container("main", Resources(1_000 * cpus, memory_gib * GIB, devices=asked)),)
    policy = rng.choice(list(AlignmentPolicy))
    types = {request.type for request in asked}
    parts = any(request.share for request in asked)
    return PodSpec(
        containers,
        rng.choice((QosClass.LSE, QosClass.LSR, QosClass.LSR, QosClass.LS, QosClass.BE)),
        rng.choice((BindPolicy.DEFAULT, BindPolicy.FULL_PCPUS, BindPolicy.SPREAD_BY_PCPUS)),
        rng.choice(
            (
                RequiredOrPreferred.PREFERRED,
                RequiredOrPreferred.PREFERRED,
                RequiredOrPreferred.REQUIRED,
            )
        ),
        policy,
        joint=JointDevicesRequest(
            (GPU, "rdma"), JointDevicesScope.SAME_NUMA_NODE, rng.choice(list(RequiredOrPreferred))
        )
        if types == {GPU, "rdma"}
        else None,
        scopes=((GPU, rng.choice(list(SameTypeDevicesScope))),)
        if types == {GPU} and not parts
        else (),
        locality=rng.choice(((), (), (CpuLocalityWish.LLC,), (CpuLocalityWish.PACKAGE,))),
        exclusive=rng.choice((ExclusivePolicy.NONE, *ExclusivePolicy)),
        exclusive_strength=rng.choice(list(RequiredOrPreferred)),
    )


def instance(seed: int, pods: int = 14) -> Instance:
    """Draw three nodes, and pods that come one by one."""
    rng = Random(seed)
    nodes = []
    for i, name in enumerate(rng.sample(MACHINES, 3)):
        machine = load_machine(name)
        gpus = [device.minor for device in machine.devices if device.type == GPU]
        cut = rng.sample(gpus, 2) if len(gpus) > 4 and rng.random() < 0.5 else []
        machine = with_disks(rng, machine)
        nodes.append(Node(f"n{i}", machine, mig=tuple((minor, TABLE) for minor in sorted(cut))))
    gangs = [
        Gang(f"g{i}", "default", (Pod(f"p{i}", "default", spec(rng)),), minimum=1, lone=True)
        for i in range(pods)
    ]
    return Instance(tuple(nodes), tuple(gangs))
