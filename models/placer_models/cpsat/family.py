"""A family of rules, as a model knows it: one record of all that it adds."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from ortools.sat.python.cp_model import CpModel, IntVar

from placer_models.cpsat.assignment import Assignment, Variables
from placer_models.cpsat.expression import Expression
from placer_models.problem import Choice, Choices, Problem

Rule = Callable[[CpModel, Problem, Variables], None]
"""What every placement obeys, or what helps the search."""

Value = Callable[[Expression], int]
"""What an expression is worth in a solution."""


@dataclass(frozen=True, slots=True)
class KnownPlaces:
    """A known placement, assignment by assignment.

    Attributes:
        choices: The place of every pod.
        at: Every assignment with the places of its pods; none where no pod is.

    """

    choices: Choices
    at: Sequence[tuple[Assignment, Sequence[Choice]]]


Hint = tuple[int, int]
"""The index of a variable and the value it had best begin with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """What a family of rules adds to a model of a batch.

    Attributes:
        name: Of the family; the name of its file.
        decide: Creates its variables of one assignment, a part of it; None: it has none
            there. Earlier families' parts are there already.
        hint: Says a known placement in its variables.
        read: Returns the places of an assignment's pods, one each, with its own part of
            them read out of a solution.

    """

    name: str
    decide: Callable[[CpModel, Problem, Assignment], object | None] | None = None
    hint: Callable[[Problem, Variables, KnownPlaces], Iterator[Hint]] | None = None
    read: Callable[[Problem, Assignment, Sequence[Choice], Value], Sequence[Choice]] | None = None


def hints(expressions: Iterable[Expression], values: Iterable[int]) -> Iterator[Hint]:
    """Yield the hints of plain variables; what is derived needs none."""
    for expression, value in zip(expressions, values, strict=True):
        if isinstance(expression, IntVar):
            yield expression.index, value
