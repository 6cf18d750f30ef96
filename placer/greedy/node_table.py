"""Table of all nodes of a problem while pods are being placed, with exact undo."""

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from placer.greedy.affinity import GreedyShapeCountsByNode
from placer.greedy.chooser import choose_keeping_rules_of_others
from placer.greedy.columns import Indices, Mask, NodeColumnLayout, Numbers
from placer.greedy.cost_bound import TierCostLowerBoundsByNode
from placer.greedy.free_nodes import state_with_one_gpu_visible
from placer.greedy.node_rows import LargestSpareByColumn, NodeRows, first_node_of_each_code
from placer.greedy.offer import BY_STRATEGY
from placer.greedy.ranking import FEW, NodeStateBid, ShapeNodeRanking
from placer.greedy.scored_nodes import NodeTableScorer
from placer.greedy.scorer import ANY_GPU, NodeScorer
from placer.greedy.states import NodeStateTable
from placer.greedy.taking import node_state_after
from placer.state.out_of_time import Stop, raise_if_out_of_time
from placer_models.incremental import PersistentTuple, changed_indices
from placer_models.problem.dimensions import MEMORY
from placer_models.problem.node_state import NodeState
from placer_models.problem.problem import Choice, Choices, Fit, Problem, Shape
from placer_models.recent import RecentlyUsedCache

Fits = tuple[Fit | None, ...]
"""What a shape means on each kind of node."""

MOST_RANKINGS = 64
"""How many rankings are kept at a time, however many nodes there are."""

MOST_RANKED, MOST_RANKINGS_OF_FEW = 500_000, 1_000
"""More rankings are kept while all of them have no more nodes than this together, at 150 bytes
each; and how many are kept then at most."""

NEW_STATES = 1_000
"""How many new states are met before those that no node is in are forgotten, or half as many as
were kept the last time if that is more. So forgetting costs little for each new state."""

_NOTHING: frozenset[int] = frozenset()


class NodeTableReuseKey(NamedTuple):
    """What two Problems have to agree in so that a table can turn from one to the other."""

    nodes: int
    columns: NodeColumnLayout
    states: Hashable


