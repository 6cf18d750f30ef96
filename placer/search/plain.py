"""Nodes as what they have room for, to pods that are plain sums."""

from placer_models.node_state import NodeState
from placer_models.problem import Choice, CoreTake, Problem, Shape


def room_of(node: NodeState) -> tuple[int, ...]:
    """Return a node's amounts: the pools, memory as a whole, extended resources."""
    memory = sum(cell.memory for cell in node.cells)
    return (node.pool_milli, node.best_effort_milli, memory, *node.extended)


def taken_by(shape: Shape) -> tuple[int, ...]:
    """Return what a pod takes of a node's amounts; owned CPUs leave the pools."""
    owned = 1000 * shape.owned_cpus
    return (
        shape.shared_milli + owned,
        shape.best_effort_milli + (owned if shape.exclusive else 0),
        shape.memory,
        *shape.extended,
    )


def never_on(problem: Problem, thing: int, node: NodeState) -> bool:
    """Return whether pods of a shape may not come to the node, whatever is left of it."""
    shape = problem.shapes[thing]
    return (
        problem.fits[thing][node.kind] is None
        or (shape.shared and not node.pool_cpus)
        or (shape.best_effort and not node.best_effort_cpus)
    )


def place_on(problem: Problem, index: int) -> Choice:
    """Return the place of a plain pod on a node."""
    node = problem.nodes[index]
    return Choice(
        node=index,
        cores=(CoreTake(),) * len(node.cores),
        memory=None,
        devices=tuple((0,) * len(bank.free) for bank in node.banks),
    )
