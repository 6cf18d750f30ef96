"""Tiny instances whose pods take amounts of what disks, NICs and GPUs share (B1, B11)."""

from collections.abc import Sequence
from dataclasses import replace
from random import Random

from features.feature import gangs_with_specs
from placer_models.capacity import DeviceQuantity, DeviceQuantityUnit
from placer_models.cluster import Instance, Machine, Node, RunningPod
from placer_models.device import GPU, Device
from placer_models.device_share import DeviceShare, amounts_of_share, device_capacity_of
from placer_models.placement import DeviceGrant, PodPlacement
from placer_models.pod import Container, DeviceRequest, Gang, Pod, PodSpec, Resources
from placer_models.policy import QosClass
from pools import pools
from worlds import tiny_instance

DISK = "disk"

QUANTITIES = {
    DISK: (
        ("bandwidth", DeviceQuantityUnit.UNITS),
        ("engine", DeviceQuantityUnit.PERCENT),
        ("space", DeviceQuantityUnit.BYTES),
    ),
    GPU: (("encoders", DeviceQuantityUnit.UNITS),),
}
"""By device type, ascending by name; a device may lack any of them."""

TOTALS = (3, 7, 10, 10, 1001)
"""So small that every amount matters."""


def quantity_instance(seed: int) -> Instance:
    """Draw a tiny instance of pods that ask for amounts of devices, some for little else."""
    rng = Random(f"quantities-{seed}")
    instance = tiny_instance(seed)
    machines = {id(n.machine): _with_quantities(rng, n.machine) for n in instance.nodes}
    nodes = tuple(replace(n, machine=machines[id(n.machine)]) for n in instance.nodes)
    waiting = sum(len(gang.pods) for gang in instance.gangs)
    bare = waiting > 3 or rng.random() < 0.5
    if rng.random() < 0.8:
        nodes = nodes[:1]
    names = {node.name for node in nodes}
    running = tuple(r for r in instance.running if r.placement.node in names)
    tenants = [(runner.pod, runner.placement) for runner in running]
    held = tuple(
        _running(rng, node, i, pools(node, tenants)[QosClass.BE])
        for i, node in enumerate(nodes)
        if rng.random() < 0.4
    )
    return replace(
        instance,
        nodes=nodes,
        gangs=asking_gangs(rng, instance.gangs, nodes, bare=bare),
        running=(*running, *held),
    )


def _with_quantities(rng: Random, machine: Machine) -> Machine:
    """Add disks, and say what they and the GPUs share; many are alike."""
    numa_nodes = [*(n.id for n in machine.topology.numa_nodes), None]
    home, alike = rng.choice(numa_nodes), rng.random() < 0.5
    like = _device(rng, 0, home)
    disks = (
        replace(like, minor=i) if alike else _device(rng, i, rng.choice(numa_nodes))
        for i in range(rng.choice((1, 2, 2, 3)))
    )
    encoders = (DeviceQuantity("encoders", 3),) if rng.random() < 0.5 else ()
    gpus = (
        replace(d, memory_bytes=10, capacity=encoders) if d.type == GPU else d
        for d in machine.devices
    )
    devices = sorted((*disks, *gpus), key=lambda device: (device.type, device.minor))
    return replace(machine, devices=tuple(devices))


def _device(rng: Random, minor: int, home: int | None) -> Device:
    capacity = tuple(
        DeviceQuantity(
            name, 100 if unit is DeviceQuantityUnit.PERCENT else rng.choice(TOTALS), unit
        )
        for name, unit in QUANTITIES[DISK]
        if rng.random() < 0.7
    )
    memory_bytes = rng.choice((0, 0, 7))
    return Device(DISK, minor, memory_bytes=memory_bytes, numa_node=home, capacity=capacity)


def _offered(nodes: Sequence[Node]) -> dict[str, set[str]]:
    """Return what some device of each type shares; no pod may ask for more."""
    offered: dict[str, set[str]] = {DISK: set(), GPU: set()}
    for node in nodes:
        for device in node.machine.devices:
            if device.type in offered:
                offered[device.type] |= {quantity.name for quantity in device.capacity}
                offered[device.type] |= {"memory"} if device.memory_bytes else set()
    return offered


