"""The answer so far of a model: how far its tiers have been solved."""

from dataclasses import dataclass
from typing import Generic, TypeVar

Solution = TypeVar("Solution", covariant=True)
"""CP-SAT's solver, which says what any expression is worth, or choices made of that."""


@dataclass(frozen=True, slots=True)
class ModelAnswer(Generic[Solution]):
    """How far the tiers of a model have been solved, the first of them or all.

    Attributes:
        solution: The best that was found; None if nothing was, or nothing that is better than
            a known start.
        values: What that is worth, tier by tier. Without a solution that of the known start,
            empty if there is none.
        bounds: Per tier, what no solution beats that is as good in earlier tiers; None where
            that is not known.
        infeasible: Whether it is proven that there is no solution at all.

    """

    solution: Solution | None
    values: tuple[int, ...]
    bounds: tuple[int | None, ...]
    infeasible: bool = False

    @property
    def proven(self) -> bool:
        """Whether it is proven that no solution is better."""
        return bool(self.values) and self.values == self.bounds
