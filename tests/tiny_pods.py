"""Random pods and gangs for tiny instances."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random

from placer_models.cluster import Node
from placer_models.device import GPU
from placer_models.pod import (
    Container,
    ContainerRole,
    DeviceRequest,
    Gang,
    GangGroup,
    Pod,
    PodSpec,
    Resources,
)
from placer_models.policy import (
    AlignmentPolicy,
    BindPolicy,
    GatherLevel,
    QosClass,
    RequiredOrPreferred,
)
from tiny_machines import RDMA

QOS = (*[QosClass.LSR] * 4, *[QosClass.LSE] * 2, *[QosClass.LS] * 3, QosClass.BE)
"""What is drawn from: pods that own CPUs are the hard ones."""


@dataclass(frozen=True, slots=True)
class Scale:
    """What the largest of the nodes has, so that pods are drawn neither idle nor hopeless."""

    cpus: int
    memory_units: int
    unit_bytes: int
    gpus: int
    nics: int
    gpu_counts: tuple[int, ...] = (0, 0, 0, 1, 1, 2, 2, 3, 3, 4)


def scale_of(nodes: Sequence[Node], unit_bytes: int) -> Scale:
    """Return what the largest of the nodes has."""
    machines = [node.machine for node in nodes]
    return Scale(
        cpus=max(len(machine.topology.online) for machine in machines),
        memory_units=max(machine.topology.memory_bytes for machine in machines) // unit_bytes,
        unit_bytes=unit_bytes,
        gpus=max(sum(d.type == GPU for d in machine.devices) for machine in machines),
        nics=max(sum(d.type == RDMA for d in machine.devices) for machine in machines),
    )


def lone(pod: Pod, *, priority: int = 0, weight: int = 1) -> Gang:
    """Return the gang of one that stands for a pod without a gang."""
    return Gang(
        pod.name, pod.namespace, (pod,), minimum=1, priority=priority, weight=weight, lone=True
    )


def tiny_gangs(rng: Random, scale: Scale) -> tuple[Gang, ...]:
    """Draw gangs and lone pods, four pods in all at most."""
    left = rng.choice((1, 2, 3, 4, 4, 4, 4))
    priorities = rng.sample((0, 5, 10, -1), rng.choice((1, 1, 2, 3)))
    gangs: list[Gang] = []
    while left:
        size = min(left, rng.choice((1, 1, 2, 2, 2, 3)))
        name = f"g{len(gangs)}"
        specs = [tiny_spec(rng, scale)] * size
        if rng.random() < 0.4:  # members may differ
            specs = [tiny_spec(rng, scale) for _ in range(size)]
        pods = tuple(Pod(f"{name}-{i}", "default", spec) for i, spec in enumerate(specs))
        priority, weight = rng.choice(priorities), rng.choice((1, 1, 1, 2, 5))
        if size == 1 and rng.random() < 0.7:
            gangs.append(lone(pods[0], priority=priority, weight=weight))
        else:
            gather = GatherLevel.NODE if rng.random() < 0.5 else None
            minimum = rng.randint(1, size)
            gangs.append(Gang(name, "default", pods, minimum, priority, weight, gather=gather))
        left -= size
    return tuple(gangs)


def tiny_groups(rng: Random, gangs: Sequence[Gang]) -> tuple[GangGroup, ...]:
    """Draw a group of two gangs, where there are two."""
    members = [gang.key for gang in gangs if not gang.lone]
    if len(members) < 2 or rng.random() < 0.4:
        return ()
    return (GangGroup("group", "default", tuple(rng.sample(members, 2))),)


def tiny_alignment(rng: Random, unset: float) -> AlignmentPolicy:
    """Draw a policy; it is not set with the probability given."""
    if rng.random() < unset:
        return AlignmentPolicy.NONE
    best_effort = AlignmentPolicy.BEST_EFFORT  # twice: it has a tier of its own
    return rng.choice((best_effort, *list(AlignmentPolicy)[1:]))


def tiny_spec(rng: Random, scale: Scale) -> PodSpec:
    """Draw what a pod wants; small next to a tiny machine, so that several fit."""
    qos = rng.choice(QOS)
    if qos.owns_cpus:
        cpu_milli = 1000 * rng.choice([n for n in (1, 1, 2, 2, 3, 4) if n <= max(1, scale.cpus)])
    else:
        cpu_milli = rng.choice((0, 250, 500, 1000, 1500, 2000))
    memory = 0
    if scale.memory_units and rng.random() < 0.6:
        most = 1 + scale.memory_units // 2
        memory = rng.randint(1, most) * scale.unit_bytes + rng.choice((0, 0, 0, 0, 1))
    gpus = rng.choice(scale.gpu_counts)
    gpus = gpus if rng.random() < 0.05 else min(gpus, scale.gpus)
    nics = min(rng.choice((0, 0, 0, 1)), scale.nics)
    requests = Resources(
        cpu_milli=cpu_milli,
        memory_bytes=memory,
        devices=tuple(DeviceRequest(kind, n) for kind, n in ((GPU, gpus), (RDMA, nics)) if n),
    )
    bind = rng.choice(tuple(BindPolicy))
    required = RequiredOrPreferred.REQUIRED if rng.random() < 0.3 else RequiredOrPreferred.PREFERRED
    return PodSpec(
        containers=_containers(rng, requests),
        qos=qos,
        bind=bind,
        bind_strength=required if bind is not BindPolicy.DEFAULT else RequiredOrPreferred.PREFERRED,
        alignment=tiny_alignment(rng, unset=0.65),
        node_selector=(("zone", rng.choice("ab")),) if rng.random() < 0.05 else (),
    )


def _containers(rng: Random, requests: Resources) -> tuple[Container, ...]:
    """Part a pod's requests among containers; together they ask for just that."""
    if rng.random() < 0.75:
        return (Container("app", requests),)
    half_milli = requests.cpu_milli // 2000 * 1000
    rest = replace(requests, cpu_milli=requests.cpu_milli - half_milli)
    match rng.randrange(4):
        case 0:  # two that run together
            return (Container("app", rest), Container("web", Resources(cpu_milli=half_milli)))
        case 1:  # a sidecar
            sidecar = Container("log", Resources(half_milli), ContainerRole.RESTARTABLE_INIT)
            return (sidecar, Container("app", rest))
        case 2:  # an init container that asks for more CPUs than what comes after it
            init = Container("init", Resources(requests.cpu_milli), ContainerRole.INIT)
            return (init, Container("app", rest))
        case _:  # one that asks for nothing
            return (Container("app", requests), Container("idle", Resources()))
