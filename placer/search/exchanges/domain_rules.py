"""Rules of a batch by which pods look at each other across nodes, as exchanges count them.

Pods that must not be together, that need others, and that spread: each such rule is a number of
weights of shapes in domains of nodes (`move_rules`). Rules that are no such numbers are kept by
leaving as many pods of each role in each domain as there are.
"""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence

import numpy as np

from placer.greedy.columns import Numbers
from placer.search.exchanges.move_rules import (
    NO_RULE,
    NOWHERE,
    ExchangeDomainCountRuleKind,
    ExchangeDomainRuleArrays,
)
from placer_models.domains import DomainByNode
from placer_models.problem.problem import Choices, Problem
from placer_models.problem.tasks import ProblemAffinityTerm, ProblemDomainLimit
from placer_models.records import record

MOST_COUNTS = 4_000_000
"""The most counts of domains, of all rules together, that are kept."""

MOST_ROLES = 10_000_000
"""The most pods x rules of one pod that are kept."""

MOST_LOOKS = 20_000_000
"""The most pods in rules x nodes: whenever pods are laid, each of them looks at all nodes."""

ASKS, MEANT = 1, 2
"""What pods weigh that ask, and that are meant, in a rule by which they stay."""


@record(frozen=True, slots=True)
class _DomainRule:
    """One rule.

    Attributes:
        kind: What it says.
        base, most: As in `ExchangeDomainRuleArrays`.
        weights: Shape -> what its pods weigh.
        domains: The domain of each node; empty: each is its own.
        here: What counts in each domain beside the pods of the batch.

    """

    kind: ExchangeDomainCountRuleKind
    base: int
    most: int
    weights: Mapping[int, int]
    domains: DomainByNode
    here: Sequence[int]


class ExchangeDomainRules:
    """The rules of a batch, and what pods count in them that are never exchanged.

    Attributes:
        related: The shapes that some rule is about.
        is_wide: Whether there is so much to count that exchanges would take too long.

    """

    def __init__(self, problem: Problem, others: Choices) -> None:
        """Write the rules down.

        Args:
            problem: The batch.
            others: The places of pods that stay.

        """
        affinity = problem.affinity
        most = len(problem.pods) + 1
        rules = [
            *(_of_terms(alike, most, problem) for alike in _alike(affinity.tasks)),
            *(_of_limit(task) for task in affinity.limits if task.required and task.here),
        ]
        self._nodes = len(problem.nodes)
        self._of: list[list[tuple[int, int]]] = [[] for _ in problem.shapes]
        for number, rule in enumerate(rules):
            for shape, weight in rule.weights.items():
                self._of[shape].append((number, weight))
        self.related = frozenset(shape for shape, of in enumerate(self._of) if of)
        rows: dict[DomainByNode, int] = {}
        self._rows = [rows.setdefault(rule.domains, len(rows)) for rule in rules]
        self._domains = np.array(
            [domains or range(self._nodes) for domains in rows], dtype=np.int64
        ).reshape(len(rows), self._nodes)
        starts, kinds = [0], []
        for rule in rules:
            size = self._nodes if not rule.domains else rule.domains.number
            kept = (
                rule.kind if starts[-1] + size <= MOST_COUNTS else ExchangeDomainCountRuleKind.STAY
            )
            kinds.append(kept)
            starts.append(
                starts[-1] + (size if kept is not ExchangeDomainCountRuleKind.STAY else 0)
            )
        self._starts, self._kinds = np.array(starts), np.array(kinds, dtype=np.int64)
        self._bases = np.array([rule.base for rule in rules], dtype=np.int64)
        self._most = np.array([rule.most for rule in rules], dtype=np.int64)
        self._beside: Numbers = np.zeros(starts[-1], dtype=np.int64)
        for number, rule in enumerate(rules):
            if kinds[number] is not ExchangeDomainCountRuleKind.STAY:
                first = starts[number]
                self._beside[first : first + len(rule.here)] = rule.here
        for pod, choice in others.items():
            for number, weight in self._of[problem.pods[pod]]:
                domain = int(self._domains[self._rows[number], choice.node])
                if domain != NOWHERE and kinds[number] is not ExchangeDomainCountRuleKind.STAY:
                    self._beside[starts[number] + domain] += weight
        self._width = max(map(len, self._of), default=0)
        asking = sum(shape in self.related for shape in problem.pods)
        self.is_wide = (
            self._width * len(problem.pods) > MOST_ROLES or asking * self._nodes > MOST_LOOKS
        )

    def roles(self, shapes: int) -> Numbers:
        """Return a number for each shape: those with the same one are alike to all rules."""
        known: dict[tuple[tuple[int, int], ...], int] = {(): 0}
        return np.array(
            [known.setdefault(tuple(self._of[shape]), len(known)) for shape in range(shapes)],
            dtype=np.int64,
        )

    def of_items(self, shapes: Sequence[int], bins: int) -> ExchangeDomainRuleArrays:
        """Return the rules for items of these shapes, and a gap after them; nothing is counted.

        Args:
            shapes: The shape of each item.
            bins: How many bins there are; those beyond the nodes are spare.

        """
        of = np.full((len(shapes) + 1, self._width), NO_RULE, dtype=np.int64)
        weights = np.zeros_like(of)
        for item, shape in enumerate(shapes):
            for position, (number, weight) in enumerate(self._of[shape]):
                of[item, position], weights[item, position] = number, weight
        spare = ((0, 0), (0, bins - self._nodes))
        none = np.zeros(len(self._kinds), dtype=np.int64)
        return ExchangeDomainRuleArrays(
            of=of,
            weights=weights,
            kinds=self._kinds,
            bases=self._bases,
            most=self._most,
            rows=np.array(self._rows, dtype=np.int64),
            domains=np.pad(self._domains, spare, constant_values=NOWHERE),
            starts=self._starts,
            beside=self._beside,
            counts=self._beside,
            least=none,
            largest=none,
        )


