"""Tiny instances whose pods take shares of GPUs of different memory."""

from dataclasses import replace
from random import Random

from features.feature import Feature, gangs_with_specs
from placer_models.cluster import Instance, Machine, Node, RunningPod
from placer_models.device import GPU
from placer_models.device_share import DeviceShare, amounts_of_share, device_capacity_of
from placer_models.pod import Container, DeviceRequest, Gang, PodSpec, Resources
from tiny_machines import RDMA
from worlds import tiny_instance

MEMORIES_BYTES = (0, 7, 10, 10, 1001)
"""So small that every rounding shows."""


def with_shares(rng: Random, instance: Instance) -> Instance:
    """Give GPUs memory, and turn requests for whole GPUs and NICs into shares."""
    machines = {}
    for node in instance.nodes:
        if node.machine.name not in machines:
            machines[node.machine.name] = _with_memory(rng, node.machine)
    nodes = tuple(replace(node, machine=machines[node.machine.name]) for node in instance.nodes)
    by_name = {node.name: node for node in nodes}
    return replace(
        instance,
        nodes=nodes,
        gangs=sharing_gangs(rng, instance.gangs),
        running=tuple(
            _running(rng, by_name[runner.placement.node], runner) for runner in instance.running
        ),
    )


def sharing_gangs(rng: Random, gangs: tuple[Gang, ...]) -> tuple[Gang, ...]:
    """Turn what pods ask of devices into shares; equal members of a gang stay equal."""
    return gangs_with_specs(gangs, lambda spec: _shared(rng, spec))


def sharing_instance(seed: int) -> Instance:
    """Draw a tiny instance of pods that take shares, every other of nothing else."""
    rng = Random(f"shares-{seed}")
    dress = shares_only if seed % 2 else with_shares
    return dress(rng, tiny_instance(seed))


def shares_only(rng: Random, instance: Instance) -> Instance:
    """Dress an instance so that its pods want little else, and meet on one node."""
    few = replace(instance, nodes=instance.nodes[:1], gangs=tuple(map(_bare, instance.gangs)))
    running = tuple(r for r in few.running if r.placement.node == few.nodes[0].name)
    return with_shares(rng, replace(few, running=running))


def _bare(gang: Gang) -> Gang:
    """Return the gang with pods that own no CPU and no memory."""
    pods = []
    for pod in gang.pods:
        devices = pod.spec.requests.devices or (DeviceRequest(GPU, 1),)
        container = Container("app", Resources(devices=devices))
        spec = PodSpec((container,), alignment=pod.spec.alignment)
        pods.append(replace(pod, spec=spec))
    return replace(gang, pods=tuple(pods))


def _with_memory(rng: Random, machine: Machine) -> Machine:
    """Draw the memory of each GPU; most machines have GPUs of one kind."""
    same = rng.choice(MEMORIES_BYTES) if rng.random() < 0.6 else None
    return replace(
        machine,
        devices=tuple(
            replace(d, memory_bytes=rng.choice(MEMORIES_BYTES) if same is None else same)
            if d.type == GPU
            else d
            for d in machine.devices
        ),
    )


def _shared(rng: Random, spec: PodSpec) -> PodSpec:
    """Turn what one container alone asks for of a type into shares."""
    containers = list(spec.containers)
    for i, container in enumerate(containers):
        devices = container.requests.devices
        if devices:
            others = [*containers[:i], *containers[i + 1 :]]
            found = [
                part
                for request in devices
                for part in (
                    [request]
                    if any(other.requests.count_of(request.type) for other in others)
                    else _parts(rng, request)
                )
            ]
            requests = replace(container.requests, devices=tuple(found))
            containers[i] = replace(container, requests=requests)
    return replace(spec, containers=tuple(containers))


def _parts(rng: Random, request: DeviceRequest) -> list[DeviceRequest]:
    """Turn a request into one for whole devices, for equal shares or for several kinds."""
    if request.type == RDMA:
        share = DeviceShare(percent=rng.choice((30, 50, 60)))
        return [replace(request, share=share) if rng.random() < 0.5 else request]
    if rng.random() < 0.25:
        return [request]
    first = DeviceRequest(GPU, request.count, _share(rng))
    if request.count == 1 or rng.random() < 0.5:
        return [first]
    other = DeviceRequest(GPU, 1, _share(rng) if rng.random() < 0.7 else None)
    if other.share == first.share:
        return [first]
    parts = [replace(first, count=request.count - 1), other]
    return sorted(parts, key=lambda part: part.share is not None)


def _share(rng: Random) -> DeviceShare:
    percent = rng.choice((None, 10, 34, 50, 60, 100))
    if rng.random() < 0.5:
        return DeviceShare(percent, memory_percent=rng.choice((1, 33, 34, 50, 67)))
    return DeviceShare(percent, memory_bytes=rng.choice((1, 3, 3, 5, 5, 7, 667)))


def _running(rng: Random, node: Node, runner: RunningPod) -> RunningPod:
    """Let a pod that runs hold shares of its devices, where they can give them."""
    requests = runner.pod.spec.requests
    if not requests.devices or rng.random() < 0.3:
        return runner
    total = {(d.type, d.minor): device_capacity_of(d) for d in node.machine.devices}
    shares = {
        request.type: _share(rng) if request.type == GPU else DeviceShare(percent=40)
        for request in requests.devices
    }
    grants = runner.placement.devices
    if any(amounts_of_share(shares[g.type], total[g.type, g.minor]) is None for g in grants):
        return runner
    whole = tuple(replace(r, share=shares[r.type]) for r in requests.devices)
    spec = replace(
        runner.pod.spec, containers=(Container("app", replace(requests, devices=whole)),)
    )
    held = tuple(replace(grant, share=shares[grant.type]) for grant in grants)
    return RunningPod(replace(runner.pod, spec=spec), replace(runner.placement, devices=held))


FEATURE = Feature("shares", with_shares)
