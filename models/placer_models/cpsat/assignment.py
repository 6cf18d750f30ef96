"""Assignment variables: how many pods of each unit run on each node."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

from ortools.sat.python.cp_model import IntVar, LinearExpr

from placer_models.problem.problem import Fit, Shape

Expression = LinearExpr | int
"""A linear expression, or a plain number where the value is known beforehand."""


P = TypeVar("P")
"""The type of what a family of rules decides."""

_Parts = dict[type, object]
"""What families of rules decide, keyed by its type."""


@dataclass(frozen=True, slots=True)
class PodUnit:
    """Interchangeable pods that stand in the model as one count per node.

    Attributes:
        pods: Indices of the pods; one where pods must be told apart.
        shape: Index of their shape.
        gang: Index of their gang, or None if each pod is a gang of its own.
        family: Number of the unit's family; units of one family are interchangeable too.
        level: Index of the priority.
        weight: Weight of the gang, or of each pod.

    """

    pods: tuple[int, ...]
    shape: int
    gang: int | None
    family: int
    level: int
    weight: int


@dataclass(frozen=True, slots=True, eq=False)
class Assignment:
    """The pods of one unit on one node.

    Attributes:
        count: How many of the unit's pods are on the node.
        most: Upper bound of count.
        name: What tells its variables apart from those of others.
        parts: What families of rules decide about the pods beside their count.

    """

    unit: int
    node: int
    shape: Shape
    fit: Fit
    count: IntVar
    most: int
    name: str
    parts: _Parts = field(default_factory=dict)

    def part(self, kind: type[P]) -> P | None:
        """Return what a family decides about the pods, or None if that is nothing."""
        found = self.parts.get(kind)
        assert found is None or isinstance(found, kind)
        return found


def pods_expr(assignments: Iterable[Assignment]) -> LinearExpr:
    """Return how many pods the assignments have together."""
    return LinearExpr.sum([assignment.count for assignment in assignments])


@dataclass(frozen=True, slots=True, eq=False)
class PlacementVariables:
    """The variables of a model: which pods run where.

    Attributes:
        assignments: One for every unit and node where pods of the unit could be.
        of_unit: The assignments of each unit.
        on_node: The assignments on each node.
        parts: What families of rules decide about all of them together.

    """

    units: tuple[PodUnit, ...]
    assignments: tuple[Assignment, ...]
    of_unit: tuple[tuple[Assignment, ...], ...]
    on_node: tuple[tuple[Assignment, ...], ...]
    parts: _Parts = field(default_factory=dict)

    def part(self, kind: type[P]) -> P:
        """Return what a family decides about all assignments."""
        found = self.parts[kind]
        assert isinstance(found, kind)
        return found

    def assignments_with(self, kind: type[P]) -> Iterator[tuple[Assignment, P]]:
        """Yield the assignments for which a family decides something, each with what it decides."""
        for assignment in self.assignments:
            part = assignment.part(kind)
            if part is not None:
                yield assignment, part

    def placed(self, unit: int) -> Expression:
        """Return how many pods of the unit have a place."""
        return pods_expr(self.of_unit[unit])

    def units_of_gang(self, gang: int) -> Iterator[int]:
        """Yield the indices of the gang's units."""
        return (index for index, unit in enumerate(self.units) if unit.gang == gang)
