"""Pods that want to be together or apart (C18)."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ortools.sat.python.cp_model import CpModel, IntVar, LinearExpr

from placer_models.cpsat.assignment import Assignment, Variables
from placer_models.cpsat.envelope import pairs_of
from placer_models.cpsat.expression import Expression
from placer_models.cpsat.family import Family, always, never
from placer_models.goals import AFFINITY
from placer_models.problem import Problem
from placer_models.rule_family import RuleFamily
from placer_models.tasks import AffinityTask

Weights = Mapping[int, int]
"""Shape -> how often each of its pods counts."""


@dataclass(frozen=True, slots=True)
class _Meeting:
    """Pods of a term on one node.

    Attributes:
        mine: Assignments of the shape whose term it is.
        meant: Assignments of the shapes that it means, its own too if it does.

    """

    number: int
    task: AffinityTask
    node: int
    mine: tuple[Assignment, ...]
    meant: tuple[Assignment, ...]

    @property
    def means_itself(self) -> bool:
        """Whether pods of the term match it; each then counts among the meant."""
        return self.task.shape in self.task.matches

    @property
    def enough(self) -> int:
        """How many meant pods there are where each of mine has another."""
        return 2 if self.means_itself else 1

    @property
    def name(self) -> str:
        """The name of its variables."""
        return f"[{self.number},{self.node}]"


def pods_keep_apart(model: CpModel, problem: Problem, x: Variables) -> None:
    """No pod is with another one that its required anti-affinity means."""
    for meeting in _meetings(problem, x, apart=True, required=True):
        clear = _clear(model, meeting)
        model.add(_count(meeting.mine) <= _most(meeting.mine) * clear)


def pods_come_together(model: CpModel, problem: Problem, x: Variables) -> None:
    """A pod is with another one that its required affinity means; or is the first of all."""
    alone: dict[int, Expression] = {}
    for meeting in _meetings(problem, x, apart=False, required=True):
        if meeting.node in meeting.task.here:
            continue
        if meeting.number not in alone:
            alone[meeting.number] = _alone(model, problem, x, meeting)
        here = model.new_bool_var(f"together{meeting.name}")
        model.add(_count(meeting.mine) <= _most(meeting.mine) * here)
        model.add(_count(meeting.meant) >= meeting.enough * here - alone[meeting.number])


def lost(model: CpModel, problem: Problem, x: Variables) -> Expression:
    """Count what preferred terms lose: those without company, and pairs that are too near."""
    terms: list[Expression] = []
    for meeting in _meetings(problem, x, apart=False, required=False):
        if meeting.node not in meeting.task.here:
            kept = model.new_bool_var(f"with{meeting.name}")
            model.add(_count(meeting.meant) >= meeting.enough * kept)
            terms.append(_unless(model, meeting, kept))
    terms.append(_pairs_too_near(model, problem, x))
    return LinearExpr.sum(terms)


def _pairs_too_near(model: CpModel, problem: Problem, x: Variables) -> Expression:
    """Count the wishes of new pods to be apart, each for every pod that it meets on its node."""
    terms: list[Expression] = []
    for node, assignments in enumerate(x.on_node):
        counts: defaultdict[int, list[tuple[IntVar, int]]] = defaultdict(list)
        for assignment in assignments:
            counts[x.units[assignment.unit].shape].append((assignment.count, assignment.most))
        wishing: defaultdict[frozenset[int], Counter[int]] = defaultdict(Counter)
        for task in problem.affinity.tasks:
            if task.apart and not task.required and task.shape in counts:
                wishing[task.matches.intersection(counts)][task.shape] += 1
                running = task.here.get(node, 0)
                terms += [running * count for count, _ in counts[task.shape] if running]
        on_node = _Crowd(model, counts, problem.nodes[node].name)
        for meant, wishers in wishing.items():
            terms.append(on_node.pairs(wishers, meant))
    return LinearExpr.sum(terms)


def _meetings(problem: Problem, x: Variables, *, apart: bool, required: bool) -> Iterator[_Meeting]:
    """Yield each term of the kind with each node where a pod of it could be."""
    on_node: list[defaultdict[int, list[Assignment]]] = []
    for assignments in x.on_node:
        by_shape: defaultdict[int, list[Assignment]] = defaultdict(list)
        for assignment in assignments:
            by_shape[x.units[assignment.unit].shape].append(assignment)
        on_node.append(by_shape)
    for number, task in enumerate(problem.affinity.tasks):
        if task.apart is not apart or task.required is not required:
            continue
        for node, by_shape in enumerate(on_node):
            if task.shape in by_shape:
                meant = [
                    assignment
                    for shape in sorted(task.matches)
                    for assignment in by_shape.get(shape, ())
                ]
                yield _Meeting(number, task, node, tuple(by_shape[task.shape]), tuple(meant))


def _clear(model: CpModel, meeting: _Meeting) -> IntVar:
    """Return a literal that is true only where none of mine has another meant pod."""
    clear = model.new_bool_var(f"apart{meeting.name}")
    fewest = meeting.enough - 1
    beyond = max(0, _most(meeting.meant) - fewest)
    model.add(_count(meeting.meant) <= fewest + beyond * (1 - clear))
    return clear


def _unless(model: CpModel, meeting: _Meeting, kept: IntVar) -> IntVar:
    """Return how many of mine are there, 0 where the literal is true; or more."""
    most = _most(meeting.mine)
    unmet = model.new_int_var(0, most, f"unmet{meeting.name}")
    model.add(unmet >= _count(meeting.mine) - most * kept)
    return unmet


def _alone(model: CpModel, problem: Problem, x: Variables, meeting: _Meeting) -> Expression:
    """Return a literal that is true only where at most one pod of the cluster is meant."""
    if not meeting.means_itself or meeting.task.here:
        return 0
    meant = [s for s in x.assignments if x.units[s.unit].shape in meeting.task.matches]
    alone = model.new_bool_var(f"alone[{meeting.number}]")
    most = sum(1 for shape in problem.pods if shape in meeting.task.matches)
    model.add(_count(meant) <= 1 + most * (1 - alone))
    return alone


def _count(assignments: tuple[Assignment, ...] | list[Assignment]) -> LinearExpr:
    return LinearExpr.sum([assignment.count for assignment in assignments])


def _most(assignments: tuple[Assignment, ...]) -> int:
    return sum(assignment.most for assignment in assignments)


class _Crowd:
    """The pods of each shape on one node, and products of their counts."""

    def __init__(
        self, model: CpModel, counts: Mapping[int, list[tuple[IntVar, int]]], name: str
    ) -> None:
        self._model = model
        self._counts = counts
        self._name = name
        self._products: dict[frozenset[tuple[tuple[int, int], ...]], IntVar] = {}

    def pairs(self, wishers: Weights, meant: frozenset[int]) -> Expression:
        """Return how often the wishers meet others that are meant; nobody meets itself.

        As often as all that are meant wish so, their pairs are those of one crowd, a convex
        function of its size. What is left are products of two counts.
        """
        mutual = min((wishers.get(shape, 0) for shape in meant), default=0)
        crowd = dict.fromkeys(meant, 1)
        terms = []
        if mutual:
            size, most = self._sum(crowd), self._most(crowd)
            terms.append(mutual * pairs_of(self._model, size, most, self._name))
        rest = {
            shape: weight
            for shape, often in wishers.items()
            if (weight := often - mutual * (shape in meant))
        }
        if rest and meant:
            terms.append(self._product(rest, crowd))
            terms.append(-self._sum({s: w for s, w in rest.items() if s in meant}))
        return LinearExpr.sum(terms)

    def _product(self, one: Weights, other: Weights) -> IntVar:
        """Return the product of two counts."""
        key = frozenset(tuple(sorted(weights.items())) for weights in (one, other))
        if key not in self._products:
            sides = [self._model.new_int_var(0, self._most(w), "") for w in (one, other)]
            for side, weights in zip(sides, (one, other), strict=True):
                self._model.add(side == self._sum(weights))
            most = self._most(one) * self._most(other)
            product = self._model.new_int_var(0, most, f"product[{self._name}]")
            self._model.add_multiplication_equality(product, sides)
            self._products[key] = product
        return self._products[key]

    def _sum(self, weights: Weights) -> LinearExpr:
        return LinearExpr.sum(
            [
                weight * count
                for shape, weight in weights.items()
                for count, _ in self._counts[shape]
            ]
        )

    def _most(self, weights: Weights) -> int:
        return sum(
            weight * most for shape, weight in weights.items() for _, most in self._counts[shape]
        )


FAMILY = Family(
    name=RuleFamily.AFFINITY,
    rules=(pods_keep_apart, pods_come_together),
    tiers={AFFINITY: lost},
    countable=always,
    plain=always,
    sees_links=never,
    exchangeable=always,
)
