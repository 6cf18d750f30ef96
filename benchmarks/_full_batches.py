"""Full batches: nodes, and pods that ask for about all of what these have, drawn from a seed.

There are eight pods for each node, in sets of one to four equal ones, in two priorities. CPU and
memory are drawn alike; the pods ask for a share of what there is, the load.
"""

from argparse import ArgumentParser
from collections.abc import Sequence
from random import Random
from typing import NamedTuple

import _worlds
from _worlds import lone

from placer_models.affinity import AffinityTerm
from placer_models.cluster import Instance, Machine, Node
from placer_models.device import GPU, Device, GpuLinkMatrix
from placer_models.device_share import WHOLE_PERCENT, DeviceShare
from placer_models.pod import Container, DeviceRequest, Gang, Pod, PodSpec, Resources
from placer_models.policy import BindPolicy, QosClass, RequiredOrPreferred
from placer_models.selectors import Labels
from placer_models.topology_spread import SpreadConstraint

PODS_A_NODE = 8
MIB = 2**20
GPU_BYTES = 80 * 2**30
HIGH, LOW = 10, 0
NVLINK_PAIR, NVLINK, PCIE = 10_000, 5_000, 1_600
"""0.01 GB/s between neighbours of an island, in an island, and between islands."""

KIND = "kind"
"""The label that names the kind of a node."""

APP, ZONE = "app", "zone"
"""The label that names the set of a pod, and the one that names the zone of a node."""


class NodeKind(NamedTuple):
    """What a kind of node has, for each part of the whole that its nodes have.

    Attributes:
        each: How many of four nodes are of the kind.

    """

    name: str
    each: int
    cpu_parts: int
    memory_parts: int
    has_gpus: bool


ALIKE = (NodeKind("alike", 4, 1, 1, True),)
UNEQUAL = (
    NodeKind("small", 2, 2, 2, False),
    NodeKind("big", 1, 6, 8, False),
    NodeKind("gpu", 1, 3, 4, True),
)


class Family(NamedTuple):
    """A way to draw pods.

    Attributes:
        percents: What each pod of a set asks for of GPUs, drawn evenly; 200 are two whole ones.
        high_load: What the high priority alone asks for at a load of 1; None: the load
            is what all pods ask for.
        linked: The GPUs of a node have links, and are two islands.
        kinds: The kinds of nodes. Where there are several, half of the sets name one, and
            GPUs are for the sets that name a kind that has them.
        owns_cores: The pods are LSR under FullPCPUs, which is required, and ask for whole cores
            of two threads.
        gangs: Each set is a gang of two to eight; a third of them have members above the minimum.
        sizes: The fewest and the most pods of a set.
        apart: No two pods of a set may be on one node.
        zones: Over how many zones each set is spread evenly; 0: nodes have none.

    """

    percents: tuple[int, ...] = ()
    high_load: float | None = None
    linked: bool = False
    kinds: tuple[NodeKind, ...] = ALIKE
    owns_cores: bool = False
    gangs: bool = False
    sizes: tuple[int, int] = (1, 4)
    apart: bool = False
    zones: int = 0


FAMILIES = {
    "plain": Family(),
    "high": Family(high_load=1.2),
    "mixed": Family(percents=(0, 0, 0, 100, 100, 200)),
    "shares": Family(percents=(0, 0, 20, 30, 50, 70)),
    "linked": Family(percents=(0, 0, 0, 100, 100, 100, 200, 400), linked=True),
    "kinds": Family(percents=(100, 100, 200), kinds=UNEQUAL),
    "cores": Family(owns_cores=True),
    "gangs": Family(gangs=True, sizes=(2, 8)),
    "apart": Family(apart=True, sizes=(2, 8)),
    "spread": Family(zones=4, sizes=(2, 8)),
}


class PodSet(NamedTuple):
    """Equal pods.

    Attributes:
        kind: The kind of node that they name; empty: any.
        minimum: How many of them run together, or none; 0: each runs by itself.

    """

    size: int
    milli: int
    mib: int
    priority: int
    gpu_percent: int
    kind: str = ""
    minimum: int = 0


def batch(family: Family, nodes: int, load: float, seed: int) -> Instance:
    """Return nodes of the family's kinds, and pods that ask for that share of them."""
    sets = drawn(family, PODS_A_NODE * nodes, Random(seed))
    counted = sets
    if family.high_load is not None:
        counted = [one for one in sets if one.priority == HIGH]
        load *= family.high_load
    kinds = [kind for kind in family.kinds for _ in range(kind.each)]
    of_nodes = [kinds[i % len(kinds)] for i in range(nodes)]
    cpu_parts = load * sum(kind.cpu_parts for kind in of_nodes)
    memory_parts = load * sum(kind.memory_parts for kind in of_nodes)
    milli = sum(one.size * one.milli for one in counted)
    mib = sum(one.size * one.mib for one in counted)
    percent = sum(one.size * one.gpu_percent for one in counted)
    with_gpus = sum(kind.has_gpus for kind in of_nodes) if family.percents else 0
    gpus = max(1, round(percent / WHOLE_PERCENT / load / with_gpus)) if with_gpus else 0
    threads = 2 if family.owns_cores else 1
    machines = {
        kind.name: machine(
            kind.name,
            threads * round(kind.cpu_parts * milli / cpu_parts / 1000 / threads),
            threads,
            int(kind.memory_parts * mib / memory_parts) * MIB,
            gpus if kind.has_gpus else 0,
            linked=family.linked,
        )
        for kind in family.kinds
    }
    gangs = [gang for number, one in enumerate(sets) for gang in gangs_of(family, number, one)]
    return Instance(
        tuple(
            Node(
                f"n{i:02}",
                machines[kind.name],
                labels_of(family, kind, i),
            )
            for i, kind in enumerate(of_nodes)
        ),
        tuple(gangs),
    )


