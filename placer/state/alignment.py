"""Alignment (C12) on a kind of node: what a pod, or each container, needs of NUMA nodes."""

from collections import Counter
from collections.abc import Sequence

from placer.counting.boards import healthy_devices
from placer_models.alignment import (
    CellAmounts,
    effective_alignment_scope,
    fewest_cell_count_for_all_resources,
    restricted_cell_count,
)
from placer_models.bound import cpu_counts_by_numa_node
from placer_models.cluster import Node
from placer_models.cpuset import NO_CPUS
from placer_models.effective import effective_alignment_policy
from placer_models.pod import ContainerRole, PodSpec, Resources
from placer_models.policy import BINDING, AlignmentPolicy, AlignmentScope
from placer_models.problem.dimensions import Dimension
from placer_models.problem.fits import ContainerFit


def aligns_by_container(spec: PodSpec, node: Node) -> bool:
    """Return whether each container of the pod is aligned by itself on the node (C12).

    A pod under ConstrainedBurst is aligned as a whole: its limit is that of the pod.
    """
    policy = effective_alignment_policy(spec, node)
    scope = effective_alignment_scope(spec.scope, node.scope)
    by_itself = scope is AlignmentScope.CONTAINER and not spec.constrained_burst
    return policy not in (None, AlignmentPolicy.NONE) and by_itself


def alignment_scopes_conflict(spec: PodSpec, node: Node) -> bool:
    """Return whether pod and node have a policy and do not agree on its scope."""
    policy = effective_alignment_policy(spec, node)
    scope = effective_alignment_scope(spec.scope, node.scope)
    return policy not in (None, AlignmentPolicy.NONE) and scope is None


def numa_node_limit(
    policy: AlignmentPolicy, real: Sequence[CellAmounts], needs: CellAmounts
) -> tuple[int | None, bool]:
    """Return the most NUMA nodes that the policy allows, and whether it admits the needs at all.

    The number is None if any number is allowed. If nothing that is asked for has a width,
    Restricted constrains nothing.

    Args:
        policy: The policy that holds.
        real: What each NUMA node holds.
        needs: What is asked for.

    """
    if policy is AlignmentPolicy.SINGLE_NUMA_NODE:
        return 1, True
    if policy is AlignmentPolicy.RESTRICTED and any(needs):
        limit = restricted_cell_count(real, needs)
        return limit, limit is not None
    return None, True


def aligned_needs_and_cells(
    requests: Resources, node: Node, *, milli_per_cpu: int
) -> tuple[CellAmounts, list[CellAmounts], list[CellAmounts]]:
    """Return the need for each aligned resource, and each cell's allocatable amounts, twice.

    The first list of cells has one for CPUs without a NUMA node, the second does not. CPUs are
    in milli. They count if they are owned or if their pod is bound to NUMA nodes, each as
    ``milli_per_cpu``, which is 0 if they do not.
    """
    topology = node.machine.topology
    allocatable = topology.online - node.reserved_cpus
    kinds = []
    for kind in sorted({request.type for request in requests.devices}):
        devices = healthy_devices(node, kind)
        if all(d.numa_node is not None for d in devices):
            kinds.append((requests.count_of(kind), [d.numa_node for d in devices]))
    memory_bytes_in = node.memory_bytes_in()
    pages_in = node.pages_in()
    sizes = [h.page_bytes for h in requests.hugepages]
    needs = (
        requests.cpu_milli if milli_per_cpu else 0,
        requests.memory_bytes,
        *(h.count for h in requests.hugepages),
        *(count for count, _ in kinds),
    )
    where = [topology.cpu[cpu].numa_node for cpu in allocatable]

    def amounts(numa_node: int | None) -> CellAmounts:
        return (
            milli_per_cpu * where.count(numa_node),
            0 if numa_node is None else memory_bytes_in[numa_node],
            *(0 if numa_node is None else pages_in.get((numa_node, size), 0) for size in sizes),
            *(places.count(numa_node) for _, places in kinds),
        )

    real = [amounts(numa.id) for numa in topology.numa_nodes]
    return needs, [*real, amounts(None)], real


def shared_pool_cpu_count_by_numa_node(node: Node) -> Counter[int]:
    """Return NUMA node -> CPUs of the shared pool while nothing runs there, reserved ones too."""
    topology = node.machine.topology
    return cpu_counts_by_numa_node(topology.online - node.out_of_pools(NO_CPUS), topology)


