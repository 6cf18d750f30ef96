"""One leaf of an enumeration: who owns what, made into a placement the judge can read."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise, product

from dressing import dressed
from placer_models.bound import is_bound_by_policy, numa_nodes_bound_to
from placer_models.cluster import Instance, Node
from placer_models.cpuset import CpuSet
from placer_models.device import admits_virtual_function
from placer_models.device_strategy import DeviceCountStrategy
from placer_models.placement import ContainerPlacement, DeviceGrant, PodPlacement
from placer_models.pod import ContainerRole, DeviceRequest, Gang, Pod, PodSpec
from placer_models.policy import QosClass
from pools import pools

Room = Mapping[int, int]
"""NUMA node -> bytes, or pages of one size."""

MEMORY = 0
"""Stands for memory where others are hugepages by the size of a page."""

CPU = -1
"""Stands for what a bound pod counts of its CPU request where its containers have own pools."""

Held = Mapping[int, Room]
"""MEMORY, CPU or the size of a page -> what of it, by NUMA node."""


Milli = tuple[tuple[int, int], ...] | None
"""As in ``PodPlacement``."""


def there(pod: Pod, node: Node) -> Pod:
    """Return the pod with what the first of its variants asks for whose labels the node has."""
    for one in pod.spec.variants:
        if all(label in node.labels for label in one.labels):
            return replace(pod, spec=replace(pod.spec, containers=one.containers, variants=()))
    return pod


@dataclass(frozen=True, slots=True)
class Stay:
    """One pod on one node, with CPUs and devices, but not yet memory or pools."""

    gang: Gang
    pod: Pod
    node: Node
    cpus: CpuSet = frozenset()
    grants: tuple[DeviceGrant, ...] = ()
    parts: tuple[ContainerPlacement, ...] = ()

    @property
    def key(self) -> tuple[object, ...]:
        """What tells stays of one instance apart; hashing a whole machine is slow."""
        return self.pod.key, self.node.name, self.cpus, self.grants

    def place(
        self, held: Held, cpuset: CpuSet, cpu_milli: Milli = None, pool: CpuSet = frozenset()
    ) -> PodPlacement:
        """Return the pod's placement on the CPUs, its own or its part of the pool."""
        memory = held.get(MEMORY, {})
        topology = self.node.machine.topology

        def own_pool(part: ContainerPlacement) -> CpuSet:
            homes = {numa for numa, _ in part.cpu_milli or ()}
            mine = frozenset(cpu for cpu in pool if topology.cpu[cpu].numa_node in homes)
            return mine if homes else cpuset

        place = PodPlacement(
            name=self.pod.name,
            namespace=self.pod.namespace,
            gang=None if self.gang.lone else self.gang.name,
            node=self.node.name,
            cpuset=cpuset,
            containers=tuple(
                part if self.pod.spec.qos.owns_cpus else replace(part, cpuset=own_pool(part))
                for part in self.parts
            )
            or _parts(self.pod, cpuset),
            memory_bytes=tuple(sorted((n, held) for n, held in memory.items() if held)),
            hugepages=tuple(
                sorted(
                    (numa_node, size, count)
                    for size, room in held.items()
                    for numa_node, count in room.items()
                    if size not in (MEMORY, CPU) and count
                )
            ),
            devices=self.grants,
            cpu_milli=cpu_milli,
        )
        return dressed(place, self.pod.spec, self.node)


class TooManyLeavesError(Exception):
    """The world is too large to try everything."""


def may_be_bound(pod: Pod, node: Node) -> bool:
    """Return whether something binds the pod to the pool of NUMA nodes."""
    return pod.spec.constrained_burst or is_bound_by_policy(pod.spec, node)


def homes_tried(pod: Pod, node: Node) -> list[CpuSet]:
    """Return the CPUs of the NUMA nodes, for each way to bind a pod to some, or to none."""
    return (
        [frozenset(), *burst_homes(node)]
        if is_bound_by_policy(pod.spec, node)
        else burst_homes(node)
    )


