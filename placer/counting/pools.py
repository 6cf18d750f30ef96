"""The shared pool and the BE pool, and pods bound to NUMA nodes of them, both ways (C5 to C12).

A Problem says what bound pods find in each cell's part of a pool. Placed pods count their
requests on NUMA nodes, and run on the CPUs that the placement as a whole leaves the pools.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from placer.counting.containers import container_placements_on_pool, container_with_cpuset
from placer_models.bound import (
    cpu_counts_by_numa_node,
    is_bound_by_policy,
    numa_nodes_bound_to,
    pool_on_numa_nodes,
)
from placer_models.cluster import Instance, Node, RunningPod
from placer_models.cpuset import NO_CPUS, CpuSet, cpus_without, is_same_cpu_set
from placer_models.placement import ContainerPlacement, Placement, PodPlacement
from placer_models.pod import PodSpec, pods_of_gangs
from placer_models.policy import QosClass
from placer_models.problem.node_state import NodeState
from placer_models.problem.pools import NO_POOL, CellPool, PoolBindingNeed
from placer_models.problem.problem import Choice
from placer_models.sharing_out import Asked, distribute_over_places

CpuMilli = tuple[tuple[int, int], ...]
"""(NUMA node, milli of the CPU request counted there), as in ``PodPlacement``."""

_NO_HOMES: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class NodeCpuPool:
    """CPUs that pods share.

    Attributes:
        cpus: All of them, reserved ones included.
        free: Those of them that are not reserved.
        milli: The sum of the CPU requests of the pods that run in it.
        in_use: Whether some pod runs in it.
        milli_per_cpu: How much each CPU adds to what these requests may sum to.

    """

    cpus: CpuSet
    free: CpuSet
    milli: int
    in_use: bool
    milli_per_cpu: int = 1000

    @property
    def left_milli(self) -> int:
        """What further requests may sum to; below 0 where pods ask for more than there is."""
        return self.milli_per_cpu * len(self.free) - self.milli

    def is_short_of(self, spec: PodSpec) -> bool:
        """Return whether a pod that runs in it, or owns CPUs of it, asks for more than is left.

        A pod that owns CPUs leaves at least one to the pool.
        """
        milli = spec.requests.cpu_milli
        owned = milli // 1000 if spec.qos.owns_cpus else 0
        return (self.milli_per_cpu * owned or milli) > self.left_milli or owned >= len(self.cpus)


@dataclass(frozen=True, slots=True)
class NodeCpuPools:
    """The pools of a node.

    Attributes:
        shared: The pool of LS pods: online CPUs that no LSE or LSR pod owns.
        best_effort: The pool of BE pods: online CPUs that no LSE pod owns.
        bound: What bound pods want of the pools; their cells are ids of NUMA nodes.

    """

    shared: NodeCpuPool
    best_effort: NodeCpuPool
    bound: tuple[PoolBindingNeed, ...]

    def of(self, qos: QosClass) -> NodeCpuPool:
        """Return the pool of LS or BE pods."""
        return self.best_effort if qos is QosClass.BE else self.shared


def pools_left(node: Node, pods: Sequence[RunningPod]) -> NodeCpuPools:
    """Return the pools as the pods that run on the node leave them."""
    exclusive, owned = (
        NO_CPUS.union(*(p.placement.cpuset for p in pods if p.pod.spec.qos in owners))
        for owners in ((QosClass.LSE,), (QosClass.LSE, QosClass.LSR))
    )

    online, unpooled = node.machine.topology.online, node.out_of_pools(owned)

    def pool(qos: QosClass, taken: CpuSet) -> NodeCpuPool:
        # Nodes where nobody owns a CPU share one set object, that of their machine.
        cpus = cpus_without(cpus_without(online, unpooled), taken)
        asked = [p.pod.spec.requests.cpu_milli for p in pods if p.pod.spec.qos is qos]
        free = cpus_without(cpus, node.reserved_cpus)
        return NodeCpuPool(cpus, free, sum(asked), bool(asked), node.milli_per_cpu)

    wants = tuple(bound for pod in pods for bound in pool_bindings_of(node, pod))
    return NodeCpuPools(pool(QosClass.LS, owned), pool(QosClass.BE, exclusive), wants)


def pools_after(
    pools: NodeCpuPools, came: Iterable[tuple[QosClass, Iterable[int]]]
) -> NodeCpuPools:
    """Return the pools after pods have come: (QoS class, CPUs that it owns) of each."""
    exclusive: set[int] = set()
    owned: set[int] = set()
    for qos, cpus in came:
        (exclusive if qos is QosClass.LSE else owned).update(cpus)
    owned |= exclusive

    def smaller(pool: NodeCpuPool, taken: set[int]) -> NodeCpuPool:
        return replace(pool, cpus=pool.cpus - taken, free=pool.free - taken) if taken else pool

    return NodeCpuPools(
        smaller(pools.shared, owned), smaller(pools.best_effort, exclusive), pools.bound
    )


def pools_after_floating_pods(pools: NodeCpuPools, came: Iterable[PodSpec]) -> NodeCpuPools:
    """Return the pools once pods that own no CPU have come to float in them."""
    shared, best_effort = list[int](), list[int]()
    for spec in came:
        (best_effort if spec.qos is QosClass.BE else shared).append(spec.requests.cpu_milli)
    return NodeCpuPools(
        _asked_for_more(pools.shared, shared),
        _asked_for_more(pools.best_effort, best_effort),
        pools.bound,
    )


def _asked_for_more(pool: NodeCpuPool, milli: Sequence[int]) -> NodeCpuPool:
    """Return a pool once pods run in it that ask for so much each."""
    if not milli:
        return pool
    return NodeCpuPool(pool.cpus, pool.free, pool.milli + sum(milli), True, pool.milli_per_cpu)


def pool_bindings_of(node: Node, pod: RunningPod) -> Iterable[PoolBindingNeed]:
    """Yield what a pod, if it is bound, wants of its pool, by ids of NUMA nodes."""
    place, spec = pod.placement, pod.pod.spec
    homes = numa_nodes_bound_to(place, spec, node)
    if homes and _in_parts(place):
        for numa, milli in place.cpu_milli or ():
            yield PoolBindingNeed(spec.qos, (numa,), milli, 1)
    elif homes:
        milli = spec.requests.cpu_milli
        yield PoolBindingNeed(spec.qos, tuple(sorted(homes)), milli, max(1, spec.burst_cpus))


def _in_parts(place: PodPlacement) -> bool:
    """Return whether the containers have pools of their own: then nothing is shared out anew."""
    return any(part.cpu_milli is not None for part in place.containers)


def state_with_pool_bindings(state: NodeState, node: Node, pools: NodeCpuPools) -> NodeState:
    """Return the state with what bound pods find in its cells, and with those that run there."""
    homes = [cell.numa_node for cell in state.cells]

    def cell_pools(pool: NodeCpuPool) -> list[CellPool]:
        here = cpu_counts_by_numa_node(pool.cpus, node.machine.topology)
        free = cpu_counts_by_numa_node(pool.free, node.machine.topology)
        # CPUs of no NUMA node are in nobody's part of a pool.
        each = node.milli_per_cpu
        return [NO_POOL if n is None else CellPool(here[n], each * free[n], each) for n in homes]

    shared, best_effort = cell_pools(pools.shared), cell_pools(pools.best_effort)
    index = {numa: i for i, numa in enumerate(homes)}
    bound = []
    for one in pools.bound:
        known = [index[numa] for numa in one.cells if numa in index]
        parts = best_effort if one.qos is QosClass.BE else shared
        cells = [cell for cell in known if parts[cell].cpus]
        # A running pod may have less than it needs; then no new pod may take any of it. It may
        # even have no cell: then its request fits nowhere, and nothing may be added to it.
        there = sum(parts[cell].cpus for cell in cells)
        bound.append(replace(one, cells=tuple(sorted(cells)), cpus=min(one.cpus, there)))
    return replace(
        state,
        cells=tuple(
            cell._replace(shared=of_ls, best_effort=of_be)
            for cell, of_ls, of_be in zip(state.cells, shared, best_effort, strict=True)
        ),
        bound=tuple(sorted(bound)),
    )


def pool_wants_of(
    state: NodeState, node: Node, pod: RunningPod
) -> tuple[tuple[tuple[int, ...], int], ...]:
    """Return what a placed pod wants of the pool of its cells, as in ``Choice``."""
    index = {cell.numa_node: i for i, cell in enumerate(state.cells)}
    wants = pool_bindings_of(node, pod)
    return tuple(sorted((tuple(sorted(index[numa] for numa in b.cells)), b.milli) for b in wants))


def pool_numa_nodes_of_choice(state: NodeState, choice: Choice) -> frozenset[int]:
    """Return the NUMA nodes to whose pool a pod is bound."""
    homes = (state.cells[cell].numa_node for cell in choice.pool_cells)
    return frozenset(home for home in homes if home is not None)


@dataclass(frozen=True, slots=True)
class _Want:
    """What a pod wants that is bound to the pool of some NUMA nodes.

    Attributes:
        homes: These NUMA nodes.
        milli: Its CPU request.
        said: How much of it is counted on which NUMA node; None: that is not settled yet.
        fixed: Whether ``said`` may not change, because the containers depend on it.

    """

    homes: frozenset[int]
    milli: int
    said: CpuMilli | None
    fixed: bool = False


def _want_of(node: Node, pod: RunningPod) -> _Want | None:
    """Return what a placed pod wants, or None if it is not bound."""
    place, spec = pod.placement, pod.pod.spec
    homes = numa_nodes_bound_to(place, spec, node)
    milli = max(0, spec.requests.cpu_milli)  # a running pod may be illegal
    return _Want(homes, milli, place.cpu_milli, _in_parts(place)) if homes else None


def _want_at(state: NodeState, spec: PodSpec, choice: Choice) -> _Want:
    """Return what a new bound pod wants."""
    said = None
    if choice.containers:
        parts = ((state.cells[cells[0]].numa_node, part) for cells, part in choice.pool)
        said = tuple(sorted((numa, part) for numa, part in parts if numa is not None))
    homes = pool_numa_nodes_of_choice(state, choice)
    return _Want(homes, spec.requests.cpu_milli, said, fixed=said is not None)


def numa_cpu_milli_of_bound_pods(
    node: Node,
    state: NodeState,
    pools: NodeCpuPools,
    pods: Sequence[tuple[PodSpec, Choice]],
    runners: Sequence[RunningPod],
) -> dict[int, CpuMilli]:
    """Return position of a new bound pod -> how much it counts on which NUMA node.

    Args:
        node: The node that the pods go to.
        state: The node in integers.
        pools: The pools once all new pods have their CPUs.
        pods: Spec and place of each new pod.
        runners: The pods that run on the node.

    """
    found: dict[int, CpuMilli] = {}
    for qos in (QosClass.LS, QosClass.BE):
        new = [at for at, (spec, choice) in enumerate(pods) if choice.pool and spec.qos is qos]
        if new:
            wants = [w for r in runners if r.pod.spec.qos is qos and (w := _want_of(node, r))]
            wants += [_want_at(state, *pods[at]) for at in new]
            given = _counted(node, pools.of(qos), wants)
            found.update(zip(new, given[-len(new) :], strict=True))
    return found


def _counted(node: Node, pool: NodeCpuPool, wants: Sequence[_Want]) -> list[CpuMilli]:
    """Share out what pods of one pool want; what is settled already stays if possible."""
    cpus = cpu_counts_by_numa_node(pool.free, node.machine.topology)
    room = {numa: pool.milli_per_cpu * count for numa, count in cpus.items()}
    for keep in (True, False):
        kept = [want.said if keep or want.fixed else None for want in wants]
        asked: list[Asked] = []
        for want, said in zip(wants, kept, strict=True):
            asked += [((want.homes), want.milli)] if said is None else _single(said)
        given = distribute_over_places(room, asked)
        if given is not None:
            parts = iter(given)
            found = []
            for want, said in zip(wants, kept, strict=True):
                if said is None:
                    part = next(parts)
                    found.append(tuple((numa, part[numa]) for numa in sorted(want.homes)))
                else:
                    found.append(said)
                    for _ in said:
                        next(parts)
            return found
    # Running pods may want more than there is: who counts nowhere yet counts on its first cell.
    return [want.said or _at_first(want) for want in wants]


def _single(said: CpuMilli) -> Iterable[Asked]:
    return [((numa,), milli) for numa, milli in said]


def _at_first(want: _Want) -> CpuMilli:
    first, *others = sorted(want.homes)
    return ((first, want.milli), *((numa, 0) for numa in others))


def placement_with_pool_cpus(instance: Instance, placement: Placement) -> Placement:
    """Return the placement with every LS and BE pod in the pool that is left for it."""
    pods = {pod.key: pod for pod in pods_of_gangs(instance.gangs)}
    on_node: dict[str, list[RunningPod]] = {place.node: [] for place in placement.pods}
    for running in instance.running:
        if running.placement.node in on_node:
            on_node[running.placement.node].append(running)
    for place in placement.pods:
        on_node[place.node].append(RunningPod(pods[place.key], place))
    settled = {
        runner.pod.key: runner.placement
        for node in instance.nodes
        if node.name in on_node
        for runner in running_pods_with_current_pools(node, on_node[node.name])
    }
    return Placement(tuple(settled[place.key] for place in placement.pods))


def running_pods_with_current_pools(
    node: Node, pods: Sequence[RunningPod], left: NodeCpuPools | None = None
) -> list[RunningPod]:
    """Return the pods of a node, with LS and BE pods in their pools as these are now.

    Args:
        node: The node.
        pods: All pods that run there.
        left: The pools that they leave, if known.

    """
    pools = pools_left(node, pods) if left is None else left
    counts: dict[int, CpuMilli] = {}
    wants = [_want_of(node, pod) for pod in pods]
    for qos in (QosClass.LS, QosClass.BE):
        mine = {i: want for i, want in enumerate(wants) if want and pods[i].pod.spec.qos is qos}
        if mine:
            found = _counted(node, pools.of(qos), list(mine.values()))
            counts.update(zip(mine, found, strict=True))

    def in_its_pool(i: int, runner: RunningPod) -> RunningPod:
        spec, place, want = runner.pod.spec, runner.placement, wants[i]
        if spec.qos.owns_cpus:
            return runner
        whole = pools.of(spec.qos).cpus
        if want is None and floats_over_pool(whole, runner, node):
            return runner
        homes = want.homes if want else _NO_HOMES
        pool = pool_on_numa_nodes(whole, homes, node.machine.topology) if homes else whole
        containers = tuple(
            container_with_cpuset(part, container_pool_cpus(whole, part, node) or pool)
            for part in container_placements_on_pool(spec.containers, pool, place.containers)
        )
        # A pod that floats where others are bound goes on floating, whatever becomes of the pool.
        milli = counts.get(i, () if is_bound_by_policy(spec, node) else place.cpu_milli)
        if (place.cpuset, place.containers, place.cpu_milli) == (pool, containers, milli):
            return runner
        place = replace(place, cpuset=pool, containers=containers, cpu_milli=milli)
        return replace(runner, placement=place)

    return [in_its_pool(i, runner) for i, runner in enumerate(pods)]


def floats_over_pool(pool: CpuSet, runner: RunningPod, node: Node) -> bool:
    """Return whether a pod floats over all of the pool, and each of its containers does too."""
    spec, place = runner.pod.spec, runner.placement
    if place.cpu_milli is None and is_bound_by_policy(spec, node):
        return False
    names = [container.name for container in spec.containers]
    return (
        is_same_cpu_set(place.cpuset, pool)
        and [part.name for part in place.containers] == names
        and all(
            is_same_cpu_set(part.cpuset, pool) and not part.cpu_milli for part in place.containers
        )
    )


def container_pool_cpus(pool: CpuSet, container: ContainerPlacement, node: Node) -> CpuSet:
    """Return the part of a pool that a container is bound to by itself; empty if it is not."""
    if not container.cpu_milli:
        return frozenset()
    return pool_on_numa_nodes(
        pool, {numa for numa, _ in container.cpu_milli}, node.machine.topology
    )
