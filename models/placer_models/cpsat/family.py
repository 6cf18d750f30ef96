"""A family of rules, as a model knows it: one record of all that it adds."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ortools.sat.python.cp_model import CpModel, IntVar

from placer_models.cpsat.assignment import Assignment, Variables
from placer_models.cpsat.expression import Expression
from placer_models.goals import Tier
from placer_models.problem import Choice, Choices, NodeState, Problem

Rule = Callable[[CpModel, Problem, Variables], None]
"""What every placement obeys, or what helps the search."""

Goal = Callable[[CpModel, Problem, Variables], Expression]
"""What a tier counts."""

Value = Callable[[Expression], int]
"""What an expression is worth in a solution."""

Hint = tuple[int, int]
"""The index of a variable and the value it had best begin with."""


@dataclass(frozen=True, slots=True)
class KnownPlaces:
    """A known placement, assignment by assignment.

    Attributes:
        choices: The place of every pod.
        at: Every assignment with the places of its pods; none where no pod is.

    """

    choices: Choices
    at: Sequence[tuple[Assignment, Sequence[Choice]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """What a family of rules adds to a model of a batch.

    Attributes:
        name: Of the family; the name of its file.
        room: Returns how many of so many pods of a shape the node could host, as far as the
            family's resources go.
        decide: Creates its variables of one assignment, a part of it; None: it has none
            there. Earlier families' parts are there already.
        decide_all: Creates its variables of all assignments together, a part of them.
        rules: What every placement obeys; without any one of them a wrong one gets through.
        cuts: What helps the search: true of some best placement, so that no tier suffers.
        tiers: What it counts for which tiers.
        hint: Says a known placement in its variables.
        read: Returns the places of an assignment's pods, one each, with its own part of
            them read out of a solution. Earlier families' parts are read already.

    """

    name: str
    room: Callable[[Problem, int, NodeState, int], int] | None = None
    decide: Callable[[CpModel, Problem, Assignment], object | None] | None = None
    decide_all: Callable[[CpModel, Problem, Variables], object] | None = None
    rules: tuple[Rule, ...] = ()
    cuts: tuple[Rule, ...] = ()
    tiers: Mapping[Tier, Goal] = field(default_factory=dict)
    hint: Callable[[Problem, Variables, KnownPlaces], Iterator[Hint]] | None = None
    read: Callable[[Problem, Assignment, Sequence[Choice], Value], Sequence[Choice]] | None = None


def hints(expressions: Iterable[Expression], values: Iterable[int]) -> Iterator[Hint]:
    """Yield the hints of plain variables; what is derived needs none."""
    for expression, value in zip(expressions, values, strict=True):
        if isinstance(expression, IntVar):
            yield expression.index, value
