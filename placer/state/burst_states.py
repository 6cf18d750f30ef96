"""What a Problem says about pods under ConstrainedBurst (C8)."""

from dataclasses import replace

from placer.state.account import Account
from placer.state.burst import cpus_by_numa_node
from placer_models.burst import Burst
from placer_models.cluster import Node
from placer_models.problem import NodeState


def with_bursts(state: NodeState, node: Node, account: Account) -> NodeState:
    """Return the node with what constrained pods are to find there."""
    topology = node.machine.topology
    kept = cpus_by_numa_node(account.pool - account.free_cpus, topology)
    pool = cpus_by_numa_node(account.pool, topology)
    cells = tuple(
        replace(cell, reserved=kept.get(cell.numa_node, 0) if cell.numa_node is not None else 0)
        for cell in state.cells
    )
    index = {cell.numa_node: i for i, cell in enumerate(cells)}
    bursts = []
    for numa_nodes, milli, cpus in account.bursts:
        homes = sorted(index[numa] for numa in numa_nodes if numa in pool)
        # Running pods may have less than they need; then nobody takes more of it.
        there = sum(pool.get(numa, 0) for numa in numa_nodes)
        bursts.append(Burst(tuple(homes), milli, min(cpus, there)))
    return replace(state, cells=cells, bursts=tuple(sorted(bursts, key=_order)))


def _order(burst: Burst) -> tuple[tuple[int, ...], int, int]:
    return burst.cells, burst.milli, burst.cpus
