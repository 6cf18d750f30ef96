"""Lots and the nodes where their pods are: what fits by sums is laid there by every rule."""

from collections import Counter, defaultdict
from collections.abc import Collection, Sequence

import numpy as np

from placer.greedy.shares import DeviceShareNotLeftError
from placer.search.budget import SolveBudget
from placer.search.exchanges.lots import Lot, exchange_lots_of
from placer.search.exchanges.mending import ExchangePlacementRepairer
from placer.search.exchanges.node_sums import capacity_limits_as_arrays, node_set_capacity_limits
from placer.search.exchanges.on_nodes import ExchangeGreedyPodPlacer, OnNodes
from placer.search.exchanges.room_columns import ExchangeCapacityLeftColumns, capacity_left_columns
from placer.search.exchanges.swaps import EXCHANGES_A_SECOND
from placer.search.exchanges.sweeps import Loads
from placer.search.plain_pods import plain_choice_on
from placer_models.cpsat.families import takes_plain_amounts
from placer_models.problem.problem import Choices, Problem

NEARLY_NOTHING = 1e-6
"""The weight of a pod's size beside what is still too much without the pod."""

MOST_STATES = 1_000
"""The most different nodes on which it is tried whether a pod that has no place finds one alone."""

PodNodes = dict[int, int]
"""Pod -> index of its node."""


