"""Random tiny machines, as uneven as real ones: at most 8 CPUs, 4 GPUs, 4 NUMA nodes."""

from collections.abc import Sequence
from itertools import count
from random import Random

from even_topologies import even_topology
from placer_models.cluster import Machine, Node
from placer_models.device import GPU, Device, GpuLinkMatrix
from placer_models.policy import HybridCoreKind
from placer_models.topology import Cpu, NumaNode, Topology

RDMA = "rdma"

SPEEDS_CENTI_GB_PER_S = (0, 1_000, 3_150, 5_000, 30_000)


def tiny_machine(rng: Random, name: str, unit_bytes: int, least_gpus: int) -> Machine:
    """Draw a machine; each NUMA node has up to 6 units of memory."""
    count = rng.choice((1, 1, 2, 2, 2, 3, 4))
    numa_ids = list(range(count)) if rng.random() < 0.8 else sorted(rng.sample(range(6), count))
    gpus = _gpus(rng, numa_ids, least_gpus)
    return Machine(
        name=name,
        title="a tiny machine",
        topology=Topology(
            architecture="x86_64",
            cpus=_cpus(rng, numa_ids),
            numa_nodes=tuple(
                NumaNode(n, 0 if rng.random() < 0.15 else rng.randint(1, 6) * unit_bytes)
                for n in numa_ids
            ),
        ),
        devices=(*gpus, *_nics(rng, numa_ids)),
        gpu_links=_links(rng, [gpu.minor for gpu in gpus]),
    )


def unused_name(nodes: Sequence[Node]) -> str:
    """Return a name for one node more."""
    names = {node.name for node in nodes}
    return next(name for i in count(len(nodes)) if (name := f"n{i}") not in names)


def _cpus(rng: Random, numa_ids: Sequence[int]) -> tuple[Cpu, ...]:
    """Draw cores until there are CPUs enough, then number their threads."""
    wanted = rng.choice((2, 4, 6, 6, 8, 8, 8, 8))
    smt = rng.choice((1, 2, 2, 2, 2, 4))
    hybrid = smt > 1 and rng.random() < 0.2
    homeless = rng.random() < 0.15  # some CPUs are listed under no NUMA node
    threads: list[tuple[int, int, int | None, HybridCoreKind]] = []
    core = 0
    while len(threads) < wanted:
        small = hybrid and rng.random() < 0.4
        width = 1 if small else smt
        if width > 1 and rng.random() < 0.15:
            width -= 1  # a sibling is missing
        numa = numa_ids[core % len(numa_ids)] if rng.random() < 0.6 else rng.choice(numa_ids)
        home = None if homeless and rng.random() < 0.4 else numa
        kind = HybridCoreKind.EFFICIENCY if small else HybridCoreKind.PERFORMANCE
        threads += [
            (thread, core, home, kind) for thread in range(min(width, wanted - len(threads)))
        ]
        core += 1
    if rng.random() < 0.5:
        threads.sort(key=lambda t: t[0])  # first all first threads, as most x86 servers count
    ids = range(len(threads)) if rng.random() < 0.8 else sorted(rng.sample(range(12), len(threads)))
    offline = 0.15 if rng.random() < 0.25 else 0.0
    return tuple(
        Cpu(
            id=cpu,
            core=core,
            package=0 if home is None else 2 * numa_ids.index(home) // len(numa_ids),
            numa_node=home,
            kind=kind,
            online=rng.random() >= offline,
        )
        for cpu, (_, core, home, kind) in zip(ids, threads, strict=True)
    )


def _gpus(rng: Random, numa_ids: Sequence[int], least: int) -> tuple[Device, ...]:
    count = max(least, rng.choice((0, 1, 2, 3, 4, 4, 4, 4)))
    minors = range(count) if rng.random() < 0.85 else sorted(rng.sample(range(6), count))
    broken = 0.25 if rng.random() < 0.25 else 0.0
    homes = _homes(rng, numa_ids, count)
    return tuple(
        Device(GPU, minor, id=f"GPU-{minor}", numa_node=home, healthy=rng.random() >= broken)
        for minor, home in zip(minors, homes, strict=True)
    )


def _nics(rng: Random, numa_ids: Sequence[int]) -> tuple[Device, ...]:
    count = rng.choice((0, 0, 0, 1, 2))
    homes = _homes(rng, numa_ids, count)
    return tuple(Device(RDMA, minor, numa_node=home) for minor, home in enumerate(homes))


def _homes(rng: Random, numa_ids: Sequence[int], count: int) -> list[int | None]:
    """Draw the NUMA node of each device; some machines know few of them, or none."""
    unknown = rng.choice((0.0, 0.0, 0.0, 0.0, 0.0, 0.3, 1.0))
    return [None if rng.random() < unknown else rng.choice(numa_ids) for _ in range(count)]


def _links(rng: Random, minors: Sequence[int]) -> GpuLinkMatrix | None:
    """Draw a symmetric matrix of few distinct speeds; some machines know none."""
    if not minors or rng.random() < 0.1:
        return None
    speeds = rng.sample(SPEEDS_CENTI_GB_PER_S, rng.choice((1, 2, 3, 3, 4)))
    rows = [[0] * len(minors) for _ in minors]
    for i in range(len(minors)):
        for j in range(i):
            rows[i][j] = rows[j][i] = rng.choice(speeds)
    return GpuLinkMatrix(
        minors=tuple(minors),
        centi_gb_per_s=tuple(tuple(row) for row in rows),
        kinds=tuple(
            tuple("X" if i == j else "L" for j, _ in enumerate(rows)) for i in range(len(rows))
        ),
        shared_egress=rng.random() < 0.2,
    )


def node_of_cores(name: str = "n", *, cores: int, threads: int = 2, numa_nodes: int = 1) -> Node:
    """Return a node whose CPUs are numbered core by core."""
    topology = even_topology(cores * threads, *(0,) * numa_nodes, threads=threads)
    return Node(name, Machine("m", "", topology))