def burst_homes(node: Node) -> list[CpuSet]:
    """Return the CPUs of each set of NUMA nodes in which a bound pod could be."""
    by_home: dict[int, CpuSet] = {}
    for cpu in node.machine.topology.cpus:
        if cpu.online and cpu.numa_node is not None:
            by_home[cpu.numa_node] = by_home.get(cpu.numa_node, frozenset()) | {cpu.id}
    sizes = range(1, len(by_home) + 1)
    return [
        frozenset().union(*(by_home[home] for home in homes))
        for size in sizes
        for homes in combinations(sorted(by_home), size)
    ]


def device_counts(spec: PodSpec, asked: DeviceRequest, node: Node) -> range:
    """Return how many devices of a type a pod might have on the node, at most.

    All that are healthy, or no more than it has of the type that they follow.
    """
    match dict(spec.strategies).get(asked.type):
        case None:
            return range(asked.count, asked.count + 1)
        case DeviceCountStrategy.APPLY_FOR_ALL:
            healthy = sum(d.type == asked.type and node.is_healthy(d) for d in node.devices)
            return range(healthy, healthy + 1)
        case DeviceCountStrategy.APPLY_FOR_EACH_GROUP:
            first = spec.joint.types[0] if spec.joint else ""
            return range(1, spec.requests.count_of(first) + 1)


def held_at(home: PodPlacement) -> Held:
    """Return the memory and hugepages of a pod that stays."""
    held: dict[int, dict[int, int]] = {MEMORY: dict(home.memory_bytes)}
    for numa_node, size, count in home.hugepages:
        held.setdefault(size, {})[numa_node] = count
    return held


def needs_of(pod: Pod) -> dict[int, int]:
    """Return what the pod needs of memory and of each size of hugepages; no zeros."""
    requests = pod.spec.requests
    needs = {MEMORY: requests.memory_bytes, **{h.page_bytes: h.count for h in requests.hugepages}}
    return {kind: need for kind, need in needs.items() if need}


def room_left(instance: Instance, node: Node, kind: int) -> dict[int, int]:
    """Return what running pods leave of memory, or of pages of a size, by NUMA node."""
    numa_nodes = node.machine.topology.numa_nodes
    room = {numa.id: numa.memory_bytes for numa in numa_nodes}
    pages = {(numa.id, h.page_bytes): h.count for numa in numa_nodes for h in numa.hugepages}
    pages |= {(numa_node, size): count for numa_node, size, count in node.hugepages}
    for (numa_node, size), count in pages.items():
        room[numa_node] -= size * count
    if kind != MEMORY:
        room = {numa_node: pages.get((numa_node, kind), 0) for numa_node in room}
    for runner in instance.running:
        if runner.placement.node == node.name:
            taken = (
                runner.placement.memory_bytes
                if kind == MEMORY
                else [
                    (numa_node, count)
                    for numa_node, size, count in runner.placement.hugepages
                    if size == kind
                ]
            )
            for numa_node, held in taken:
                room[numa_node] -= held
    # Running pods may overfill a NUMA node: then it has nothing to give.
    return {numa_node: max(0, left) for numa_node, left in room.items()}


def pour_all(
    instance: Instance,
    node: Node,
    stays: Sequence[Stay],
    allowed: Sequence[Iterable[int]],
    fixed: Mapping[int, Held] | None = None,
) -> list[Held] | None:
    """Share out memory and hugepages of a node among pods, each on its NUMA nodes.

    Some of the pods, by their positions, have theirs already.
    """
    fixed = fixed or {}
    held: list[dict[int, Room]] = [{} for _ in stays]
    needs = [needs_of(stay.pod) for stay in stays]
    for kind in sorted({kind for need in needs for kind in need}):
        asked = [0 if i in fixed else need.get(kind, 0) for i, need in enumerate(needs)]
        room = Counter(room_left(instance, node, kind))
        for mine in fixed.values():
            room.subtract(mine.get(kind, {}))
        poured = pour(asked, allowed, room) if min(room.values()) >= 0 else None
        if poured is None:
            return None
        for mine, given in zip(held, poured, strict=True):
            mine[kind] = given
    return [fixed.get(i, own) for i, own in enumerate(held)]


