"""NUMA allocate strategies of nodes: what they look at on a node (C11)."""

from collections import Counter
from collections.abc import Sequence

from placer_models.alignment import fewest_cell_count_for_one_resource
from placer_models.cluster import Node
from placer_models.cpuset import CpuSet
from placer_models.effective import pod_or_default_bind_policy
from placer_models.pod import PodSpec
from placer_models.policy import BindPolicy, NodeBindPolicy, NumaStrategy
from placer_models.problem.node_state import Cell
from placer_models.problem.numa_strategy import NumaStrategyOnCells, cpu_count_beside_whole_cores


def numa_strategy_on_cells(
    node: Node, free_cpus: CpuSet, cells: Sequence[Cell]
) -> NumaStrategyOnCells | None:
    """Return the node's strategy, or None if it has none or nothing to choose from."""
    room = _allocatable(node)
    if node.effective_strategy is None or len(room) < 2:
        return None
    topology = node.machine.topology
    free = Counter(topology.cpu[cpu].numa_node for cpu in free_cpus)
    return NumaStrategyOnCells(
        strategy=node.effective_strategy,
        free=tuple(free[cell.numa_node] for cell in cells),
        points=room.total() ** 2,
    )


def fewest_cpu_cells(spec: PodSpec, node: Node) -> int | None:
    """Return how many cells the pod's own CPUs need on the empty node; None if nothing asks."""
    want = spec.requests.cpu_milli // 1000 if spec.qos.owns_cpus else 0
    room = _allocatable(node)
    if node.effective_strategy is None or len(room) < 2 or not want:
        return None
    return fewest_cell_count_for_one_resource(list(room.values()), want)


def allowed_numa_cpu_skew(spec: PodSpec, node: Node) -> int:
    """Return by how many CPUs the pod's shares of NUMA nodes may differ and still be even.

    That is one, or a core where the pod or the node wants whole cores.
    """
    of_node = node.cpu_bind is NodeBindPolicy.FULL_PCPUS_ONLY
    whole = of_node or pod_or_default_bind_policy(spec, node) is BindPolicy.FULL_PCPUS
    return _widest_core(node) if whole else 1


def partial_core_cpus_if_numa_even(spec: PodSpec, node: Node) -> int:
    """Return how many CPUs the pod has beside whole cores where its NUMA nodes have even shares.

    It is 0 where the node wants no such shares, or the pod needs one NUMA node only.
    """
    if node.effective_strategy is not NumaStrategy.DISTRIBUTE_EVENLY:
        return 0
    parts = fewest_cpu_cells(spec, node) or 0
    want = spec.requests.cpu_milli // 1000
    return cpu_count_beside_whole_cores(want, parts, _widest_core(node)) if parts > 1 else 0


def _widest_core(node: Node) -> int:
    return max(map(len, node.machine.topology.cores.values()), default=1)


def _allocatable(node: Node) -> Counter[int | None]:
    """Return how many CPUs each NUMA node can give; None: those without a NUMA node."""
    topology = node.machine.topology
    return Counter(topology.cpu[cpu].numa_node for cpu in topology.online - node.reserved_cpus)
