"""Which sets of GPUs the pods of a shape can have on a node (D6, D10)."""

from collections.abc import Sequence

from placer_models.cpsat.share_seats import reach_of
from placer_models.device import GPU
from placer_models.links import Selection, offered, offered_count, tells_apart
from placer_models.problem import NodeState, Shape


def gpu_sets(node: NodeState, shape: Shape) -> tuple[Selection, ...]:
    """Return the GPU sets that a pod of the shape can have, best first.

    None where it wants one GPU and every one will do.
    """
    bank = node.bank(GPU)
    size = shape.count_of(GPU)
    if bank is None or (size < 2 and not tells_apart(bank.board, size)):
        return ()
    return offered(bank.board, size, reach_of(bank, shape), shape.scope_of(GPU))


def sets_differ(node: NodeState, shape: Shape, sets: Sequence[Selection]) -> bool:
    """Return whether it matters which of the sets a pod has, or that it has one of them."""
    bank = node.bank(GPU)
    if bank is None:
        return False
    size = shape.count_of(GPU)
    limited = tells_apart(bank.board, size) or any(kind == GPU for kind, _ in shape.scopes)
    return limited or len({(s.pair_minimum, s.pair_sum) for s in sets}) > 1


def lacks_gpu_sets(node: NodeState, shape: Shape) -> bool:
    """Return whether the free GPUs, many as they may be, hold no set that the pod may have."""
    bank = node.bank(GPU)
    if bank is None or not (bank.board.honored or shape.scopes):
        return False
    size = shape.count_of(GPU)
    reach = reach_of(bank, shape)
    return size > 0 and not offered_count(bank.board, size, reach, shape.scope_of(GPU))