class ExchangeLotPlacer:
    """The lots of a batch, the nodes without their pods, and how pods are laid there.

    Attributes:
        lots: The lots; all that searches decide is in their order.
        columns: What the nodes have for their pods, as sums.
        at_start: The nodes of those pods that have places from the start.
        budget: Stops what takes long.
        all_plain: Whether the sums say all: nothing needs to be laid.
        takes: shape -> whether some node has a place for such a pod while no other comes.
        best_laid: The best places so far of pods that are not plain.
        room: What the nodes have for the pods, sum by sum: those of `node_set_capacity_limits`.

    """

    def __init__(
        self,
        problem: Problem,
        start: Choices,
        lots: Sequence[Lot],
        columns: ExchangeCapacityLeftColumns,
        layer: ExchangeGreedyPodPlacer,
        budget: SolveBudget,
        rng: np.random.Generator,
    ) -> None:
        self.problem = problem
        self.lots = lots
        self.columns = columns
        self.layer = layer
        self.budget = budget
        self.thing_of = problem.pods
        pods = [pod for lot in lots for pod in lot.pods]
        self.at_start = {pod: start[pod].node for pod in pods if pod in start}
        self._others = {pod: choice for pod, choice in start.items() if pod not in self.at_start}
        self._lot_of = {pod: i for i, lot in enumerate(lots) for pod in lot.pods}
        asked = {self.thing_of[pod] for pod in pods}
        related = not layer.rules.related.isdisjoint(asked)
        self.all_plain = not related and all(takes_plain_amounts(problem, shape) for shape in asked)
        self.takes = {shape: bool(columns.takes(shape).any()) for shape in asked}
        if not self.all_plain:
            hosted = {self.thing_of[pod] for pod in self.at_start}
            for shape in sorted(asked - hosted):
                self.takes[shape] = self.takes[shape] and layer.hosts(shape, MOST_STATES)
        self.best_laid: Choices = {}
        sums = list(
            node_set_capacity_limits(problem, columns, Counter(self.thing_of[pod] for pod in pods))
        )
        self._sum_sizes, self.room = capacity_limits_as_arrays(sums, len(problem.shapes))
        self._mender = ExchangePlacementRepairer(
            columns, layer, self.thing_of.__getitem__, rng, self._stop
        )

    def able(self, level: int) -> list[int]:
        """Return the lots of a level whose pods, and the lots they need, find places alone."""
        mine = [i for i, lot in enumerate(self.lots) if lot.level == level]
        fit = {i for i in mine if all(self.takes[self.thing_of[p]] for p in self.lots[i].pods)}
        return [
            i
            for i in mine
            if i in fit and (self.lots[i].needs is None or self.lots[i].needs in fit)
        ]

    def points(self, chosen: Collection[int], held: PodNodes) -> int:
        """Return what those of the chosen lots count that have places."""
        return sum(self.lots[i].points for i in chosen if self.lots[i].pods[0] in held)

    def choices(self, held: PodNodes) -> Choices:
        """Return the places of all pods, the best that were found."""
        found = self.best_laid
        if self.all_plain:
            found = self._others | {
                pod: plain_choice_on(self.problem, node) for pod, node in held.items()
            }
        return dict(sorted(found.items()))

    def sizes_of(self, chosen: Sequence[int]) -> Loads:
        """Return what each of the lots takes, sum by sum."""
        rows = [
            self._sum_sizes[[self.thing_of[pod] for pod in self.lots[i].pods]].sum(axis=0)
            for i in chosen
        ]
        return np.array(rows).reshape(len(chosen), len(self.room))

    def trimmed(self, level: int, held: PodNodes) -> PodNodes | None:
        """Return the places without some lots of one pod, so that no node is too full.

        Return None if other lots would have to go, too.
        """
        columns, held = self.columns, dict(held)
        scale = np.maximum(columns.room, 1.0)
        resources = 1.0 + scale.shape[1]
        may_go = {i for i, lot in enumerate(self.lots) if lot.alone and lot.level == level}
        for node, pods in _by_node(held).items():
            shapes = [self.thing_of[pod] for pod in pods]
            barred = columns.barred[shapes, columns.kinds[node]]
            excess = columns.sizes[shapes].sum(axis=0) - columns.room[node]
            while barred.any() or (excess > 0).any():
                sizes = columns.sizes[[self.thing_of[pod] for pod in pods]] / scale[node]
                costs = np.maximum(excess / scale[node] - sizes, 0.0).sum(axis=1)
                costs += NEARLY_NOTHING * sizes.sum(axis=1)
                costs[barred] -= resources
                costs[[self._lot_of[pod] not in may_go for pod in pods]] = np.inf
                gone = int(costs.argmin())
                if np.isinf(costs[gone]):
                    return None
                excess -= columns.sizes[self.thing_of[pods[gone]]]
                barred = np.delete(barred, gone)
                del held[pods.pop(gone)]
        return held

    def laid(self, level: int, held: PodNodes | None) -> PodNodes | None:
        """Return the places of lots whose pods are on their nodes by every rule.

        Lots of the level go where that is not so, and lots of levels before find other places.
        Return None if they do not.
        """
        if held is None or self.all_plain:
            return held
        may_go = {lot.pods[0] for lot in self.lots if lot.alone and lot.level == level}
        on, failed = self._mender.mend(_by_node(held), may_go)
        if self.budget.over:
            return None
        gone = self._lay(on, failed)
        for i in sorted(gone):
            if self.lots[i].level < level and not self.layer.add(self.lots[i].pods):
                return None
        return self.layer.laid() if self.layer.keeps_rules else None

    def _lay(self, on: OnNodes, failed: Sequence[int] = ()) -> set[int]:
        """Lay pods on nodes, without lots of which some pod finds no place; return these lots.

        Args:
            on: The nodes.
            failed: Pods that are known to find none.

        """
        gone: set[int] = set()
        while True:
            gone |= {self._lot_of[pod] for pod in failed}
            gone |= {i for i, lot in enumerate(self.lots) if lot.needs in gone}
            failed = self.layer.lay(
                {
                    node: [p for p in pods if self._lot_of[p] not in gone]
                    for node, pods in on.items()
                }
            )
            if not failed:
                return gone

    def _stop(self, exchanges: int) -> bool:
        self.budget.spent_work += exchanges / EXCHANGES_A_SECOND
        return self.budget.over

    def topped_up(self, held: PodNodes, chosen: Sequence[int]) -> PodNodes:
        """Return the places, and more for those of the chosen lots that fit as things stand."""
        if not self.all_plain:
            return self._laid_beside(held, chosen)
        columns, held = self.columns, dict(held)
        left = columns.room.copy()
        for pod, node in held.items():
            left[node] -= columns.sizes[self.thing_of[pod]]
        for i in chosen:
            lot = self.lots[i]
            if lot.needs is not None and self.lots[lot.needs].pods[0] not in held:
                continue
            places: PodNodes = {}
            for pod in lot.pods:
                shape = self.thing_of[pod]
                fits = (left >= columns.sizes[shape]).all(axis=1)
                nodes = np.flatnonzero(fits & ~columns.barred[shape, columns.kinds])
                if not len(nodes):
                    break
                places[pod] = int(nodes[0])
                left[nodes[0]] -= columns.sizes[shape]
            else:
                held |= places
                continue
            for pod, node in places.items():
                left[node] += columns.sizes[self.thing_of[pod]]
        return held

    def _laid_beside(self, held: PodNodes, chosen: Sequence[int]) -> PodNodes:
        """Return places that are laid, and more for those of the chosen lots that fit there."""
        if self.layer.laid() != held:
            self._lay(_by_node(held))
        laid = set(self.layer.laid())
        for i in chosen:
            lot = self.lots[i]
            if lot.pods[0] in laid or (
                lot.needs is not None and self.lots[lot.needs].pods[0] not in laid
            ):
                continue
            if self.layer.add(lot.pods):
                laid.update(lot.pods)
        return self.layer.laid()


def lot_placer_of_batch(
    problem: Problem, start: Choices, budget: SolveBudget, rng: np.random.Generator
) -> ExchangeLotPlacer | None:
    """Return the lots of a batch, or None if there are none, or nothing that could be short.

    None, too, if those in no lot cannot be laid one after the other.

    Args:
        problem: The batch.
        start: Places that are known; those of pods that are in no lot stay.
        budget: Stops what takes long.
        rng: Draws the order in which nodes are mended.

    """
    lots = exchange_lots_of(problem, start)
    if not lots:
        return None
    pods = {pod for lot in lots for pod in lot.pods}
    others = {pod: choice for pod, choice in start.items() if pod not in pods}
    try:
        layer = ExchangeGreedyPodPlacer(problem, others, lambda: budget.over)
    except DeviceShareNotLeftError:
        return None  # Others have their virtual functions only if these are matched together.
    columns = capacity_left_columns(problem, layer.nodes, pods)
    if columns is None or layer.rules.is_wide:
        return None
    return ExchangeLotPlacer(problem, start, lots, columns, layer, budget, rng)


def _by_node(held: PodNodes) -> OnNodes:
    """Return the pods of each node, in the order in which they are held."""
    on: OnNodes = defaultdict(list)
    for pod, node in held.items():
        on[node].append(pod)
    return on
