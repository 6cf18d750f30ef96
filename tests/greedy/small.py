"""Small nodes and pods, written down by hand."""

from collections.abc import Sequence
from dataclasses import dataclass

from placer.counting.account import accounts_of
from placer.counting.placements import NodeIdAssignmentFailure, realise_choices
from placer.greedy.node_table import GreedyNodeTable
from placer.judge.breaches import Breach, breaches
from placer.state.batch import build_problem
from placer_models.cluster import Instance, Machine, Node, RunningPod
from placer_models.device import GPU, Device, GpuLinkMatrix
from placer_models.placement import Placement
from placer_models.pod import Container, DeviceRequest, Gang, Pod, PodSpec, Resources
from placer_models.policy import (
    AlignmentPolicy,
    BindPolicy,
    GatherLevel,
    QosClass,
    RequiredOrPreferred,
)
from placer_models.problem.problem import Choices, Problem
from placer_models.topology import Cpu, NumaNode, Topology


@dataclass(frozen=True)
class Numa:
    """One NUMA node: the threads of each of its cores, its bytes, its devices."""

    cores: tuple[int, ...] = (2,)
    memory_bytes: int = 0
    gpus: int = 0
    nics: int = 0


def machine(
    *numas: Numa, links: GpuLinkMatrix | None = None, loose: tuple[int, ...] = ()
) -> Machine:
    """Number CPUs core by core, devices NUMA node by NUMA node.

    Args:
        numas: In order of their ids.
        links: Between the GPUs.
        loose: Threads of each core that is on no NUMA node.

    """
    cpus: list[Cpu] = []
    places: list[tuple[int | None, int]] = [
        (home, threads) for home, numa in enumerate(numas) for threads in numa.cores
    ]
    places += [(None, threads) for threads in loose]
    for core, (home, threads) in enumerate(places):
        for _ in range(threads):
            cpus.append(Cpu(id=len(cpus), core=core, package=0, numa_node=home))
    gpus = [home for home, numa in enumerate(numas) for _ in range(numa.gpus)]
    nics = [home for home, numa in enumerate(numas) for _ in range(numa.nics)]
    return Machine(
        name="small",
        title="",
        topology=Topology(
            architecture="x86_64",
            cpus=tuple(cpus),
            numa_nodes=tuple(NumaNode(i, numa.memory_bytes) for i, numa in enumerate(numas)),
        ),
        devices=(
            *(Device(GPU, minor, numa_node=home) for minor, home in enumerate(gpus)),
            *(Device("rdma", minor, numa_node=home) for minor, home in enumerate(nics)),
        ),
        gpu_links=links,
    )


def links_of(rows: Sequence[Sequence[int]]) -> GpuLinkMatrix:
    """Return links between GPUs 0, 1, ... with the values as bandwidths."""
    table = tuple(tuple(row) for row in rows)
    kinds = tuple(tuple("link" for _ in row) for row in table)
    return GpuLinkMatrix(tuple(range(len(table))), table, kinds)


def spec(
    cpus: float = 0,
    *,
    gpus: int = 0,
    nics: int = 0,
    memory_bytes: int = 0,
    qos: QosClass = QosClass.LSR,
    bind: BindPolicy = BindPolicy.DEFAULT,
    required: bool = False,
    alignment: AlignmentPolicy = AlignmentPolicy.NONE,
) -> PodSpec:
    """Return what a pod of one container asks for."""
    devices = [DeviceRequest(GPU, gpus), DeviceRequest("rdma", nics)]
    requests = Resources(
        cpu_milli=int(1000 * cpus),
        memory_bytes=memory_bytes,
        devices=tuple(device for device in devices if device.count),
    )
    return PodSpec(
        containers=(Container("main", requests),),
        qos=qos,
        bind=bind,
        bind_strength=RequiredOrPreferred.REQUIRED if required else RequiredOrPreferred.PREFERRED,
        alignment=alignment,
    )


def gang(
    name: str,
    *specs: PodSpec,
    minimum: int | None = None,
    priority: int = 0,
    weight: int = 1,
    gathered: bool = False,
) -> Gang:
    """Return a gang of pods ``name-0``, ``name-1``, ...; all of them are the minimum."""
    return Gang(
        name=name,
        namespace="default",
        pods=tuple(Pod(f"{name}-{i}", "default", each) for i, each in enumerate(specs)),
        minimum=len(specs) if minimum is None else minimum,
        priority=priority,
        weight=weight,
        gather=GatherLevel.NODE if gathered else None,
    )


def instance(
    machines: Sequence[Machine],
    *gangs: Gang,
    nodes: tuple[Node, ...] = (),
    running: tuple[RunningPod, ...] = (),
) -> Instance:
    """Return gangs that wait, and nodes ``n0``, ``n1``, ... of machines, or given ones."""
    named = tuple(Node(f"n{i}", each) for i, each in enumerate(machines))
    return Instance(nodes=(*named, *nodes), gangs=gangs, running=running)


def realised(world: Instance, choices: Choices) -> Placement:
    """Turn choices into a placement that keeps every rule."""
    accounts = accounts_of(world)
    found = realise_choices(world, accounts, build_problem(world, accounts), choices)
    assert not isinstance(found, NodeIdAssignmentFailure), found
    return found


def faults(world: Instance, choices: Choices) -> tuple[Breach, ...]:
    """Return what the judge finds in choices, made real."""
    return breaches(world, realised(world, choices))


def scanned(table: GreedyNodeTable, problem: Problem, pod: int) -> tuple[int, ...] | None:
    """Return the least cost of a node for the pod, by asking every node."""
    shape = problem.pods[pod]
    bids = [table.bid(shape, table.state(node)) for node in range(len(problem.nodes))]
    return min(((*bid.price, table.spare(bid.state)) for bid in bids if bid), default=None)
