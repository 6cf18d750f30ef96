"""Envelopes: straight lines above or below the values that an amount can have."""

from collections.abc import Mapping
from itertools import pairwise

from ortools.sat.python.cp_model import CpModel, IntVar, LinearExpr

from placer_models.cpsat.assignment import Expression


def add_envelope_limit(
    model: CpModel, points: Expression, left: Expression, best: Mapping[int, int]
) -> None:
    """Limit by straight lines what an amount left can be worth, in a form that a bound can use.

    A table says the same, but too late for the bound.

    Args:
        model: Gets the lines.
        points: What the amount left is worth.
        left: How much is left.
        best: Amount left -> the most that it can be worth, for every amount that is possible.

    """
    if isinstance(points, int):
        return
    hull: list[tuple[int, int]] = []
    for point in sorted(best.items()):
        while len(hull) > 1 and _turns_up(hull[-2], hull[-1], point):
            hull.pop()
        hull.append(point)
    for (x1, y1), (x2, y2) in pairwise(hull):
        model.add((points - y1) * (x2 - x1) <= (left - x1) * (y2 - y1))


def _turns_up(a: tuple[int, int], b: tuple[int, int], c: tuple[int, int]) -> bool:
    """Return whether b lies on or below the line from a to c."""
    return (b[1] - a[1]) * (c[0] - a[0]) <= (c[1] - a[1]) * (b[0] - a[0])


def ordered_pair_count_var(model: CpModel, size: LinearExpr, most: int, name: str) -> IntVar:
    """Return a variable for the ordered pairs of a crowd, or more than these.

    The straight lines that hold it up from below are exact.

    Args:
        model: Gets the variable.
        size: The size of the crowd.
        most: The most that the size can be.
        name: The name of the crowd.

    """
    pairs = model.new_int_var(0, max(0, most * (most - 1)), f"pairs[{name}]")
    for count in range(1, most):
        model.add(pairs >= 2 * count * size - count * (count + 1))
    return pairs
