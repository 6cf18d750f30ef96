"""Ordered pairs of pods on a node, where the first would rather be without the second (C18)."""

from collections import Counter, defaultdict
from collections.abc import Mapping

from ortools.sat.python.cp_model import CpModel, IntVar, LinearExpr

from placer_models.cpsat.expression import Expression
from placer_models.cpsat.variables import Decisions
from placer_models.problem import Problem

Weights = Mapping[int, int]
"""Shape -> how often each of its pods counts."""


def pairs_too_near(model: CpModel, problem: Problem, x: Decisions) -> Expression:
    """Count the wishes of new pods to be apart, each for every pod that it meets on its node."""
    terms: list[Expression] = []
    for node, seats in enumerate(x.on_node):
        counts: defaultdict[int, list[tuple[IntVar, int]]] = defaultdict(list)
        for seat in seats:
            counts[x.units[seat.unit].shape].append((seat.count, seat.most))
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


def pairs_of(model: CpModel, size: LinearExpr, most: int, name: str) -> IntVar:
    """Return the ordered pairs of a crowd, or more: straight lines from below are exact.

    Args:
        model: Gets the variable.
        size: How many there are.
        most: What that can be at most.
        name: Of the crowd.

    """
    pairs = model.new_int_var(0, max(0, most * (most - 1)), f"pairs[{name}]")
    for count in range(1, most):
        model.add(pairs >= 2 * count * size - count * (count + 1))
    return pairs


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
