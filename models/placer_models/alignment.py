"""NUMA alignment as arithmetic: how many NUMA nodes a request needs (C12).

A cell is one NUMA node with the amounts it holds of each resource. CPUs that the
kernel lists under no NUMA node form a cell of their own.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from operator import ge

from placer_models.policy import AlignmentPolicy, AlignmentScope

CellAmounts = tuple[int, ...]
"""One amount per resource, in the same order for cells and needs."""


def resolve_alignment_policy(
    pod: AlignmentPolicy | None,
    node: AlignmentPolicy | None,
    default: AlignmentPolicy = AlignmentPolicy.NONE,
) -> AlignmentPolicy | None:
    """Return the policy that holds for the pod on the node, or None if the two conflict.

    Where both are set they must be the same (C12). ``NONE`` leaves it to the other, as if it were
    not set; but it is a word, which goes before the default of a scheduler (C22).
    """
    aligning = [said for said in (pod, node) if said not in (None, AlignmentPolicy.NONE)]
    if not aligning:
        return default if pod is None and node is None else AlignmentPolicy.NONE
    return aligning[0] if aligning[0] is aligning[-1] else None


def effective_alignment_scope(
    pod: AlignmentScope | None, node: AlignmentScope | None
) -> AlignmentScope | None:
    """Return the scope that holds for the pod on the node, or None if the two conflict.

    As for the policy, where both are set they must be the same. Where neither is set, it is
    the pod.
    """
    if pod is not None and node is not None and pod is not node:
        return None
    return pod or node or AlignmentScope.POD


def fewest_cell_count_for_one_resource(amounts: Sequence[int], need: int) -> int | None:
    """Return the fewest cells that hold the need of one resource, or None if all do not."""
    if need <= 0:
        return 0
    held = 0
    for count, amount in enumerate(sorted(amounts, reverse=True), start=1):
        held += amount
        if held >= need:
            return count
    return None


def restricted_cell_count(cells: Sequence[CellAmounts], need: CellAmounts) -> int | None:
    """Return the one width that Restricted allows, or None if it admits nothing.

    Each resource asked for has its own fewest number of cells. Restricted wants one set of
    cells that has the fewest for each of them, so these numbers must agree. If nothing is
    asked for, the width is 0. Callers take that as no constraint, because the pod may still
    ask for something that has no width.
    """
    widths = {
        fewest_cell_count_for_one_resource([cell[i] for cell in cells], amount)
        for i, amount in enumerate(need)
        if amount > 0
    }
    if len(widths) > 1:
        return None
    return widths.pop() if widths else 0


def fewest_cell_count_for_all_resources(
    cells: Sequence[CellAmounts], need: CellAmounts
) -> int | None:
    """Return the fewest cells that together hold all of the need, or None if all do not.

    Equal cells are counted, not told apart, so 34 NUMA nodes of 3 kinds cost little.
    """
    if all(amount <= 0 for amount in need):
        return 0
    asked = [i for i, amount in enumerate(need) if amount > 0]
    goal = tuple(need[i] for i in asked)
    kinds = Counter(
        tuple(min(cell[i], need[i]) for i in asked) for cell in cells if any(cell[i] for i in asked)
    )
    lower = max(
        (fewest_cell_count_for_one_resource([cell[i] for cell in cells], need[i]) or 1)
        for i in asked
    )
    supply = sorted(kinds.items(), reverse=True)
    for size in range(lower, kinds.total() + 1):
        if any(all(map(ge, total, goal)) for total in _sums(supply, size, len(goal))):
            return size
    return None


def _sums(supply: list[tuple[CellAmounts, int]], size: int, arity: int) -> Iterator[CellAmounts]:
    """Yield what ``size`` cells hold together, once for each way to choose their kinds."""
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
