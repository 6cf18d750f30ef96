"""Affinity and anti-affinity: pods that want to be together or apart (C18)."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ortools.sat.python.cp_model import CpModel, IntVar, LinearExpr

from placer_models.cpsat.assignment import Assignment, Expression, PlacementVariables, pods_expr
from placer_models.cpsat.envelope import ordered_pair_count_var
from placer_models.cpsat.family import ModelFamily, always, never
from placer_models.domains import NO_DOMAIN
from placer_models.goals import AFFINITY
from placer_models.problem.problem import Problem
from placer_models.problem.tasks import ProblemAffinityTerm
from placer_models.rule_family import RuleFamilyName

Weights = Mapping[int, int]
"""Shape -> the weight with which each of its pods counts."""


@dataclass(frozen=True, slots=True)
class _Meeting:
    """The pods that a term concerns on one node, or in one domain of nodes.

    Attributes:
        node: The node, or the first one of the domain; `NO_DOMAIN` if the nodes are in none.
        mine: Assignments of the shape whose term it is.
        meant: Assignments of the shapes that the term means, its own shape included if meant.

    """

    number: int
    task: ProblemAffinityTerm
    node: int
    mine: tuple[Assignment, ...]
    meant: tuple[Assignment, ...]

    @property
    def means_itself(self) -> bool:
        """Whether the term means pods of its own shape; each then counts among the meant."""
        return self.task.shape in self.task.matches

    @property
    def enough(self) -> int:
        """How many meant pods it takes for each of mine to have another one."""
        return 2 if self.means_itself else 1

    @property
    def name(self) -> str:
        """What the names of its variables end with."""
        return f"[{self.number},{self.node}]"


def pods_keep_apart(model: CpModel, problem: Problem, x: PlacementVariables) -> None:
    """No pod is with another one that its required anti-affinity means."""
    for meeting in _meetings(problem, x, apart=True, required=True):
        if meeting.node == NO_DOMAIN:
            continue
        clear = _clear(model, meeting)
        model.add(pods_expr(meeting.mine) <= _most(meeting.mine) * clear)


def affine_pods_come_together(model: CpModel, problem: Problem, x: PlacementVariables) -> None:
    """A pod is with another one that its required affinity means, or is the first of all."""
    alone: dict[int, Expression] = {}
    for meeting in _meetings(problem, x, apart=False, required=True):
        if meeting.node in meeting.task.here or meeting.node == NO_DOMAIN:
            continue  # On nodes of no domain it has no assignments.
        if meeting.number not in alone:
            alone[meeting.number] = _alone(model, problem, x, meeting)
        here = model.new_bool_var(f"together{meeting.name}")
        model.add(pods_expr(meeting.mine) <= _most(meeting.mine) * here)
        model.add(pods_expr(meeting.meant) >= meeting.enough * here - alone[meeting.number])


def affinity_weight_lost_expr(
    model: CpModel, problem: Problem, x: PlacementVariables
) -> Expression:
    """Sum the weights that preferred terms lose: by pods without company, and pairs too near."""
    terms: list[Expression] = []
    for meeting in _meetings(problem, x, apart=False, required=False):
        if meeting.node == NO_DOMAIN:
            terms.append(meeting.task.weight * pods_expr(meeting.mine))
        elif meeting.node not in meeting.task.here:
            kept = model.new_bool_var(f"with{meeting.name}")
            model.add(pods_expr(meeting.meant) >= meeting.enough * kept)
            terms.append(meeting.task.weight * _unless(model, meeting, kept))
    terms.append(_pairs_too_near(model, problem, x))
    return LinearExpr.sum(terms)


def _pairs_too_near(model: CpModel, problem: Problem, x: PlacementVariables) -> Expression:
    """Sum the weights of new pods' wishes to be apart, once for every pod that is too near."""
    by_domains: defaultdict[tuple[int, ...], list[ProblemAffinityTerm]] = defaultdict(list)
    for task in problem.affinity.tasks:
        if task.apart and not task.required:
            by_domains[task.domains].append(task)
    terms: list[Expression] = []
    for tasks in by_domains.values():
        for nodes in _domains(tasks[0], len(x.on_node)):
            if tasks[0].domain(nodes[0]) != NO_DOMAIN:
                terms += _pairs_in(model, problem, x, tasks, nodes)
    return LinearExpr.sum(terms)


