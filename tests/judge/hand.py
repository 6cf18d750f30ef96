"""One small machine and short ways to write pods, placements and instances by hand.

The machine, in NUMA nodes of 4 bytes each::

    NUMA node 0: cores (0 1) (2 3), GPUs 0 and 1, NIC 0
    NUMA node 1: cores (4 5) (6 7), GPUs 2 and 3; CPU 9 is offline
    none: CPU 8

GPUs of one NUMA node are linked at 300 GB/s, any others at 50 GB/s.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from placer_models.affinity import AffinityTerm
from placer_models.cluster import Instance, Machine, Node, RunningPod
from placer_models.cpuset import parse_cpu_list
from placer_models.device import Device, GpuLinkMatrix
from placer_models.environment import Env
from placer_models.network import GangNetworkLevelRule
from placer_models.placement import ContainerPlacement, DeviceGrant, Placement, PodPlacement
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
    NodeBindPolicy,
    QosClass,
    RequiredOrPreferred,
)
from placer_models.topology import Cpu, Hugepages, NumaNode, Topology
from tiny_pods import lone

FAST, SLOW = 30_000, 5_000
"""Speeds of the machine's links, in 0.01 GB/s."""

ALL_CPUS = "0-8"
"""The online CPUs."""


def links(*rows: Sequence[int]) -> GpuLinkMatrix:
    """Return the links between GPUs 0, 1, … by their speeds."""
    return GpuLinkMatrix(
        minors=tuple(range(len(rows))),
        centi_gb_per_s=tuple(map(tuple, rows)),
        kinds=tuple(("L",) * len(rows) for _ in rows),
    )


