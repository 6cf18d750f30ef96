"""Limits of domains while pods are being placed: how many pods are in each domain of nodes."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from placer.greedy.columns import Mask, Numbers
from placer_models.domains import NO_DOMAIN
from placer_models.problem.tasks import ProblemDomainLimit


class _Domains(NamedTuple):
    """The domains of one task, and how many of its pods each has.

    Attributes:
        of_node: Node -> number of its domain; one beyond the last domain if it is not looked at.
        counts: Domain -> how many pods count there, running ones included.
        asking: Domain -> how many placed pods ask.

    """

    of_node: Numbers
    counts: Numbers
    asking: Numbers


class GreedyDomainPodCounts:
    """How many pods are in each domain that a limit looks at."""

    def __init__(self, tasks: Sequence[ProblemDomainLimit], shapes: int, nodes: int) -> None:
        """Begin with the running pods, and nothing placed.

        Args:
            tasks: What is asked of domains.
            shapes: How many shapes there are.
            nodes: How many nodes there are.

        """
        self._nodes = nodes
        self._tasks = tasks
        self._domains = [_domains(task) for task in tasks]
        self._about: list[list[int]] = [[] for _ in range(shapes)]
        for number, task in enumerate(self._tasks):
            for shape in task.asking | task.matches:
                self._about[shape].append(number)

    def add(self, shape: int, node: int, count: int) -> None:
        """Note that ``count`` more pods of the shape are on the node, or fewer if negative."""
        for number in self._about[shape]:
            task, domain = self._tasks[number], self._tasks[number].domains[node]
            if domain != NO_DOMAIN:
                self._domains[number].counts[domain] += count * (shape in task.matches)
                self._domains[number].asking[domain] += count * (shape in task.asking)

    def note_asking(self, shape: int, node: int) -> None:
        """Note that a pod of the shape that is among the running ones asks, too."""
        for number in self._about[shape]:
            task, domain = self._tasks[number], self._tasks[number].domains[node]
            if domain != NO_DOMAIN:
                self._domains[number].asking[domain] += shape in task.asking

    def allowed(self, shape: int) -> Mask:
        """Return the nodes where one more pod of the shape breaks no required limit."""
        mask = np.ones(self._nodes, dtype=np.bool_)
        for _, kept in self.kept(shape):
            mask &= kept
        return mask

    def kept(self, shape: int) -> Iterator[tuple[int, Mask]]:
        """Yield each required limit about a shape, and the nodes where one more keeps it.

        Nodes that the limit does not look at are among them.
        """
        for number in self._about[shape]:
            task = self._tasks[number]
            if task.required and task.here:
                after, fewest, asked = self._with_one_more(number, shape)
                allowed = ~asked | (after - fewest <= task.most)
                yield number, self._on_nodes(number, allowed.astype(np.int64), 1) > 0

    def has_wishes(self, shape: int) -> bool:
        """Return whether a limit about the shape is not required."""
        return any(not self._tasks[number].required for number in self._about[shape])

    def lost(self, shape: int) -> Numbers:
        """Return node -> how much more is beyond limits with one more pod of the shape there."""
        lost: Numbers = np.zeros(self._nodes, dtype=np.int64)
        for number in self._about[shape]:
            task = self._tasks[number]
            if task.required or not task.here:
                continue
            counts, asking = self._domains[number].counts, self._domains[number].asking > 0
            few = counts.min() if task.beyond_fewest else 0
            before = np.maximum(counts - few - task.most, 0) * asking
            after, fewest, asked = self._with_one_more(number, shape)
            here = np.maximum(after - fewest - task.most, 0) * asked - before
            # If the fewest rise, all other domains are beyond them by less.
            risen = (fewest - few) * int((before > 0).sum())
            lost += self._on_nodes(number, here - risen, 0)
        return lost

    def holds(self) -> bool:
        """Return whether every limit that is required is kept."""
        for task, domains in zip(self._tasks, self._domains, strict=True):
            if task.required and task.here:
                fewest = domains.counts.min() if task.beyond_fewest else 0
                if ((domains.counts - fewest > task.most) & (domains.asking > 0)).any():
                    return False
        return True

    def _with_one_more(self, number: int, shape: int) -> tuple[Numbers, Numbers, Mask]:
        """Return by domain, if it had one more pod: its count, the fewest, whether a pod asks."""
        task, domains = self._tasks[number], self._domains[number]
        after = domains.counts + (shape in task.matches)
        asked = (domains.asking > 0) | (shape in task.asking)
        if not task.beyond_fewest:
            return after, np.zeros_like(after), asked
        others = np.full_like(after, domains.counts.min())
        if len(after) > 1:
            others[domains.counts.argmin()] = np.partition(domains.counts, 1)[1]
            return after, np.minimum(others, after), asked
        return after, after, asked

    def _on_nodes(self, number: int, of_domains: Numbers, otherwise: int) -> Numbers:
        """Return node -> the value of its domain, or ``otherwise`` if it is not looked at."""
        # `NO_DOMAIN` is the index of the last one.
        found: Numbers = np.append(of_domains, otherwise)[self._domains[number].of_node]
        return found


def _domains(task: ProblemDomainLimit) -> _Domains:
    return _Domains(
        np.frombuffer(task.domains.column, dtype=np.int64),
        np.array(task.here, dtype=np.int64),
        np.zeros(len(task.here), dtype=np.int64),
    )
