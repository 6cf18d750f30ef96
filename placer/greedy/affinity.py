"""Affinity while pods are being placed: which nodes it allows, and which it would like."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from placer.greedy.columns import Mask, Numbers
from placer.greedy.domain_limits import GreedyDomainPodCounts
from placer.greedy.in_node_affinity import AffinityPlaces, InNodeAffinityFirstPods
from placer_models.domains import NO_DOMAIN, CountInDomainByNode
from placer_models.problem.problem import Choice, Choices, Problem
from placer_models.problem.tasks import ProblemAffinityTerm

WISH = 10**6
"""Weight of tier affinity beside tiers of limits of domains, which come after it."""


class GreedyShapeCountsByNode:
    """How many pods of each shape are on each node.

    Pods are placed one by one, and each of them keeps what its affinities require. So a pod
    that needs another one comes after it.
    """

    def __init__(self, problem: Problem) -> None:
        """Begin with the running pods, and nothing placed."""
        nodes = len(problem.nodes)
        self._tasks = problem.affinity.tasks
        self._domains = [_domains(task) for task in self._tasks]
        # Most shapes are the subject of few terms.
        self._about: list[list[int]] = [[] for _ in problem.shapes]
        for number, task in enumerate(self._tasks):
            for shape in {task.shape, *task.matches}:
                self._about[shape].append(number)
        self._placed: Numbers = np.zeros((len(problem.shapes), nodes), dtype=np.int64)
        self._count = [0] * len(problem.shapes)
        self._nowhere: Numbers = np.zeros(nodes, dtype=np.int64)
        self._running = [_counts(task.here, nodes) for task in problem.affinity.tasks]
        self._runs = [running > 0 for running in self._running]
        self._first = InNodeAffinityFirstPods(problem)
        self._limits = GreedyDomainPodCounts(problem.affinity.limits, len(problem.shapes), nodes)
        self._barred = [_mask(barred, nodes) for barred in problem.affinity.barred]

    def add(self, shape: int, node: int, count: int) -> None:
        """Note that ``count`` more pods of the shape are on the node, or fewer if negative."""
        self._placed[shape, node] += count
        self._count[shape] += count
        self._limits.add(shape, node, count)

    def allowed(self, shape: int) -> Mask:
        """Return the nodes where one more pod of the shape breaks nothing that is required."""
        mask = ~self._barred[shape] & self._limits.allowed(shape)
        for number in self._about[shape]:
            task = self._tasks[number]
            if not task.required:
                continue
            if task.apart:
                if task.shape == shape:
                    mask &= self._meant(number) == 0
                if shape in task.matches:
                    mask &= self._asking(number) == 0
                continue
            meant = self._meant(number)
            there = self._runs[number] | (meant > 0)
            means_itself = task.shape in task.matches
            if task.shape == shape and (there.any() or not means_itself):
                mask &= there
            # The first of its kind may be alone only while no other pod is meant anywhere.
            if shape in task.matches and self._is_alone(number):
                mask &= (meant > 0) | ~self._belongs(number)
        return mask

    def has_wishes(self, shape: int) -> bool:
        """Return whether something about the shape is not required, so that it may be lost."""
        wishes = any(not self._tasks[number].required for number in self._about[shape])
        return wishes or self._limits.has_wishes(shape)

    def wishes_lost(self, shape: int) -> Numbers:
        """Return node -> how much more is lost with one more pod of the shape there.

        What tier affinity loses counts `WISH` times as much as what tiers of limits do.
        """
        return WISH * self._affinity_lost(shape) + self._limits.lost(shape)

    def _affinity_lost(self, shape: int) -> Numbers:
        lost: Numbers = np.zeros(self._placed.shape[1], dtype=np.int64)
        for number in self._about[shape]:
            task = self._tasks[number]
            if task.required:
                continue
            meant = self._meant(number)
            others = self._asking(number)
            if task.apart:  # by ordered pairs
                if task.shape == shape:
                    lost += task.weight * (meant + self._running[number])
                if shape in task.matches:
                    lost += task.weight * others
                continue
            if task.shape == shape:
                lost += task.weight * ~(self._runs[number] | (meant > 0))
            if shape in task.matches:
                itself = int(task.shape in task.matches)
                first = ~self._runs[number] & (meant <= itself)
                lost -= task.weight * np.where(first, others, 0)
        return lost

    def waived(self, shape: int) -> frozenset[int]:
        """Return the positions of the in-node terms that the shape need not keep now."""
        return self._first.waived(shape, self._placed)

    def to_cover(self, shape: int, choices: Choices) -> tuple[int, AffinityPlaces] | None:
        """Return where a pod of the shape must be to join a first of its kind, or None."""
        return self._first.to_cover(shape, self._placed, choices)

    def covers(self, choice: Choice, node: int, places: AffinityPlaces) -> bool:
        """Return whether a pod in the place is with the first of its kind that is there."""
        return self._first.covers(choice, node, places)

    def holds(self, choices: Choices) -> bool:
        """Return whether every pod that requires another one has it."""
        if not self._first.holds(choices) or not self._limits.holds():
            return False
        for number, task in enumerate(self._tasks):
            if not task.required or task.apart:
                continue
            means_itself = task.shape in task.matches
            with_another = self._runs[number] | (self._meant(number) > means_itself)
            missing = (self._placed[task.shape] > 0) & ~with_another
            if missing.any() and not self._is_alone(number):
                return False
        return True

    def _is_alone(self, number: int) -> bool:
        """Return whether the only pod of the term's shape is also the only one that it means."""
        task = self._tasks[number]
        if task.shape not in task.matches or self._runs[number].any():
            return False
        meant = self._placed[sorted(task.matches)].sum(axis=0)[self._belongs(number)]
        return int(meant.sum()) == 1 and self._count[task.shape] == 1

    def _meant(self, number: int) -> Numbers:
        """Return how many placed pods are meant in the domain of each node; not to be changed."""
        matches = [shape for shape in self._tasks[number].matches if self._count[shape]]
        if not matches:
            return self._nowhere
        meant: Numbers = self._placed[matches].sum(axis=0)
        return self._in_domains(number, meant)

    def _asking(self, number: int) -> Numbers:
        """Return how many placed pods ask in the domain of each node; not to be changed."""
        shape = self._tasks[number].shape
        if not self._count[shape]:
            return self._nowhere
        return self._in_domains(number, self._placed[shape])

    def _in_domains(self, number: int, on_nodes: Numbers) -> Numbers:
        """Return node -> how many are in its domain, which is 0 if it is in no domain."""
        domains = self._domains[number]
        if domains is None:
            return on_nodes
        total = np.bincount(domains.of_node, on_nodes, minlength=domains.none + 1)
        total[domains.none] = 0
        found: Numbers = total.astype(np.int64)[domains.of_node]
        return found

    def _belongs(self, number: int) -> Mask:
        """Return which nodes are in a domain of the term."""
        domains = self._domains[number]
        if domains is None:
            return np.ones(self._placed.shape[1], dtype=np.bool_)
        return domains.of_node < domains.none