MACHINE = Machine(
    name="pair",
    title="two NUMA nodes of two cores and two GPUs",
    topology=Topology(
        architecture="x86_64",
        cpus=(
            *(Cpu(i, core=i // 2, package=0, numa_node=i // 4) for i in range(8)),
            Cpu(8, core=8, package=0, numa_node=None),
            Cpu(9, core=9, package=0, numa_node=1, online=False),
        ),
        numa_nodes=(NumaNode(0, 4), NumaNode(1, 4)),
    ),
    devices=(
        *(Device("gpu", i, id=f"GPU-{i}", numa_node=i // 2) for i in range(4)),
        Device("rdma", 0, numa_node=0),
    ),
    gpu_links=links(
        (0, FAST, SLOW, SLOW),
        (FAST, 0, SLOW, SLOW),
        (SLOW, SLOW, 0, FAST),
        (SLOW, SLOW, FAST, 0),
    ),
)


def node(
    name: str = "n",
    machine: Machine = MACHINE,
    *,
    reserved: str = "",
    alignment: AlignmentPolicy = AlignmentPolicy.NONE,
    labels: Mapping[str, str] | None = None,
    broken_gpus: Sequence[int] = (),
    cordoned: bool = False,
    closed: bool = False,
    cpu_bind: NodeBindPolicy = NodeBindPolicy.NONE,
    hugepages: Sequence[tuple[int, int, int]] = (),
    domains: Mapping[str, str] | None = None,
) -> Node:
    return Node(
        name=name,
        machine=machine,
        labels=tuple(sorted((labels or {}).items())),
        reserved_cpus=parse_cpu_list(reserved),
        alignment=alignment,
        unhealthy=frozenset(("gpu", minor) for minor in broken_gpus),
        cordoned=cordoned,
        closed=closed,
        cpu_bind=cpu_bind,
        hugepages=tuple(hugepages),
        domains=tuple(sorted((domains or {}).items())),
    )


def asks(cpu: float = 0, memory: int = 0, gpus: int = 0, nics: int = 0) -> Resources:
    """Return requests; CPUs as people count them."""
    counts = (("gpu", gpus), ("rdma", nics))
    return Resources(
        cpu_milli=round(1000 * cpu),
        memory_bytes=memory,
        devices=tuple(DeviceRequest(kind, count) for kind, count in counts if count),
    )


def with_pages(pod: Pod, *pages: tuple[int, int]) -> Pod:
    """Return the pod whose last container asks for hugepages too: (page size, pages)."""
    *others, last = pod.spec.containers
    asked = replace(last.requests, hugepages=tuple(Hugepages(*each) for each in pages))
    containers = (*others, replace(last, requests=asked))
    return replace(pod, spec=replace(pod.spec, containers=containers))


def sidecar(name: str, cpu: float) -> Container:
    return Container(name, asks(cpu), ContainerRole.RESTARTABLE_INIT)


def init(name: str, cpu: float) -> Container:
    return Container(name, asks(cpu), ContainerRole.INIT)


def pod(
    name: str,
    cpu: float = 0,
    *,
    memory: int = 0,
    gpus: int = 0,
    nics: int = 0,
    beside: Sequence[Container] = (),
    qos: QosClass = QosClass.LSR,
    bind: BindPolicy = BindPolicy.DEFAULT,
    required: bool = False,
    alignment: AlignmentPolicy = AlignmentPolicy.NONE,
    selector: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
    affinity: Sequence[AffinityTerm] = (),
) -> Pod:
    """Return a pod whose container ``app`` asks for all that is given here."""
    return Pod(
        name,
        "default",
        PodSpec(
            containers=(*beside, Container("app", asks(cpu, memory, gpus, nics))),
            qos=qos,
            bind=bind,
            bind_strength=RequiredOrPreferred.REQUIRED
            if required
            else RequiredOrPreferred.PREFERRED,
            alignment=alignment,
            node_selector=tuple(sorted((selector or {}).items())),
            labels=tuple(sorted((labels or {}).items())),
            affinity=tuple(affinity),
        ),
    )


def gang(
    name: str,
    *pods: Pod,
    minimum: int = 1,
    gather: bool = False,
    priority: int = 0,
    weight: int = 1,
    levels: Sequence[GangNetworkLevelRule] = (),
) -> Gang:
    level = GatherLevel.NODE if gather else None
    return Gang(
        name, "default", pods, minimum, priority, weight, gather=level, levels=tuple(levels)
    )


def sees(*gpus: int) -> Env:
    """Return the environment of a container that is shown these GPUs."""
    return (("NVIDIA_VISIBLE_DEVICES", ",".join(map(str, gpus)) or "none"),)


def put(
    name: str,
    cpus: str = "",
    *,
    on: str = "n",
    parts: Mapping[str, str] | None = None,
    memory: Mapping[int, int] | None = None,
    gpus: Sequence[int] = (),
    nics: Sequence[int] = (),
    gang: str | None = None,
) -> PodPlacement:
    """Return a pod's place; its container ``app`` has all its CPUs unless parts are given.

    The last of its containers sees its GPUs, the others see none.
    """
    cpuset = parse_cpu_list(cpus)
    names = list(parts or {"app": cpus})
    return PodPlacement(
        name=name,
        namespace="default",
        gang=gang,
        node=on,
        cpuset=cpuset,
        containers=tuple(
            ContainerPlacement(
                part, parse_cpu_list(text), env=sees(*gpus) if part == names[-1] else sees()
            )
            for part, text in (parts or {"app": cpus}).items()
        ),
        memory_bytes=tuple(sorted((memory or {}).items())),
        devices=(
            *(DeviceGrant("gpu", minor) for minor in gpus),
            *(DeviceGrant("rdma", minor) for minor in nics),
        ),
    )


def at(**nodes: str) -> tuple[PodPlacement, ...]:
    """Return the places of pods, by their names, in the pools of nodes."""
    return tuple(put(name, ALL_CPUS, on=node) for name, node in nodes.items())


def world(
    *waiting: Pod | Gang,
    nodes: Sequence[Node] | None = None,
    running: Sequence[tuple[Pod, PodPlacement]] = (),
    groups: Sequence[Sequence[str]] = (),
) -> Instance:
    return Instance(
        nodes=tuple(nodes or (node(),)),
        gangs=tuple(lone(each) if isinstance(each, Pod) else each for each in waiting),
        groups=tuple(
            GangGroup(f"group-{i}", "default", tuple(("default", name) for name in names))
            for i, names in enumerate(groups)
        ),
        running=tuple(RunningPod(pod, place) for pod, place in running),
    )


def placed(*places: PodPlacement) -> Placement:
    return Placement(places)


def with_id(place: PodPlacement, id: str) -> PodPlacement:
    """Return the place with its first device granted by the id."""
    first, *rest = place.devices
    return replace(place, devices=(replace(first, id=id), *rest))


Places = PodPlacement | Sequence[PodPlacement]


class Edge(NamedTuple):
    """The edge of a rule: places just inside it, and places just outside.

    Attributes:
        bad: If none are given, the good ones are bad in the other world.
        bad_world: Where the bad places are, if not in the same world.

    """

    world: Instance
    good: Places
    bad: Places | None = None
    bad_world: Instance | None = None


class Case(NamedTuple):
    """An edge with the rule that it is of, and a claim: what holds, in a few words."""

    rule: str
    claim: str
    world: Instance
    good: Placement
    bad: Placement
    bad_world: Instance | None


def case(name: str, edge: Edge) -> Case:
    """Return the edge with its name, which is the rule and the claim with a colon between."""
    rule, claim = name.split(": ", 1)
    good, bad = (
        placed(places) if isinstance(places, PodPlacement) else placed(*places)
        for places in (edge.good, edge.good if edge.bad is None else edge.bad)
    )
    return Case(rule, claim, edge.world, good, bad, edge.bad_world)
