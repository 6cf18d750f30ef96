"""What a request needs of NUMA nodes, by what an empty node has."""

from collections.abc import Sequence

from placer.counting.boards import healthy
from placer_models.alignment import Amounts, restricted_width
from placer_models.cluster import Node
from placer_models.pod import Resources
from placer_models.policy import AlignmentPolicy


def limit_of(
    policy: AlignmentPolicy, real: Sequence[Amounts], needs: Amounts
) -> tuple[int | None, bool]:
    """Return the most NUMA nodes that the policy allows, None for any, and if it admits any.

    Where nothing that is asked for has a width, Restricted constrains nothing.

    Args:
        policy: The one that holds.
        real: What each NUMA node holds.
        needs: What is asked for.

    """
    if policy is AlignmentPolicy.SINGLE_NUMA_NODE:
        return 1, True
    if policy is AlignmentPolicy.RESTRICTED and any(needs):
        limit = restricted_width(real, needs)
        return limit, limit is not None
    return None, True


def aligned(
    requests: Resources, node: Node, *, by_cpu: bool
) -> tuple[Amounts, list[Amounts], list[Amounts]]:
    """Return the need of every aligned resource, and each cell's allocatable amounts.

    The second list has a cell for CPUs without a NUMA node, the third has not. CPUs are in
    milli, and count where they are owned or their pod is bound to NUMA nodes (``by_cpu``).
    """
    topology = node.machine.topology
    allocatable = topology.online - node.reserved_cpus
    kinds = []
    for kind in sorted({request.type for request in requests.devices}):
        devices = healthy(node, kind)
        if all(d.numa_node is not None for d in devices):
            kinds.append((requests.count_of(kind), [d.numa_node for d in devices]))
    memory_bytes_in = node.memory_bytes_in()
    pages_in = node.pages_in()
    sizes = [h.page_bytes for h in requests.hugepages]
    needs = (
        requests.cpu_milli if by_cpu else 0,
        requests.memory_bytes,
        *(h.count for h in requests.hugepages),
        *(count for count, _ in kinds),
    )
    where = [topology.cpu[cpu].numa_node for cpu in allocatable]

    def amounts(numa_node: int | None) -> Amounts:
        return (
            1000 * where.count(numa_node),
            0 if numa_node is None else memory_bytes_in[numa_node],
            *(0 if numa_node is None else pages_in.get((numa_node, size), 0) for size in sizes),
            *(places.count(numa_node) for _, places in kinds),
        )

    real = [amounts(numa.id) for numa in topology.numa_nodes]
    return needs, [*real, amounts(None)], real