def with_functions(instance: Instance, stays: Sequence[Stay]) -> Sequence[Stay]:
    """Give each share that comes with a virtual function one; every way is tried.

    As they are if there is none: then the judge finds what is missing.
    """
    held = {
        (runner.placement.node, grant.type, grant.minor, function)
        for runner in instance.running
        for grant in runner.placement.devices
        for function in grant.vfs
    }
    wanting = [
        (at, i, grant, dict(stay.pod.spec.functions)[grant.type])
        for at, stay in enumerate(stays)
        for i, grant in enumerate(stay.grants)
        if grant.share and grant.type in dict(stay.pod.spec.functions)
    ]
    options = []
    for at, _, grant, wish in wanting:
        machine = stays[at].node.machine
        device = next(d for d in machine.devices if (d.type, d.minor) == (grant.type, grant.minor))
        keys = [
            (stays[at].node.name, d.type, d.minor, f.minor)
            for d in [device]
            for f in d.virtual_functions
            if admits_virtual_function(wish, f.labels)
        ]
        options.append([key for key in keys if key not in held])
    for chosen in product(*options):
        if len(set(chosen)) == len(chosen):
            given = [list(stay.grants) for stay in stays]
            for (at, i, grant, _), (*_, function) in zip(wanting, chosen, strict=True):
                given[at][i] = replace(grant, vfs=(function,))
            return [replace(s, grants=tuple(g)) for s, g in zip(stays, given, strict=True)]
    return stays


def settled(
    instance: Instance, stays: Sequence[Stay], memory: Sequence[Held]
) -> tuple[PodPlacement, ...]:
    """Return the placements of the pods: LS and BE pods get the pools that are left."""
    stays = with_functions(instance, stays)
    running = [(runner.pod, runner.placement) for runner in instance.running]
    new = [(stay.pod, stay.place({}, stay.cpus)) for stay in stays]
    pools_of = {node.name: pools(node, running, new) for node in instance.nodes}
    milli = _shared_out(instance, stays, memory)

    def place(stay: Stay, held: Held) -> PodPlacement:
        pool = pools_of[stay.node.name].get(stay.pod.spec.qos, stay.cpus)
        counted = milli.get(stay.pod.key)
        cpu = stay.node.machine.topology.cpu
        homes = {numa for numa, _ in counted or ()}
        mine = frozenset(c for c in pool if cpu[c].numa_node in homes)
        return stay.place(held, mine if homes else pool, counted, pool)

    return tuple(place(stay, held) for stay, held in zip(stays, memory, strict=True))


