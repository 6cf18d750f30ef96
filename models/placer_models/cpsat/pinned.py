"""How much of a divisible good, memory or hugepages, a pod takes from each cell."""

from collections.abc import Sequence

from ortools.sat.python.cp_model import CpModel

from placer_models.cpsat.expression import Expression
from placer_models.problem import Fit


def pinned(
    model: CpModel,
    held: Sequence[int],
    need: int,
    fit: Fit,
    used: Sequence[Expression],
    name: str,
) -> tuple[Expression, ...]:
    """Return what the pod of an assignment takes from each cell; empty: from anywhere.

    It is said where a policy asks which cells the pod, or a container of it, uses.

    Args:
        model: Gets the variables.
        held: What each cell has.
        need: What the pod asks for.
        fit: What its policy is.
        used: A literal a cell; none where no policy asks.
        name: Of the variables, ending in ``]``.

    """
    if not need or not (used or fit.containers):
        return ()
    if used and (len(held) == 1 or fit.cell_limit == 1):
        return tuple(need * literal for literal in used)
    return tuple(
        model.new_int_var(0, min(amount, need), f"{name[:-1]},{i}]")
        for i, amount in enumerate(held)
    )