class _Domains(NamedTuple):
    """Domains of nodes.

    Attributes:
        of_node: Node -> number of its domain, or `none` if it is in no domain.
        none: The number of domains, which stands for being in none.

    """

    of_node: Numbers
    none: int


def _domains(task: ProblemAffinityTerm) -> _Domains | None:
    """Return the domains that a term looks at, or None if each node is one."""
    if not task.domains:
        return None
    none = task.domains.number
    of_node = np.frombuffer(task.domains.column, dtype=np.int64)
    if task.domains.outside:
        of_node = np.where(of_node == NO_DOMAIN, none, of_node)
    return _Domains(of_node, none)


def _counts(here: Mapping[int, int], nodes: int) -> Numbers:
    """Return how many are counted at each node, as a column."""
    if isinstance(here, CountInDomainByNode):
        # `NO_DOMAIN` is the index of the last one.
        of_domains = np.zeros(here.domains.number + 1, dtype=np.int64)
        of_domains[list(here.of_domains)] = list(here.of_domains.values())
        found: Numbers = of_domains[np.frombuffer(here.domains.column, dtype=np.int64)]
        return found
    counts = np.zeros(nodes, dtype=np.int64)
    counts[list(here)] = list(here.values())
    return counts


def _mask(nodes: frozenset[int], count: int) -> Mask:
    mask = np.zeros(count, dtype=np.bool_)
    mask[sorted(nodes)] = True
    return mask