def aligned_needs_of_burst_pod(
    spec: PodSpec,
    node: Node,
    needs: CellAmounts,
    cells: Sequence[CellAmounts],
) -> tuple[CellAmounts, list[CellAmounts], list[CellAmounts]]:
    """Return what `aligned_needs_and_cells` does where a pool holds its limit (ConstrainedBurst).

    The first number is then CPUs: those of the limit, and those of the empty pool. In the second
    list it is the CPUs that can be allocated, by which Restricted counts, unless not even all of
    them hold the limit.

    Args:
        spec: The spec of a pod under ConstrainedBurst.
        node: The node.
        needs: What `aligned_needs_and_cells` returns, and so ``cells``.
        cells: The cell of CPUs without a NUMA node is the last.

    """
    topology = node.machine.topology
    pool = shared_pool_cpu_count_by_numa_node(node)
    allocatable = cpu_counts_by_numa_node(topology.online - node.reserved_cpus, topology)
    counted = allocatable if allocatable.total() >= spec.burst_cpus else pool
    homes = [numa.id for numa in topology.numa_nodes]

    def beside(room: Counter[int]) -> list[CellAmounts]:
        return [(room[home], *cell[1:]) for home, cell in zip(homes, cells, strict=False)]

    nowhere = (0, *cells[-1][1:])
    return (spec.burst_cpus, *needs[1:]), [*beside(pool), nowhere], beside(counted)


def aligned_milli_per_cpu(spec: PodSpec, node: Node, policy: AlignmentPolicy) -> int:
    """Return how much of an aligned pod's CPU request a CPU holds; 0: its CPUs are not aligned.

    Under ConstrainedBurst not the request is aligned, but the limit (`aligned_needs_of_burst_pod`).
    """
    if spec.qos.owns_cpus:
        return 1000
    if spec.constrained_burst:
        return 0
    return node.milli_per_cpu if policy in BINDING else 0


def container_fits_of(
    spec: PodSpec, node: Node, dimensions: Sequence[Dimension]
) -> tuple[ContainerFit, ...] | None:
    """Return the fits of the containers that hold something, or None if one never fits.

    Args:
        spec: The spec of a pod whose containers are each aligned by themselves on the node.
        node: The node without its name.
        dimensions: The dimensions of the Problem that cells have.

    """
    policy = effective_alignment_policy(spec, node)
    assert policy is not None
    owns, bound = spec.qos.owns_cpus, policy in BINDING
    types = [request.type for request in spec.requests.devices if request.count]
    fits: list[ContainerFit] = []
    sidecars: list[int] = []
    for index, container in enumerate(spec.containers):
        asked = container.requests
        need = (
            asked.cpu_milli // 1000 if owns else asked.cpu_milli if bound else 0,
            *(each.asked_by(asked) for each in dimensions),
            *(asked.count_of(kind) for kind in types),
        )
        if not any(need):
            continue
        limits = _limits(
            asked, node, policy, milli_per_cpu=aligned_milli_per_cpu(spec, node, policy)
        )
        if limits is None:
            return None
        nothing = policy is AlignmentPolicy.RESTRICTED and limits[0] is None
        held = AlignmentPolicy.NONE if nothing else policy
        lasts = container.role is not ContainerRole.INIT
        fits.append(
            ContainerFit(
                index, need, held, *limits, lasts=lasts, beside=() if lasts else tuple(sidecars)
            )
        )
        if container.role is ContainerRole.RESTARTABLE_INIT:
            sidecars.append(len(fits) - 1)
    return tuple(fits)


def _limits(
    asked: Resources, node: Node, policy: AlignmentPolicy, *, milli_per_cpu: int
) -> tuple[int | None, int] | None:
    """Return the most cells and the fewest, or None if the node never holds the container."""
    needs, cells, real = aligned_needs_and_cells(asked, node, milli_per_cpu=milli_per_cpu)
    limit, possible = numa_node_limit(policy, real, needs)
    if not possible or any(sum(c[i] for c in cells) < need for i, need in enumerate(needs)):
        return None
    best_effort = policy is AlignmentPolicy.BEST_EFFORT
    return limit, (fewest_cell_count_for_all_resources(cells, needs) or 0) if best_effort else 0
