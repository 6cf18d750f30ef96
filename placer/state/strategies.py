"""NUMA allocate strategies of nodes: what they look at on a node (C11)."""

from collections import Counter
from collections.abc import Sequence

from placer_models.alignment import width
from placer_models.cluster import Node
from placer_models.cpuset import CpuSet
from placer_models.node_state import Cell
from placer_models.numa_strategy import CellStrategy
from placer_models.pod import PodSpec


def cell_strategy_of(node: Node, free_cpus: CpuSet, cells: Sequence[Cell]) -> CellStrategy | None:
    """Return the node's strategy, or None if it has none or nothing to choose from."""
    room = _allocatable(node)
    if node.effective_strategy is None or len(room) < 2:
        return None
    topology = node.machine.topology
    free = Counter(topology.cpu[cpu].numa_node for cpu in free_cpus)
    return CellStrategy(
        strategy=node.effective_strategy,
        free=tuple(free[cell.numa_node] for cell in cells),
        points=room.total() ** 2,
        slack=max(map(len, topology.cores.values())),
    )


def fewest_cpu_cells(spec: PodSpec, node: Node) -> int | None:
    """Return how many cells the pod's own CPUs need on the empty node; None if nothing asks."""
    want = spec.requests.cpu_milli // 1000 if spec.qos.owns_cpus else 0
    room = _allocatable(node)
    if node.effective_strategy is None or len(room) < 2 or not want:
        return None
    return width(list(room.values()), want)


def _allocatable(node: Node) -> Counter[int | None]:
    """Return how many CPUs each NUMA node can give; None: those without a NUMA node."""
    topology = node.machine.topology
    return Counter(topology.cpu[cpu].numa_node for cpu in topology.online - node.reserved_cpus)