def asking_gangs(
    rng: Random, gangs: Sequence[Gang], nodes: Sequence[Node], *, bare: bool
) -> tuple[Gang, ...]:
    """Let pods ask for amounts; equal members of a gang stay equal.

    Args:
        rng: Draws.
        gangs: What waits.
        nodes: Whose devices say what they share.
        bare: Pods ask for disks and nothing else.

    """
    offered = _offered(nodes)
    return gangs_with_specs(gangs, lambda spec: _spec(rng, spec, offered, bare=bare))


def _spec(rng: Random, spec: PodSpec, offered: dict[str, set[str]], *, bare: bool) -> PodSpec:
    """Return the spec with shares of disks, and of the GPUs that it asks for."""
    if bare:
        spec = PodSpec((Container("app", Resources()),), alignment=spec.alignment)
    elif rng.random() < 0.3:
        return spec
    first, *others = spec.containers
    if spec.strategies or spec.functions or spec.joint or others:
        return spec
    asked = [d for d in first.requests.devices if d.type != GPU]
    if len(asked) < len(first.requests.devices) and "memory" in offered[GPU]:
        share = DeviceShare(
            rng.choice((None, 50)), rng.choice((3, 5)), None, _encoders(rng, offered[GPU])
        )
        asked.append(DeviceRequest(GPU, rng.choice((1, 1, 2)), share))
    elif not asked:
        asked = _of_disks(rng, offered[DISK])
    devices = tuple(sorted(asked, key=lambda d: (d.type, d.share is not None)))
    return replace(
        spec, containers=(replace(first, requests=replace(first.requests, devices=devices)),)
    )


def _encoders(rng: Random, offered: set[str]) -> tuple[DeviceQuantity, ...]:
    return (DeviceQuantity("encoders", rng.choice((1, 2))),) if "encoders" in offered else ()


def _of_disks(rng: Random, offered: set[str]) -> list[DeviceRequest]:
    """Return requests for whole disks, for equal shares of some, or for two kinds of shares."""
    if rng.random() < 0.15:
        return [DeviceRequest(DISK, 1)]
    first = DeviceRequest(DISK, rng.choice((1, 1, 1, 2)), _share(rng, offered))
    if rng.random() < 0.75:
        return [first]
    other = DeviceRequest(DISK, 1, None if rng.random() < 0.3 else _share(rng, offered))
    return [first] if other.share == first.share else [first, other]


def _share(rng: Random, offered: set[str]) -> DeviceShare:
    if "memory" in offered and rng.random() < 0.2:
        part = rng.choice((33, 34, 67))
        return rng.choice((DeviceShare(memory_bytes=4), DeviceShare(memory_percent=part)))
    wanted = tuple(
        DeviceQuantity(name, rng.choice((1, 2, 3, 4, 5, 6, 7, 50)), unit)
        for name, unit in QUANTITIES[DISK]
        if name in offered and rng.random() < 0.6
    )
    return DeviceShare(capacity=wanted) if wanted else DeviceShare(percent=rng.choice((34, 50, 60)))


def _running(rng: Random, node: Node, number: int, cpus: frozenset[int]) -> RunningPod:
    """Return a pod that holds a part of a disk already, or all of it where it cannot give one."""
    device = rng.choice([d for d in node.machine.devices if d.type == DISK])
    share = _share(rng, _offered([node])[DISK])
    held: DeviceShare | None = (
        share if amounts_of_share(share, device_capacity_of(device)) else None
    )
    requests = Resources(devices=(DeviceRequest(DISK, 1, held),))
    pod = Pod(f"holder-{number}", "default", PodSpec((Container("app", requests),), QosClass.BE))
    grant = DeviceGrant(DISK, device.minor, device.id, held)
    return RunningPod(pod, PodPlacement(*pod.key[::-1], None, node.name, cpus, devices=(grant,)))
