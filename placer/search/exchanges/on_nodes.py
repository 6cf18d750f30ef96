"""Pods on the nodes where exchanges want them: which of them find a place there by every rule."""

from collections import defaultdict
from collections.abc import Iterable, Mapping

from placer.greedy.gang_order import hardest_first
from placer.greedy.node_table import NodeTable
from placer.state.out_of_time import Stop
from placer_models.node_state import NodeState
from placer_models.problem import Choices, Problem

ORDERS = 3
"""How often the pods of one node are laid, each time those first that found no place there."""


class NodeLayer:
    """The nodes as all other pods leave them, on which pods are laid by the greedy path's rules.

    Attributes:
        others: The places of pods that are never exchanged.
        nodes: What these leave of each node.

    """

    def __init__(self, problem: Problem, others: Choices, stop: Stop) -> None:
        """Take the places of the others."""
        self._problem = problem
        self._stop = stop
        self._table = NodeTable(problem)
        for pod, choice in others.items():
            self._table.take(pod, choice)
        self._mark = self._table.mark()
        table = self._table
        self.nodes: list[NodeState] = [
            table.left(table.state(node)) for node in range(len(problem.nodes))
        ]

    def lay(self, held: Mapping[int, int], *, in_order: bool = False) -> list[int] | None:
        """Lay pods on their nodes, in place of those laid before; return those without a place.

        Return None if the time is over.

        Args:
            held: Pod -> index of its node.
            in_order: Whether the pods of each node come in the order given, which is that of
                `laid` and so finds all of them a place again.

        """
        self._table.undo(self._mark)
        on: defaultdict[int, list[int]] = defaultdict(list)
        for pod, node in held.items():
            on[node].append(pod)
        failed: list[int] = []
        for node, pods in on.items():
            if self._stop():
                return None
            failed += self._lay_on(node, pods if in_order else hardest_first(self._problem, pods))
        return failed

    def _lay_on(self, node: int, pods: list[int]) -> list[int]:
        """Lay pods on a node; return those that find no place."""
        table, mark = self._table, self._table.mark()
        order, best, fewest = pods, pods, len(pods) + 1
        for _ in range(ORDERS):
            table.undo(mark)
            failed = [pod for pod in order if not self._take(pod, node)]
            if not failed:
                return []
            if len(failed) < fewest:
                best, fewest = order, len(failed)
            order = [*failed, *(pod for pod in order if pod not in failed)]
        table.undo(mark)
        return [pod for pod in best if not self._take(pod, node)]

    def _take(self, pod: int, node: int) -> bool:
        table = self._table
        bid = table.bid(self._problem.pods[pod], table.state(node))
        if bid is not None:
            table.take(pod, bid.choice.on(node))
        return bid is not None

    def add(self, pods: Iterable[int]) -> bool:
        """Lay pods on any nodes beside those laid; if one has no place, none of them is laid.

        Returns:
            Whether all have places.

        """
        table, mark = self._table, self._table.mark()
        for pod in pods:
            choice = None if self._stop() else table.find(pod)
            if choice is None:
                table.undo(mark)
                return False
            table.take(pod, choice)
        return True

    def laid(self) -> dict[int, int]:
        """Return pod -> node of all that is laid, in the order in which it was."""
        return {pod: choice.node for pod, choice in self._table.since(self._mark)}

    @property
    def choices(self) -> Choices:
        """All places, of the others too."""
        return self._table.choices