class GreedyNodeTable:
    """The nodes, what was placed on them so far, and what they offer.

    Nodes that are alike share a state; what a state offers to a shape is computed
    once, and only if no other node is certain to offer better. Taking a place changes one
    node, and a ranking looks again only at nodes that changed since it was last asked.

    Attributes:
        problem: The batch that is placed now.
        terms: What all problems that it turns to agree in, as `node_table_reuse_key` returns it.
        affinity: Which pods are beside which; None if no pod asks about others.
        stop: As in `place_greedily`.

    """

    def __init__(self, problem: Problem) -> None:
        """Begin with nothing placed."""
        self.stop: Stop | None = None
        self.terms = node_table_reuse_key(problem)
        self._columns = self.terms.columns
        self._known = NodeStateTable(self._columns)
        self._nodes = PersistentTuple.of(problem.nodes)
        states = self._known.of_all(problem.nodes)
        self._states: Indices = np.array(states, dtype=np.intp)
        self._rows = NodeRows.of_states(self._columns, self._states, self._known.row)
        self._kept = len(self._known)
        self._largest = LargestSpareByColumn(self._columns, self._rows)
        # A demand is a shape with its fits: what bounds, bids and rankings are about.
        self._demands: dict[tuple[Shape, Fits, tuple[Shape, ...]], int] = {}
        self._demands_of: RecentlyUsedCache[tuple[int, ...], tuple[object, list[int]]]
        self._demands_of = RecentlyUsedCache(MOST_RANKINGS)
        self._bounds: dict[tuple[tuple[int, int], ...], TierCostLowerBoundsByNode] = {}
        self._bids: dict[tuple[int, int, frozenset[int], int], NodeStateBid | None] = {}
        self._spares: dict[int, int] = {}
        of_few = min(MOST_RANKINGS_OF_FEW, MOST_RANKED // max(1, len(self._states)))
        self._rankings = RecentlyUsedCache[tuple[int, frozenset[int]], ShapeNodeRanking](
            max(MOST_RANKINGS, of_few)
        )
        self._scored: NodeTableScorer | None = None
        self._changed: list[int] = []
        self._journal: list[tuple[int, int]] = []
        self._choices: Choices = {}
        # (pod, state) -> the place found or taken there, and the state that it leaves.
        self._left_by: dict[tuple[int, int], tuple[Choice, int]] = {}
        self._take_up(problem)

    def turn_to(self, problem: Problem) -> None:
        """Take everything back, and begin with another batch on nodes that may have changed.

        Args:
            problem: The batch; it has as many nodes, and the same terms (`node_table_reuse_key`).

        """
        before = {self._choices[pod].node: state for pod, state in reversed(self._journal)}
        self._journal.clear()
        self._choices.clear()
        nodes = PersistentTuple.of(problem.nodes)
        changed = changed_indices(self._nodes, nodes)
        states = before | {node: self._known.number(nodes[node]) for node in changed}
        may_differ = False
        for node, state in states.items():
            had, has = before.get(node, self.state(node)), state
            may_differ |= self._largest.may_differ(self._known.row(had), self._known.row(has))
            # Most pods now run where they were placed: these nodes are in their states already.
            if state != self.state(node):
                self._set(node, state)
        self._nodes = nodes
        if may_differ and self._largest.renew(self._rows):
            self._spares.clear()
            if self._scored is None:  # Scorers do not look at what is spare.
                self._rankings.clear()
        if len(self._known) - self._kept > max(NEW_STATES, self._kept // 2):
            self._forget()
        self._take_up(problem)

    def score_by(self, scorer: NodeScorer | None) -> None:
        """Let a scorer choose among nodes from now on; None: the node strategy does."""
        had = None if self._scored is None else self._scored.scorer
        if scorer is had:
            return
        self._rankings.clear()
        self._scored = None
        if scorer is not None:
            states = map(self.left, self._states.tolist())
            unit = self.problem.dimensions[MEMORY].unit
            self._scored = NodeTableScorer(scorer, list(states), unit)

    def _forget(self) -> None:
        """Forget the states that no node is in, except those that a bid on a node would leave."""
        there = set(self._states.tolist())
        bids = {key: bid for key, bid in self._bids.items() if key[1] in there}
        numbers = self._known.forget_others(there.union(bid.state for bid in bids.values() if bid))
        self._states = np.array([numbers[state] for state in self._states.tolist()], dtype=np.intp)
        self._bids = {
            (demand, numbers[state], waived, gpu): bid and bid._replace(state=numbers[bid.state])
            for (demand, state, waived, gpu), bid in bids.items()
        }
        self._kept = len(numbers)
        self._spares = {numbers[s]: spare for s, spare in self._spares.items() if s in numbers}

    @property
    def size(self) -> int:
        """How much the table remembers."""
        bounds = sum(map(len, self._bounds))
        return len(self._known) + len(self._bids) + len(self._changed) + bounds

    def _take_up(self, problem: Problem) -> None:
        self.problem = problem
        self._left_by.clear()
        self.affinity = GreedyShapeCountsByNode(problem) if problem.affinity.barred else None
        self._domains = [np.array(level, dtype=np.intp) for level in problem.domains]
        # Batches of equal requirements have the same objects, kept here so that ids stay theirs.
        wanted = problem.shapes, problem.fits, problem.on_kinds
        known = self._demands_of.of(tuple(map(id, wanted)), lambda: (wanted, self._demands_in()))
        self._demand_of = known[1]

    def _demands_in(self) -> list[int]:
        """Return the demand of each shape of the problem."""
        problem = self.problem
        return [
            self._demands.setdefault((*wanted, self._by_kind(shape)), len(self._demands))
            for shape, wanted in enumerate(zip(problem.shapes, problem.fits, strict=True))
        ]

    def _by_kind(self, shape: int) -> tuple[Shape, ...]:
        """Return what pods take on each kind of node, where that is not the same everywhere."""
        return tuple(self.problem.shapes[one] for one in self.problem.on_kinds.get(shape, ()))

    @property
    def choices(self) -> Choices:
        """What is placed now; a copy."""
        return dict(self._choices)

    def place_of(self, pod: int) -> Choice | None:
        """Return the place that the pod has."""
        return self._choices.get(pod)

    def spare(self, state: int) -> int:
        """Return how much is free on a node in the state, in 1/1000 of the fleet's largest."""
        spare = self._spares.get(state)
        if spare is None:
            spare = self._spares[state] = self._largest.parts(self._known.row(state))
        return spare

    def left(self, state: int) -> NodeState:
        """Return what is left on a node in the state."""
        return self._known.left(state)

    def state(self, node: int) -> int:
        """Return the state of a node."""
        return int(self._states[node])

    def number(self, node: NodeState) -> int:
        """Return the number of a state."""
        return self._known.number(node)

    def find(self, pod: int, allowed: NDArray[np.bool_] | None = None) -> Choice | None:
        """Return the best place for the pod, or None if there is none. Nothing is taken.

        Args:
            pod: Its index.
            allowed: The nodes that may be taken; None: all.

        """
        raise_if_out_of_time(self.stop)
        shape = self.problem.pods[pod]
        ranking = self._ranking(shape)
        first = None
        if self.affinity is None:
            node = self._best(shape, ranking, allowed)
        else:
            mask = self.affinity.allowed(shape)
            mask = mask if allowed is None else mask & allowed
            first = self.affinity.to_cover(shape, self._choices)
            if first is not None:
                mask &= np.arange(len(mask)) == first[0]
            masks: Iterator[Mask] = iter((mask,))
            if self.affinity.has_wishes(shape):
                masks = _fewest_lost_first(mask, self.affinity.wishes_lost(shape))
            bests = (self._best(shape, ranking, few) for few in masks)
            node = next((best for best in bests if best is not None), None)
        if node is None:
            return None
        state = self.state(node)
        bid = self.bid(shape, state, ranking.gpu_on(node))
        choice = bid and bid.choice.on(node)
        if choice and self.affinity and first and not self.affinity.covers(choice, *first):
            return None
        if bid and choice:
            self._left_by[pod, state] = choice, bid.state
        return choice

    def bid(self, shape: int, state: int, gpu: int = ANY_GPU) -> NodeStateBid | None:
        """Return what a node in the state offers to a pod of the shape, or None if nothing.

        Args:
            shape: Index of the shape.
            state: The state.
            gpu: The GPU that a share should be of, if it can be, as `NodeScores` says it.

        """
        waived = self._waived(shape)
        key = (self._demand_of[shape], state, waived, gpu)
        if key not in self._bids:
            self._bids[key] = self._bid(shape, state, waived, gpu)
        return self._bids[key]

    def leaves(self, shape: int, state: int, choice: Choice) -> int:
        """Return the state of a node once a pod of the shape has taken the place."""
        before = self.left(state)
        fit = self.problem.fits[shape][before.kind]
        assert fit is not None  # else the place was never offered
        left = node_state_after(before, self.problem.shape_on(shape, before), fit, choice)
        if before.load is not None and fit.ask is not None:
            left = replace(left, load=before.load.with_pod(fit.ask))
        return self.number(left)

    def next_state(self, shape: int, state: int, bid: NodeStateBid) -> int:
        """Return the state that a bid leaves to pods that come to the node with its pod."""
        return self.leaves(shape, state, bid.choice) if bid.choice.near else bid.state

    def hosts(self, shapes: Iterable[int]) -> list[int]:
        """Return the nodes that could, by their sums, host a pod of any of the shapes."""
        mask = np.zeros(len(self._states), dtype=np.bool_)
        for shape in shapes:
            bound = self._bound([shape])
            mask |= bound.hosts(self._rows, bound.terms(self._rows, self._known.layouts))
        return [int(node) for node in np.flatnonzero(mask)]

    def nodes_by_bound(self, shapes: Sequence[int]) -> tuple[list[int], list[tuple[int, ...]]]:
        """Return lower bounds of what pods cost that come to a node together, best node first.

        Args:
            shapes: The shape of each pod.

        Returns:
            Nodes that could, by their sums, host all pods, and for each what their places
            cost together at least: a price, and what is spare then.

        """
        bound, layouts = self._bound(shapes), self._known.layouts
        nodes = np.flatnonzero(bound.hosts(self._rows, bound.terms(self._rows, layouts)))
        found = self._rows.at(nodes)
        costs = bound.costs(found, bound.terms(found, layouts), self._largest.numbers, layouts)
        order = np.lexsort(costs[::-1])
        return nodes[order].tolist(), [tuple(each) for each in costs.T[order].tolist()]

    def take(self, pod: int, choice: Choice) -> None:
        """Give the pod a place that is free."""
        node = choice.node
        before = self.state(node)
        known, left = self._left_by.get((pod, before), (None, before))
        if known is not choice:
            left = self.leaves(self.problem.pods[pod], before, replace(choice, near=()))
            self._left_by[pod, before] = choice, left
        self._journal.append((pod, before))
        self._choices[pod] = choice
        if self.affinity is not None:
            self.affinity.add(self.problem.pods[pod], node, 1)
        self._set(node, left)

    def domains(self, level: int) -> NDArray[np.intp]:
        """Return the domain of every node at a level of the network."""
        return self._domains[level]

    def mark(self) -> int:
        """Return a point to which ``undo`` can come back."""
        return len(self._journal)

    def undo(self, mark: int) -> None:
        """Take back all that was placed since the mark; exact."""
        while len(self._journal) > mark:
            pod, state = self._journal.pop()
            node = self._choices.pop(pod).node
            if self.affinity is not None:
                self.affinity.add(self.problem.pods[pod], node, -1)
            self._set(node, state)

    def since(self, mark: int) -> list[tuple[int, Choice]]:
        """Return what was placed since the mark, in that order."""
        return [(pod, self._choices[pod]) for pod, _ in self._journal[mark:]]

    def _set(self, node: int, state: int) -> None:
        self._states[node] = state
        self._rows.write(node, self._known.row(state))
        if self._scored is not None:
            self._scored.write(node, self.left(state))
        self._changed.append(node)

    def _waived(self, shape: int) -> frozenset[int]:
        """Return the terms that the first pod of its kind need not keep, by position."""
        return _NOTHING if self.affinity is None else self.affinity.waived(shape)

    def _bid(self, shape: int, state: int, waived: frozenset[int], gpu: int) -> NodeStateBid | None:
        node = self.left(state)
        fit = self.problem.fits[shape][node.kind]
        if fit is None:
            return None
        wanted, offer = self.problem.shape_on(shape, node), None
        if gpu != ANY_GPU:
            offer = choose_keeping_rules_of_others(
                state_with_one_gpu_visible(node, gpu), wanted, fit, waived
            )
        if offer is None:
            offer = choose_keeping_rules_of_others(node, wanted, fit, waived)
        if offer is None:
            return None
        choice = offer.choice
        left = self.leaves(shape, state, replace(choice, near=()) if choice.near else choice)
        return NodeStateBid(offer.price, choice, left)

    def _bound(self, shapes: Sequence[int]) -> TierCostLowerBoundsByNode:
        key: tuple[tuple[int, int], ...] = ((self._demand_of[shapes[0]], 1),)
        if len(shapes) > 1:
            key = tuple(sorted(Counter(self._demand_of[shape] for shape in shapes).items()))
        if key not in self._bounds:
            shape_of = {self._demand_of[shape]: shape for shape in shapes}
            wanted = list(zip(self.problem.shapes, self.problem.fits, strict=True))
            counts = [(wanted[shape_of[demand]], count) for demand, count in key]
            self._bounds[key] = TierCostLowerBoundsByNode(self._columns, counts)
        return self._bounds[key]

    def _ranking(self, shape: int) -> ShapeNodeRanking:
        key = (self._demand_of[shape], self._waived(shape))
        epoch = None if self._scored is None else self._scored.epoch
        if key in self._rankings and self._rankings[key].epoch != epoch:
            del self._rankings[key]
        ranking = self._rankings.of(key, lambda: self._ranked(shape, epoch))
        if changed := sorted(set(self._changed[ranking.seen :])):
            if len(changed) <= FEW:
                changed = [node for node in changed if not self._put_known(shape, ranking, node)]
            if changed:
                nodes = np.array(changed, dtype=np.intp)
                self._expect(shape, ranking, nodes, self._rows.at(nodes))
            ranking.seen = len(self._changed)
        return ranking

    def _ranked(self, shape: int, epoch: Hashable) -> ShapeNodeRanking:
        """Return a new ranking of all nodes for a shape."""
        ranking = ShapeNodeRanking(len(self._states), epoch)
        self._expect_all(shape, ranking)
        ranking.seen = len(self._changed)
        return ranking

    def _put_known(self, shape: int, ranking: ShapeNodeRanking, node: int) -> bool:
        """Write down what a place on the node costs if that is known of its state."""
        state = self.state(node)
        key = (self._demand_of[shape], state, self._waived(shape), ANY_GPU)
        # What a scorer says of a node does not follow from its state alone.
        if self._scored is not None or key not in self._bids:
            return False
        bid = self._bids[key]
        at = np.array([node], dtype=np.intp)
        ranking.put(at, bid and (*bid.price, self.spare(bid.state)))
        return True

    def _expect_all(self, shape: int, ranking: ShapeNodeRanking) -> None:
        """Let a new ranking know what all nodes offer at best; those that are alike count once."""
        codes, kinds = self._states, None if self._scored is None else self._scored.kinds
        if self._scored is not None and kinds is None:
            nodes = np.arange(len(codes))
            self._expect(shape, ranking, nodes, self._rows)
            return
        if kinds is not None:
            codes = codes * (int(kinds.max(initial=0)) + 1) + kinds
        nodes, of = first_node_of_each_code(codes)
        ranking.expect_alike(of, *self._offers(shape, nodes, self._rows.at(nodes)))

    def _expect(
        self, shape: int, ranking: ShapeNodeRanking, nodes: Indices, rows: NodeRows
    ) -> None:
        """Let the ranking know what nodes offer at best, going by their rows."""
        fits, costs, gpus = self._offers(shape, nodes, rows)
        if gpus is not None:
            ranking.expect_gpus(nodes, gpus)
        ranking.expect(nodes, fits, costs)

    def _offers(
        self, shape: int, nodes: Indices, rows: NodeRows
    ) -> tuple[Mask, Numbers, Numbers | None]:
        """Return which nodes may have a place, the least it costs, and the GPU a scorer wants."""
        bound, layouts = self._bound([shape]), self._known.layouts
        terms = bound.terms(rows, layouts)
        fits = bound.hosts(rows, terms)
        costs = bound.costs(rows, terms, self._largest.numbers, layouts)
        if self._scored is None:
            return fits, costs, None
        asked = self.problem.shapes[shape]
        fits, costs[BY_STRATEGY], gpus = self._scored.scores(asked, nodes, fits)
        costs[-1] = 0
        return fits, costs, gpus

    def _best(
        self, shape: int, ranking: ShapeNodeRanking, allowed: NDArray[np.bool_] | None
    ) -> int | None:
        """Return the cheapest node, or None, after looking into nodes until the first is sure."""
        while (node := ranking.first(allowed)) is not None and not ranking.is_sure(node):
            state = self.state(node)
            bid = self.bid(shape, state, ranking.gpu_on(node))
            nodes = ranking.like(node, (self._states == state).nonzero()[0])
            if ranking.put(nodes, bid and (*bid.price, self.spare(bid.state))):
                return node
        return node


def _fewest_lost_first(mask: Mask, lost: Numbers) -> Iterator[Mask]:
    """Yield the nodes of a mask in parts: where least is lost, then where more is, and so on."""
    while (left := lost[mask]).size:
        few = mask & (lost == left.min())
        yield few
        mask = mask & ~few


def node_table_reuse_key(problem: Problem) -> NodeTableReuseKey:
    """Return the terms of a Problem."""
    return NodeTableReuseKey(len(problem.nodes), NodeColumnLayout.of(problem), problem.encoding)
