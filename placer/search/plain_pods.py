"""Plain pods, which take plain sums of nodes: where they may come, and their places."""

from placer_models.problem.node_state import NodeState
from placer_models.problem.problem import Choice, CoreTake, Problem


def is_shape_barred_from_node(problem: Problem, shape_index: int, node: NodeState) -> bool:
    """Return whether pods of a shape may not come to the node, whatever is left of it."""
    shape = problem.shapes[shape_index]
    return (
        problem.fits[shape_index][node.kind] is None
        or (shape.shared and not node.pool_cpus)
        or (shape.best_effort and not node.best_effort_cpus)
    )


def plain_choice_on(problem: Problem, index: int) -> Choice:
    """Return the place of a plain pod on a node."""
    node = problem.nodes[index]
    return Choice(
        node=index,
        cores=(CoreTake(),) * len(node.cores),
        devices=tuple((0,) * len(bank.free) for bank in node.banks),
    )