def _pairs_in(
    model: CpModel,
    problem: Problem,
    x: PlacementVariables,
    tasks: Sequence[ProblemAffinityTerm],
    nodes: Sequence[int],
) -> Iterator[Expression]:
    """Yield the terms of that sum for one domain."""
    counts: defaultdict[int, list[tuple[IntVar, int]]] = defaultdict(list)
    for node in nodes:
        for assignment in x.on_node[node]:
            counts[x.units[assignment.unit].shape].append((assignment.count, assignment.most))
    wishing: defaultdict[frozenset[int], Counter[int]] = defaultdict(Counter)
    for task in tasks:
        if task.shape in counts:
            wishing[task.matches.intersection(counts)][task.shape] += task.weight
            if running := task.here.get(nodes[0], 0):
                yield from (task.weight * running * count for count, _ in counts[task.shape])
    crowd = _Crowd(model, counts, problem.nodes[nodes[0]].name)
    for meant, wishers in wishing.items():
        yield crowd.pairs(wishers, meant)


def _meetings(
    problem: Problem, x: PlacementVariables, *, apart: bool, required: bool
) -> Iterator[_Meeting]:
    """Yield each term of the kind with each node or domain where a pod of its shape could be."""
    on_node: list[defaultdict[int, list[Assignment]]] = []
    for assignments in x.on_node:
        by_shape: defaultdict[int, list[Assignment]] = defaultdict(list)
        for assignment in assignments:
            by_shape[x.units[assignment.unit].shape].append(assignment)
        on_node.append(by_shape)
    for number, task in enumerate(problem.affinity.tasks):
        if task.apart is not apart or task.required is not required:
            continue
        for nodes in _domains(task, len(on_node)):
            mine = [a for node in nodes for a in on_node[node].get(task.shape, ())]
            if not mine:
                continue
            if task.domain(nodes[0]) == NO_DOMAIN:
                yield _Meeting(number, task, NO_DOMAIN, tuple(mine), ())
                continue
            meant = [
                assignment
                for shape in sorted(task.matches)
                for node in nodes
                for assignment in on_node[node].get(shape, ())
            ]
            yield _Meeting(number, task, nodes[0], tuple(mine), tuple(meant))


def _domains(task: ProblemAffinityTerm, nodes: int) -> Collection[Sequence[int]]:
    """Return the nodes of each domain that a term looks at, and the nodes in none as one more."""
    if not task.domains:
        return [(node,) for node in range(nodes)]
    found: defaultdict[int, list[int]] = defaultdict(list)
    for node, domain in enumerate(task.domains):
        found[domain].append(node)
    return found.values()


def _clear(model: CpModel, meeting: _Meeting) -> IntVar:
    """Return a literal that is true only where none of mine has another meant pod."""
    clear = model.new_bool_var(f"apart{meeting.name}")
    fewest = meeting.enough - 1
    beyond = max(0, _most(meeting.meant) - fewest)
    model.add(pods_expr(meeting.meant) <= fewest + beyond * (1 - clear))
    return clear


def _unless(model: CpModel, meeting: _Meeting, kept: IntVar) -> IntVar:
    """Return a variable that is at least the count of mine, unless the literal is true."""
    most = _most(meeting.mine)
    unmet = model.new_int_var(0, most, f"unmet{meeting.name}")
    model.add(unmet >= pods_expr(meeting.mine) - most * kept)
    return unmet


def _alone(
    model: CpModel, problem: Problem, x: PlacementVariables, meeting: _Meeting
) -> Expression:
    """Return a literal that is true only where at most one pod of the cluster is meant."""
    if not meeting.means_itself or meeting.task.here:
        return 0
    task = meeting.task
    meant = [
        assignment
        for assignment in x.assignments
        if x.units[assignment.unit].shape in task.matches
        and task.domain(assignment.node) != NO_DOMAIN
    ]
    alone = model.new_bool_var(f"alone[{meeting.number}]")
    most = sum(1 for shape in problem.pods if shape in meeting.task.matches)
    model.add(pods_expr(meant) <= 1 + most * (1 - alone))
    return alone


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
        """Return the weighted count of wishers' meetings with meant pods; no pod meets itself.

        The weight that all meant shapes have in common counts the pairs of one crowd, a
        convex function of its size. Weights beyond that need products of two counts.
        """
        mutual = min((wishers.get(shape, 0) for shape in meant), default=0)
        crowd = dict.fromkeys(meant, 1)
        terms = []
        if mutual:
            size, most = self._sum(crowd), self._most(crowd)
            terms.append(mutual * ordered_pair_count_var(self._model, size, most, self._name))
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
        """Return the product of two weighted counts."""
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


FAMILY = ModelFamily(
    name=RuleFamilyName.AFFINITY,
    rules=(pods_keep_apart, affine_pods_come_together),
    tiers={AFFINITY: affinity_weight_lost_expr},
    countable=always,
    plain=always,
    sees_links=never,
    exchangeable=always,
)