def _alike(tasks: Sequence[ProblemAffinityTerm]) -> Iterable[list[ProblemAffinityTerm]]:
    """Return the required terms, those together that differ in nothing but who asks."""
    found: defaultdict[Hashable, list[ProblemAffinityTerm]] = defaultdict(list)
    for task in tasks:
        if task.required:
            itself = task.shape in task.matches
            here = frozenset() if task.apart else frozenset(task.here.items())
            # Domains of a topology are the same object for all terms.
            found[task.apart, task.matches, id(task.domains), itself, here].append(task)
    return found.values()


def _of_terms(alike: Sequence[ProblemAffinityTerm], most: int, problem: Problem) -> _DomainRule:
    """Return the rule of terms that differ in nothing but who asks.

    Args:
        alike: The terms.
        most: More than all pods of the batch.
        problem: The batch.

    """
    first = alike[0]
    asking = {task.shape for task in alike}
    means_itself = first.shape in first.matches
    if first.apart:
        weights = {**dict.fromkeys(first.matches, 1), **dict.fromkeys(asking, most)}
        # Running pods that are meant bar their domain to who asks, and do not count.
        limit = most if means_itself else most * most
        return _DomainRule(
            ExchangeDomainCountRuleKind.APART, most, limit, weights, first.domains, ()
        )
    if means_itself:
        return _staying(asking, first.matches, first.domains)
    weights = {**dict.fromkeys(first.matches, most), **dict.fromkeys(asking, 1)}
    here = [0] * (first.domains.number if first.domains else len(problem.nodes))
    for node, count in first.here.items():
        if count and (domain := first.domain(node)) != NOWHERE:
            here[domain] = most
    return _DomainRule(ExchangeDomainCountRuleKind.BESIDE, most, 0, weights, first.domains, here)


def _of_limit(task: ProblemDomainLimit) -> _DomainRule:
    """Return the rule of a limit that is required."""
    if task.asking != task.matches:
        return _staying(task.asking, task.matches, task.domains)
    kind = (
        ExchangeDomainCountRuleKind.EVEN
        if task.beyond_fewest
        else ExchangeDomainCountRuleKind.AT_MOST
    )
    return _DomainRule(kind, 1, task.most, dict.fromkeys(task.matches, 1), task.domains, task.here)


def _staying(
    asking: frozenset[int] | set[int], meant: frozenset[int], domains: DomainByNode
) -> _DomainRule:
    """Return the rule by which as many pods of each role stay in each domain."""
    weights: defaultdict[int, int] = defaultdict(int)
    for shape in asking:
        weights[shape] += ASKS
    for shape in meant:
        weights[shape] += MEANT
    return _DomainRule(ExchangeDomainCountRuleKind.STAY, 1, 0, weights, domains, ())
