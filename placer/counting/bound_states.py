"""What a Problem says about pods that are bound to the pool of NUMA nodes (C8, C12)."""

from dataclasses import replace

from placer.counting.account import Account
from placer.counting.bound import cpus_by_numa_node
from placer_models.cluster import Node
from placer_models.cpuset import CpuSet
from placer_models.node_state import NodeState
from placer_models.policy import QosClass
from placer_models.pools import NO_POOL, CellPool


def with_bound(state: NodeState, node: Node, account: Account) -> NodeState:
    """Return the node with what bound pods are to find there."""
    topology = node.machine.topology

    def cell_pools(pool: CpuSet, reserved: CpuSet) -> list[CellPool]:
        here = cpus_by_numa_node(pool, topology)
        free = cpus_by_numa_node(pool - reserved, topology)
        homes = [cell.numa_node for cell in state.cells]
        # CPUs of no NUMA node are in nobody's part of a pool.
        return [
            NO_POOL if n is None else CellPool(here.get(n, 0), 1000 * free.get(n, 0)) for n in homes
        ]

    shared = cell_pools(account.pool, account.pool - account.free_cpus)
    best_effort = cell_pools(account.best_effort_pool, node.reserved_cpus)
    index = {cell.numa_node: i for i, cell in enumerate(state.cells)}
    bound = []
    for one in account.bound:
        known = [numa for numa in one.cells if numa in index]
        pools = best_effort if one.qos is QosClass.BE else shared
        cells = [index[numa] for numa in known if pools[index[numa]].cpus]
        # Running pods may have less than they need; then nobody takes more of it.
        there = sum(pools[cell].cpus for cell in cells)
        bound.append(replace(one, cells=tuple(sorted(cells)), cpus=min(one.cpus, there)))
    return replace(
        state,
        cells=tuple(
            cell._replace(shared=of_ls, best_effort=of_be)
            for cell, of_ls, of_be in zip(state.cells, shared, best_effort, strict=True)
        ),
        bound=tuple(sorted(bound)),
    )