def labels_of(family: Family, kind: NodeKind, number: int) -> Labels:
    """Return the labels of a node, as far as pods of the family ask for any."""
    if family.zones:
        return ((ZONE, f"z{number % family.zones}"),)
    return ((KIND, kind.name),) if len(family.kinds) > 1 else ()


def drawn(family: Family, pods: int, rng: Random) -> list[PodSet]:
    """Draw sets of so many pods in all."""
    sets: list[PodSet] = []
    while pods:
        size = min(pods, rng.randint(*family.sizes))
        milli, mib = 10 * rng.randint(100, 1000), rng.randint(100, 1000)
        priority = rng.choice((LOW, HIGH))
        if family.owns_cores:
            milli = 2000 * rng.randint(1, 5)
        kind, may_ask = "", True
        if len(family.kinds) > 1:
            kind = rng.choice([""] * len(family.kinds) + [one.name for one in family.kinds])
            may_ask = any(one.has_gpus for one in family.kinds if one.name == kind)
        gpu_percent = rng.choice(family.percents) if family.percents and may_ask else 0
        minimum = 0
        if family.gangs:
            minimum = rng.choice((size, size, -(-size // 2)))
        sets.append(PodSet(size, milli, mib, priority, gpu_percent, kind, minimum))
        pods -= size
    return sets


def machine(
    name: str, cpus: int, threads: int, memory_bytes: int, gpus: int, *, linked: bool
) -> Machine:
    """Return a machine of one NUMA node, with so many threads to a core."""
    devices = tuple(Device(GPU, i, memory_bytes=GPU_BYTES, numa_node=0) for i in range(gpus))
    links = two_islands(gpus) if linked and gpus else None
    return _worlds.machine(
        name, cpus, (memory_bytes,), threads=threads, devices=devices, gpu_links=links
    )


def two_islands(gpus: int) -> GpuLinkMatrix:
    """Return links that are fast between neighbours, less so in half of the GPUs, else slow."""

    def rate(a: int, b: int) -> int:
        if a == b:
            return 0
        if 2 * a // gpus != 2 * b // gpus:
            return PCIE
        return NVLINK_PAIR if a // 2 == b // 2 else NVLINK

    names = {0: "X", PCIE: "SYS", NVLINK: "NV2", NVLINK_PAIR: "NV4"}
    rates = tuple(tuple(rate(a, b) for b in range(gpus)) for a in range(gpus))
    kinds = tuple(tuple(names[one] for one in row) for row in rates)
    return GpuLinkMatrix(tuple(range(gpus)), rates, kinds)


def gangs_of(family: Family, number: int, one: PodSet) -> Sequence[Gang]:
    """Return the set as one gang, or as pods that each run by themselves."""
    itself = ((APP, f"set-{number}"),)
    requests = Resources(one.milli, one.mib * MIB, devices=gpus_of(one.gpu_percent))
    spec = PodSpec(
        (Container("main", requests),),
        QosClass.LSR if family.owns_cores else QosClass.LS,
        bind=BindPolicy.FULL_PCPUS if family.owns_cores else BindPolicy.DEFAULT,
        bind_strength=RequiredOrPreferred.REQUIRED
        if family.owns_cores
        else RequiredOrPreferred.PREFERRED,
        node_selector=((KIND, one.kind),) if one.kind else (),
        labels=itself if family.apart or family.zones else (),
        affinity=(AffinityTerm(itself, apart=True),) if family.apart else (),
        spread=(SpreadConstraint(ZONE, labels=itself, by_selector=False),) if family.zones else (),
    )
    pods = tuple(Pod(f"set-{number}-{i}", "default", spec) for i in range(one.size))
    if one.minimum:
        return (Gang(f"set-{number}", "default", pods, one.minimum, priority=one.priority),)
    return [lone(pod, one.priority) for pod in pods]


def gpus_of(percent: int) -> tuple[DeviceRequest, ...]:
    """Return the request for whole GPUs, or for a part of one."""
    if not percent:
        return ()
    if percent < WHOLE_PERCENT:
        return (DeviceRequest(GPU, 1, DeviceShare(percent, memory_percent=percent)),)
    return (DeviceRequest(GPU, percent // WHOLE_PERCENT),)


def add_batch_options(parser: ArgumentParser, family: list[str], nodes: list[int]) -> None:
    """Add the options that say which batches are drawn, and the seconds for each."""
    parser.add_argument("--family", choices=FAMILIES, nargs="+", default=family)
    parser.add_argument("--nodes", type=int, nargs="+", default=nodes)
    parser.add_argument("--seeds", type=int, nargs="+", default=list(range(5)))
    parser.add_argument("--seconds", type=float, default=10.0)