def _shared_out(
    instance: Instance, stays: Sequence[Stay], memory: Sequence[Held]
) -> dict[tuple[str, str], Milli]:
    """Return what each pod that may be bound counts of its request on which NUMA node.

    As a flow, beside the running pods; where there is none, all of it somewhere.
    """
    found: dict[tuple[str, str], Milli] = {}
    groups: dict[tuple[str, QosClass], list[tuple[Stay, Held]]] = {}
    for stay, held in zip(stays, memory, strict=True):
        if may_be_bound(stay.pod, stay.node):
            groups.setdefault((stay.node.name, stay.pod.spec.qos), []).append((stay, held))
    for (name, qos), new in groups.items():
        node = next(node for node in instance.nodes if node.name == name)
        cpu = node.machine.topology.cpu
        needs: list[int] = []
        allowed: list[Sequence[int]] = []
        running = [r for r in instance.running if r.placement.node == name]
        for r in running:
            if r.pod.spec.qos is qos and (
                homes := numa_nodes_bound_to(r.placement, r.pod.spec, node)
            ):
                needs.append(r.pod.spec.requests.cpu_milli)
                allowed.append(sorted(homes))
        first = len(needs)
        for stay, held in new:
            if CPU in held:
                needs += [milli for _, milli in sorted(held[CPU].items())]
                allowed += [[numa] for numa in sorted(held[CPU])]
            else:
                needs.append(stay.pod.spec.requests.cpu_milli)
                homes = {n for c in stay.cpus if (n := cpu[c].numa_node) is not None}
                allowed.append(sorted(homes))
        here = [(r.pod, r.placement) for r in running]
        more = [(s.pod, s.place({}, s.cpus)) for s in stays if s.node is node]
        pool = pools(node, here, more)[qos] - node.reserved_cpus
        room = Counter(n for c in pool if (n := cpu[c].numa_node) is not None)
        poured = pour(needs, allowed, Counter({n: node.milli_per_cpu * c for n, c in room.items()}))
        parts = iter(poured[first:] if poured else [Counter[int]()] * len(needs))
        for stay, held in new:
            if CPU in held:
                own = {n for part in stay.parts for n, _ in part.cpu_milli or ()}
                counts = {n: held[CPU].get(n, 0) for n in own | set(held[CPU])}
                for _ in held[CPU]:
                    next(parts)
            else:
                given = next(parts)
                mine = {n for c in stay.cpus if (n := cpu[c].numa_node) is not None}
                counts = {n: given[n] for n in mine}
            found[stay.pod.key] = tuple(sorted(counts.items()))
    return found


def pour(
    needs: Sequence[int], allowed: Sequence[Iterable[int]], room: Room
) -> list[Counter[int]] | None:
    """Share out memory so that each need is met on its allowed NUMA nodes; None: cannot be.

    A flow by shortest augmenting paths: a pod that finds no room moves others over.
    """
    allowed = [sorted(numa_nodes) for numa_nodes in allowed]
    left = Counter(room)
    given: list[Counter[int]] = [Counter() for _ in needs]
    for pod, need in enumerate(needs):
        while missing := need - given[pod].total():
            path = _path(pod, allowed, left, given)
            if path is None:
                return None
            movers = [given[mover][out] for (_, out), (mover, _) in pairwise(path)]
            amount = min(missing, left[path[-1][1]], *movers)
            for i, (mover, into) in enumerate(path):
                given[mover][into] += amount
                if i:
                    given[mover][path[i - 1][1]] -= amount
            left[path[-1][1]] -= amount
    return given


def _path(
    start: int,
    allowed: Sequence[Sequence[int]],
    left: Room,
    given: Sequence[Room],
) -> list[tuple[int, int]] | None:
    """Return the shortest chain of (pod, NUMA node it moves to) that ends where room is."""
    queue: list[list[tuple[int, int]]] = [[(start, n)] for n in allowed[start]]
    seen = set(allowed[start])
    while queue:
        path = queue.pop(0)
        full = path[-1][1]
        if left[full] > 0:
            return path
        for pod, held in enumerate(given):
            if held[full] > 0:
                fresh = [n for n in allowed[pod] if n not in seen]
                seen.update(fresh)
                queue += [[*path, (pod, n)] for n in fresh]
    return None


def _parts(pod: Pod, cpus: CpuSet) -> tuple[ContainerPlacement, ...]:
    """Give each container its part of the pod's own CPUs, or all of the pool."""
    rest = sorted(cpus)
    parts = []
    for container in pod.spec.containers:
        count = container.requests.cpu_milli // 1000
        part = cpus
        if pod.spec.qos.owns_cpus and count and container.role is not ContainerRole.INIT:
            part, rest = frozenset(rest[:count]), rest[count:]
        parts.append(ContainerPlacement(container.name, part))
    return tuple(parts)
