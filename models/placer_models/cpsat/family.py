"""A family of rules, as a model knows it: one record of everything that it adds."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ortools.sat.python.cp_model import CpModel, IntVar

from placer_models.cpsat.assignment import Assignment, Expression, PlacementVariables
from placer_models.goals import Tier
from placer_models.problem.banks import DeviceBank
from placer_models.problem.node_state import NodeState
from placer_models.problem.problem import Choice, Choices, Fit, Problem, Shape
from placer_models.rule_family import RuleFamilyName

AddRule = Callable[[CpModel, Problem, PlacementVariables], None]
"""Adds to a model what every placement obeys, or what helps the search."""

Goal = Callable[[CpModel, Problem, PlacementVariables], Expression]
"""Returns what a tier counts."""

Value = Callable[[Expression], int]
"""Returns the value of an expression in a solution."""

Hint = tuple[int, int]
"""The index of a variable, and the value that the search should try first."""


@dataclass(frozen=True, slots=True)
class KnownPlacement:
    """A known placement, assignment by assignment.

    Attributes:
        choices: The place of every pod.
        at: Every assignment with the places of its pods, an empty list where there is no pod.

    """

    choices: Choices
    at: Sequence[tuple[Assignment, Sequence[Choice]]]


def always(*_: object) -> bool:
    """Say yes, whatever is asked."""
    return True


def never(*_: object) -> bool:
    """Say no, whatever is asked."""
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFamily:
    """What a family of rules adds to a model of a batch, and which short cuts it leaves open.

    A short cut is taken where every family leaves it open. A family that says nothing about
    a short cut closes it: forgetting one costs speed, but never correctness.

    Attributes:
        room: Returns how many pods of a shape the node could host, up to a given number, as
            far as the family's resources go.
        decide: Creates the family's variables of one assignment, a part of it, or returns None
            if it has none there. Earlier families' parts are there already.
        decide_all: Creates its variables of all assignments together, a part of
            `PlacementVariables`.
        rules: What every placement obeys; without any one of them a wrong one gets through.
        cuts: What only helps the search: some best placement obeys all, so no tier suffers.
        tiers: Tier -> what the family counts for it.
        hint: Yields a known placement as values of the family's variables.
        read: Returns the places of an assignment's pods, one each, with the family's part of
            them read from a solution. Earlier families' parts have been read already.
        countable: Whether counts per node say everything about pods of a shape: any split of
            the counts over the pods is as good.
        plain: Whether pods of a shape take only plain sums of a node (its pools, its memory as
            a whole, extended resources), and nothing by place.
        sees_links: Whether it matters, before the link tiers, which GPUs of a cell pods have.
        exchangeable: Whether whole devices of a pod may be exchanged for others in their
            cells when a placement is finished, by shape, fit and bank.

    """

    name: RuleFamilyName
    room: Callable[[Problem, int, NodeState, int], int] | None = None
    decide: Callable[[CpModel, Problem, Assignment], object | None] | None = None
    decide_all: Callable[[CpModel, Problem, PlacementVariables], object] | None = None
    rules: tuple[AddRule, ...] = ()
    cuts: tuple[AddRule, ...] = ()
    tiers: Mapping[Tier, Goal] = field(default_factory=dict)
    hint: Callable[[Problem, PlacementVariables, KnownPlacement], Iterator[Hint]] | None = None
    read: Callable[[Problem, Assignment, Sequence[Choice], Value], Sequence[Choice]] | None = None
    countable: Callable[[Problem, int], bool] = never
    plain: Callable[[Problem, int], bool] = never
    sees_links: Callable[[Problem, DeviceBank], bool] = always
    exchangeable: Callable[[Shape, Fit, DeviceBank], bool] = never


def fits_of_shape(problem: Problem, shape: int) -> Iterator[Fit]:
    """Yield what a shape means on each kind of node where it can run."""
    return (fit for fit in problem.fits[shape] if fit is not None)


def solver_hints_for_plain_variables(
    expressions: Iterable[Expression], values: Iterable[int]
) -> Iterator[Hint]:
    """Yield hints for plain variables; derived expressions need none."""
    for expression, value in zip(expressions, values, strict=True):
        if isinstance(expression, IntVar):
            yield expression.index, value
