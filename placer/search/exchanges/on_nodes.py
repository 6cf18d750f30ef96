"""Pods on the nodes where exchanges want them: which of them find a place there by every rule."""

from collections.abc import Iterable, Mapping

from placer.greedy.affinity import GreedyShapeCountsByNode
from placer.greedy.gang_order import gang_pods_most_demanding_first
from placer.greedy.node_table import GreedyNodeTable
from placer.search.exchanges.domain_rules import ExchangeDomainRules
from placer.state.out_of_time import Stop
from placer_models.problem.node_state import NodeState
from placer_models.problem.problem import Choices, Problem

ORDERS = 3
"""How often the pods of one node are laid, each time those first that found no place there."""

OnNodes = dict[int, list[int]]
"""Node -> pods, in the order in which they are laid there."""


class ExchangeGreedyPodPlacer:
    """The nodes as all other pods leave them, on which pods are laid by the greedy path's rules.

    Attributes:
        nodes: What the pods that are never exchanged leave of each node.
        rules: What pods ask of others on other nodes, or of their whole node.

    """

    def __init__(self, problem: Problem, others: Choices, stop: Stop) -> None:
        """Take the places of the others, which stay as they are."""
        self._problem = problem
        self._stop = stop
        self._table = table = GreedyNodeTable(problem)
        for pod, choice in others.items():
            table.take(pod, choice)
        self._mark = table.mark()
        self.rules = ExchangeDomainRules(problem, others)
        self._bare = [table.state(node) for node in range(len(problem.nodes))]
        self.nodes: list[NodeState] = [table.left(state) for state in self._bare]

    def hosts(self, shape: int, most: int) -> bool:
        """Return whether some bare node has a place for a pod of the shape alone.

        Where there are more than ``most`` different nodes it is not looked into.
        """
        states = dict.fromkeys(self._bare)
        return len(states) > most or any(self._table.bid(shape, state) for state in states)

    def ordered(self, node: int, pods: list[int]) -> tuple[list[int], list[int]]:
        """Return the pods in an order in which they find places on the bare node, and who does not.

        A few orders are tried; nothing is laid.
        """
        order = gang_pods_most_demanding_first(self._problem, pods)
        best: tuple[list[int], list[int]] = [], order
        for _ in range(ORDERS):
            laid, failed, state = [], [], self._bare[node]
            for pod in order:
                bid = self._table.bid(self._problem.pods[pod], state)
                if bid is None:
                    failed.append(pod)
                else:
                    laid.append(pod)
                    state = bid.state
            if not failed:
                return laid, failed
            if not best[0] or len(failed) < len(best[1]):
                best = laid, failed
            order = [*failed, *laid]
        return best

    def lay(self, on: Mapping[int, Iterable[int]]) -> list[int]:
        """Lay pods on nodes in the order given, in place of those laid before.

        Pods that may not come yet because of others come after them.

        Returns:
            Those that find no place there, or may not come.

        """
        table, things = self._table, self._problem.pods
        table.undo(self._mark)
        waiting = [(node, pod) for node, pods in on.items() for pod in pods]
        while True:
            left = []
            for node, pod in waiting:
                shape = things[pod]
                bid = table.bid(shape, table.state(node)) if self._may_come(shape, node) else None
                if bid is None:
                    left.append((node, pod))
                else:
                    table.take(pod, bid.choice.on(node))
            if not left or len(left) == len(waiting) or not self.rules.related:
                return [pod for _, pod in left]
            waiting = left

    def _may_come(self, shape: int, node: int) -> bool:
        """Return whether pods that are laid let another one of the shape come to the node."""
        affinity = self._table.affinity
        if affinity is None or shape not in self.rules.related:
            return True
        return bool(affinity.allowed(shape)[node])

    @property
    def keeps_rules(self) -> bool:
        """Whether every pod that is laid has the others that it needs."""
        affinity = self._table.affinity
        return affinity is None or affinity.holds(self._table.choices)

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

    def bare_counts(self) -> GreedyShapeCountsByNode | None:
        """Take back all that is laid; return what rules between pods count then, if there are any.

        Whoever counts pods there takes them back.
        """
        self._table.undo(self._mark)
        return self._table.affinity if self.rules.related else None

    @property
    def choices(self) -> Choices:
        """All places, of the others too."""
        return self._table.choices
