"""NUMA alignment as arithmetic: how many NUMA nodes a request needs (C12).

A cell is one NUMA node with the amounts it holds of each resource. CPUs that the
kernel lists under no NUMA node form a cell of their own.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

from placer_models.policy import AlignmentPolicy, AlignmentScope

CellAmounts = tuple[int, ...]
"""One amount a resource, in an order that cells and need share."""


def effective_policy(pod: AlignmentPolicy, node: AlignmentPolicy) -> AlignmentPolicy | None:
    """Return the policy that holds for the pod on the node; None: they conflict.

    ``None`` counts as not set. Where both are set they must be the same (C12).
    """
    if pod is AlignmentPolicy.NONE:
        return node
    if node is AlignmentPolicy.NONE or node is pod:
        return pod
    return None


def effective_scope(
    pod: AlignmentScope | None, node: AlignmentScope | None
) -> AlignmentScope | None:
    """Return the scope of the policy that holds for the pod on the node; None: they conflict.

    As for the policy: where both are set they must be the same. Set by nobody: the pod.
    """
    if pod is not None and node is not None and pod is not node:
        return None
    return pod or node or AlignmentScope.POD


def width(amounts: Sequence[int], need: int) -> int | None:
    """Return the fewest cells that hold the need of one resource; None: all do not."""
    if need <= 0:
        return 0
    held = 0
    for count, amount in enumerate(sorted(amounts, reverse=True), start=1):
        held += amount
        if held >= need:
            return count
    return None


def restricted_width(cells: Sequence[CellAmounts], need: CellAmounts) -> int | None:
    """Return the one width that Restricted allows; None: it admits nothing.

    Each resource asked for has its own fewest number of cells; Restricted wants one
    set of cells that is of the fewest for each of them, so they must agree. Nothing
    asked for is width 0; callers take it as no constraint, for what has no width may
    still be asked for.
    """
    widths = {
        width([cell[i] for cell in cells], amount) for i, amount in enumerate(need) if amount > 0
    }
    if len(widths) > 1:
        return None
    return widths.pop() if widths else 0


def fewest_cells(cells: Sequence[CellAmounts], need: CellAmounts) -> int | None:
    """Return the fewest cells that together hold all of the need; None: all do not.

    Equal cells are counted, not told apart, so 34 NUMA nodes of 3 kinds cost little.
    """
    if all(amount <= 0 for amount in need):
        return 0
    asked = [i for i, amount in enumerate(need) if amount > 0]
    goal = tuple(need[i] for i in asked)
    kinds = Counter(
        tuple(min(cell[i], need[i]) for i in asked) for cell in cells if any(cell[i] for i in asked)
    )
    lower = max((width([cell[i] for cell in cells], need[i]) or 1) for i in asked)
    supply = sorted(kinds.items(), reverse=True)
    for size in range(lower, kinds.total() + 1):
        if any(_covers(total, goal) for total in _sums(supply, size, len(goal))):
            return size
    return None


def _covers(total: CellAmounts, goal: CellAmounts) -> bool:
    return all(have >= want for have, want in zip(total, goal, strict=True))


def _sums(supply: list[tuple[CellAmounts, int]], size: int, arity: int) -> Iterator[CellAmounts]:
    """Yield what each choice of ``size`` cells holds, one per choice of kinds."""
    if size == 0:
        yield (0,) * arity
        return
    if not supply:
        return
    (amounts, count), rest = supply[0], supply[1:]
    left = sum(c for _, c in rest)
    for taken in range(min(count, size), max(0, size - left) - 1, -1):
        for other in _sums(rest, size - taken, arity):
            yield tuple(taken * a + b for a, b in zip(amounts, other, strict=True))
