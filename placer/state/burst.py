"""LS pods that stay in the shared pool of some NUMA nodes (C8): whom it holds."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

from placer_models.cluster import Node, RunningPod
from placer_models.cpuset import CpuSet
from placer_models.topology import Topology


def numa_nodes_of(cpus: CpuSet, topology: Topology) -> frozenset[int]:
    """Return the NUMA nodes that the CPUs are on."""
    homes = {topology.cpu[cpu].numa_node for cpu in cpus if cpu in topology.cpu}
    return frozenset(home for home in homes if home is not None)


def within(pool: CpuSet, numa_nodes: Collection[int], topology: Topology) -> CpuSet:
    """Return the CPUs of a pool on the NUMA nodes."""
    return frozenset(cpu for cpu in pool if topology.cpu[cpu].numa_node in numa_nodes)


def pool_within(pool: CpuSet, pod: RunningPod, topology: Topology) -> CpuSet:
    """Return the part of its pool that a pod without CPUs of its own runs in."""
    if not pod.pod.spec.constrained_burst:
        return pool
    return within(pool, numa_nodes_of(pod.placement.cpuset, topology), topology)


def bursts_of(
    node: Node, pods: Iterable[RunningPod]
) -> tuple[tuple[frozenset[int], int, int], ...]:
    """Return NUMA nodes, CPU request in milli and CPUs needed of the constrained pods."""
    return tuple(
        (
            numa_nodes_of(pod.placement.cpuset, node.machine.topology),
            pod.pod.spec.requests.cpu_milli,
            pod.pod.spec.burst_cpus,
        )
        for pod in pods
        if pod.pod.spec.constrained_burst
    )


def cpus_by_numa_node(cpus: CpuSet, topology: Topology) -> dict[int, int]:
    """Count the CPUs on each NUMA node."""
    homes = (topology.cpu[cpu].numa_node for cpu in cpus)
    return dict(Counter(home for home in homes if home is not None))


def requests_fit(room: Mapping[int, int], asked: Iterable[tuple[Collection[int], int]]) -> bool:
    """Return whether all requests can be shared out, each within its own places.

    Requests for the same places are one; who finds no room moves others over, along the
    shortest chain.

    Args:
        room: Place -> what it holds.
        asked: (places, amount).

    """
    total: Counter[frozenset[int]] = Counter()
    for places, amount in asked:
        total[frozenset(places)] += amount
    wants = [(sorted(places), amount) for places, amount in total.items() if amount]
    left = dict(room)
    given: list[Counter[int]] = [Counter() for _ in wants]
    for index, (_, amount) in enumerate(wants):
        while missing := amount - given[index].total():
            if not _move(index, missing, wants, left, given):
                return False
    return True


def _move(
    start: int,
    missing: int,
    wants: Sequence[tuple[list[int], int]],
    left: dict[int, int],
    given: list[Counter[int]],
) -> bool:
    """Find more room for one request along the shortest chain; False: there is none."""
    came: dict[int, tuple[int, int | None]] = dict.fromkeys(wants[start][0], (start, None))
    queue = list(came)
    for place in queue:
        if left.get(place, 0) > 0:
            chain = [place]
            while (before := came[chain[-1]][1]) is not None:
                chain.append(before)
            movers = [came[at][0] for at in chain]
            freed = [given[mover][at] for mover, at in zip(movers, chain[1:], strict=False)]
            amount = min(missing, left[place], *freed)
            left[place] -= amount
            for mover, at in zip(movers, chain, strict=True):
                given[mover][at] += amount
            for mover, at in zip(movers, chain[1:], strict=False):
                given[mover][at] -= amount
            return True
        for other, held in enumerate(given):
            if held[place] > 0:
                fresh = [into for into in wants[other][0] if into not in came]
                came.update(dict.fromkeys(fresh, (other, place)))
                queue += fresh
    return False
