"""Tier ``placed`` by exchanges: few pods are left out, so that the others find room.

The sums over all nodes tell how few can be left out at best. So some are left out, and the
others all stand on nodes, which are too full at first. `swaps` looks for a way to part them
so that no node is. If there is one, fewer are left out the next time.

Where pods are not plain, sums are only what a node has at most. So pods are then laid on their
nodes by the rules of the greedy path (`on_nodes`), and those without a place there look for
another one.
"""

import math
from collections import defaultdict
from collections.abc import Collection, Sequence

import numpy as np

from placer.search.budget import Budget
from placer.search.exchanges.lots import Lot, lots_of
from placer.search.exchanges.mending import Mender
from placer.search.exchanges.on_nodes import NodeLayer, OnNodes
from placer.search.exchanges.room_columns import NodeColumns, columns_of
from placer.search.exchanges.swaps import (
    EXCHANGES_A_SECOND,
    BinContents,
    fastest_sweeps,
    settle_in_threads,
)
from placer.search.exchanges.sweeps import Loads, array_sweeps
from placer.search.exchanges.wanted import ExchangeOffer, offers_of
from placer.search.plain import place_on
from placer_models.cpsat.families import is_plain
from placer_models.problem import Choices, Problem

SWEEPS_A_POD = 16
FIRST_SWEEPS = 100
"""The most sweeps of the first attempt; after each one that fails, twice as many."""

FEW_PODS = 100
FEW_SWEEPS = 1_000
"""With fewer than FEW_PODS pods, attempts take FEW_SWEEPS at most: a model does as well."""

LOOSE = 0.015
"""The share of the room of all nodes that is left free at the first attempt."""

NEARLY_NOTHING = 1e-6
"""The weight of a pod's size beside what is still too much without the pod."""

MOST_UNLAID = 20
"""How many ways that the sums allow, but other rules do not, are tried in a row without gain."""

MOST_STATES = 1_000
"""The most different nodes on which it is tried whether a pod that has no place finds one alone."""

MOST_THREADS = 8
"""The most ways to part pods that are looked for at the same time."""

MOST_PLACES = 10_000_000
"""The most nodes x pods of one node that are kept in memory."""

_Held = dict[int, int]
"""Pod -> index of its node."""


def place_most(
    problem: Problem,
    start: Choices,
    values: Sequence[int],
    bounds: Sequence[int | None],
    budget: Budget,
    seed: int,
) -> Choices | None:
    """Return places for more pods, by the levels of tier 1, or None if none were found.

    Pods that are not plain sums keep their places. What is returned knows amounts only.

    Args:
        problem: The batch.
        start: Places that are known.
        values: What they are worth, level by level.
        bounds: Per level, what nothing can beat that is as good as the start in earlier ones.
        budget: Stops the search when it is over.
        seed: The seed of all that is drawn.

    """
    lots = lots_of(problem, start)
    if not lots:
        return None
    pods = {pod for lot in lots for pod in lot.pods}
    others = {pod: choice for pod, choice in start.items() if pod not in pods}
    layer = NodeLayer(problem, others, lambda: budget.over)
    columns = columns_of(problem, layer.nodes, pods)
    if columns is None:
        return None
    at_start = {pod: start[pod].node for lot in lots for pod in lot.pods if pod in start}
    rng = np.random.default_rng(seed)
    search = _Search(problem, columns, lots, layer, at_start, budget, rng)
    held: _Held = {}
    better = False
    for level, (value, bound) in enumerate(zip(values, bounds, strict=False)):
        mine = [i for i, lot in enumerate(lots) if lot.level == level]
        now = {p: at_start[p] for i in mine for p in lots[i].pods if p in at_start}
        reached = sum(lots[i].points for i in mine if all(pod in now for pod in lots[i].pods))
        most = None if bound is None else bound - value + reached
        if not better:
            held |= now
        if better or most is None or reached < most:
            part = budget.part(budget.slice(len(problem.priorities) - level))
            search.budget = part
            found = search.fill(level, mine, held, None if better else reached, most)
            budget.spend(part)
            if found is not None:
                held, better = found, True
    return search.choices(others, held) if better else None


class _Search:
    """A search that fills level after level; all that it decides is in the order of the lots."""

    def __init__(
        self,
        problem: Problem,
        columns: NodeColumns,
        lots: Sequence[Lot],
        layer: NodeLayer,
        placed: Collection[int],
        budget: Budget,
        rng: np.random.Generator,
    ) -> None:
        self.columns = columns
        self.lots = lots
        self.layer = layer
        self.budget = budget
        self.rng = rng
        self.run = fastest_sweeps(budget.left if budget.timed else math.inf)
        # Threads of NumPy wait for each other: they would only cost time.
        alone = budget.timed and self.run is array_sweeps
        self.threads = 1 if alone else min(MOST_THREADS, budget.options.workers)
        self.problem = problem
        self.thing_of = problem.pods
        pods = [pod for lot in lots for pod in lot.pods]
        self.first_sweeps = min(FIRST_SWEEPS, SWEEPS_A_POD * len(pods))
        self.most_sweeps = FEW_SWEEPS if len(pods) < FEW_PODS else math.inf
        self.lot_of = {pod: i for i, lot in enumerate(lots) for pod in lot.pods}
        asked = {self.thing_of[pod] for pod in pods}
        self.all_plain = all(is_plain(problem, thing) for thing in asked)
        self.takes = {thing: bool(columns.takes(thing).any()) for thing in asked}
        if not self.all_plain:
            hosted = {self.thing_of[pod] for pod in placed}
            for thing in sorted(asked - hosted):
                self.takes[thing] = self.takes[thing] and layer.hosts(thing, MOST_STATES)
        self.best_laid: Choices = {}
        self.mender = Mender(columns, layer, self.thing_of.__getitem__, rng, self._stop)

    def choices(self, others: Choices, held: _Held) -> Choices:
        """Return the places of all pods, the best that were found."""
        found = self.best_laid
        if self.all_plain:
            found = others | {pod: place_on(self.problem, node) for pod, node in held.items()}
        return dict(sorted(found.items()))

    def fill(
        self, level: int, mine: Sequence[int], held: _Held, reached: int | None, most: int | None
    ) -> _Held | None:
        """Return places for more lots of a level, beside as many lots of the levels before it.

        If ``reached`` is given, return None if no more points were found.

        Args:
            level: Index of the priority.
            mine: Its lots.
            held: The nodes of pods of the levels before, and of this one if known.
            reached: The points of this level's lots there, or None if pods of the levels
                before have come to other places.
            most: The most points that can be reached, or None if that is unknown.

        """
        lots = self.lots
        fit = {i for i in mine if all(self.takes[self.thing_of[pod]] for pod in lots[i].pods)}
        able = [i for i in mine if i in fit and (lots[i].needs is None or lots[i].needs in fit)]
        best: _Held | None = None
        if reached is None:
            best = self._topped_up(held, able)
            self.best_laid = self.layer.choices
            reached = sum(lots[i].points for i in able if lots[i].pods[0] in best)
        least = reached
        before = [i for i, lot in enumerate(lots) if lot.level < level and lot.pods[0] in held]
        if not able:
            return best
        room = self.columns.room.sum(axis=0) - self._sizes_of(before).sum(axis=0)
        sizes = self._sizes_of(able)

        def useful() -> list[ExchangeOffer]:
            """Return which lots to leave out so that more points are reached."""
            return [
                offer
                for offer in offers_of(lots, able, sizes, room, self.rng)
                if offer.slack >= 0
                and offer.points > least
                and (most is None or offer.points <= most)
            ]

        near, sweeps, unlaid = best or held, self.first_sweeps, 0
        offers = useful()
        at = next((i for i, o in enumerate(offers) if o.slack >= LOOSE), len(offers) - 1)
        while (
            offers and sweeps <= self.most_sweeps and unlaid < MOST_UNLAID and not self.budget.over
        ):
            out = set(offers[at].out)
            kept = [*before, *(i for i in able if i not in out)]
            parted = self._parted(level, kept, near, sweeps)
            # Lots may have been exchanged for their like, so the number says whether all are there.
            asked = sum(len(lots[i].pods) for i in kept)
            by_sums = parted is not None and len(parted) == asked
            found = self._laid(level, parted)
            settled = found is not None and len(found) == asked
            if found is not None and not settled:
                found = self._topped_up(found, able)
            points = sum(lots[i].points for i in able if lots[i].pods[0] in (found or ()))
            if points > least:
                best, least = found, points
                self.best_laid = self.layer.choices
                near, unlaid = found or near, 0
            elif by_sums:
                unlaid += 1
            if settled:
                sweeps = max(self.first_sweeps, sweeps // 2)
                offers = [offer for offer in offers if offer.points > least]
                at = len(offers) - 1
            else:
                # More sweeps help where sums are not kept; other rules need another try.
                sweeps *= 1 if by_sums else 2
                offers = useful()
                at = min(at + 1, len(offers) - 1)
        return best

    def _sizes_of(self, chosen: Sequence[int]) -> Loads:
        """Return what each of the lots takes."""
        sizes = self.columns.sizes
        rows = [
            sizes[[self.thing_of[pod] for pod in self.lots[i].pods]].sum(axis=0) for i in chosen
        ]
        return np.array(rows).reshape(len(chosen), sizes.shape[1])

    def _parted(self, level: int, kept: Sequence[int], near: _Held, sweeps: int) -> _Held | None:
        """Return a way to part the lots among the nodes, or None if none was found.

        Lots of one pod that are left out may be exchanged for others that count the same.
        Where nodes are still too full in the end, some lots of the level lose their place.

        Args:
            level: The level; lots of later ones are not looked at.
            kept: Lots that are to find a place, or others like them.
            near: The nodes where many of their pods are.
            sweeps: How many sweeps are tried.

        """
        lots, chosen = self.lots, set(kept)
        pods = [pod for i in kept for pod in lots[i].pods]
        likes: list[tuple[int, int]] = []
        for i in kept:
            lot = lots[i]
            likes += [(lot.level, lot.points) if lot.alone else (-1, pod) for pod in lot.pods]
        out = [
            lot
            for i, lot in enumerate(lots)
            if lot.level <= level
            and i not in chosen
            and lot.alone
            and self.takes[self.thing_of[lot.pods[0]]]
            and (lot.needs is None or lot.needs in chosen)
        ]
        bins = self._spread(pods, near)
        if bins is None:
            return None
        width = 2 + max(map(len, bins))
        if width * (len(bins) + len(out)) > MOST_PLACES:
            return None
        spare = [lot.pods[0] for lot in out]
        every = [*pods, *spare]
        bins += [
            list(range(first, min(first + width, len(every))))
            for first in range(len(pods), len(every), width)
        ]
        numbers: dict[tuple[int, int], int] = {}
        likes += [(lot.level, lot.points) for lot in out]
        columns, gap = self.columns, len(every)
        things = [self.thing_of[pod] for pod in every]
        extra = len(bins) - len(columns.room)
        resources = columns.room.shape[1]
        crowd = BinContents(
            sizes=np.vstack([columns.sizes[things], np.zeros((1, resources))]),
            room=np.vstack([columns.room, np.full((extra, resources), np.inf)]),
            likes=np.array([*(numbers.setdefault(like, len(numbers)) for like in likes), -1]),
            kinds=np.append(columns.kinds, np.full(extra, columns.barred.shape[1])),
            barred=np.pad(columns.barred[things], ((0, 1), (0, 1))),
            slots=np.array([[*held, *[gap] * (width - len(held))] for held in bins]),
        )
        streams = self.rng.integers(2**63, size=self.threads).tolist()
        settled = settle_in_threads(crowd, sweeps, streams, self.budget, self.run)
        found = {
            every[number]: node
            for node, row in enumerate(crowd.slots[: len(columns.room)].tolist())
            for number in row
            if number != gap
        }
        return found if settled else self._trimmed(level, found)

    def _trimmed(self, level: int, held: _Held) -> _Held | None:
        """Return the places without some lots of one pod, so that no node is too full.

        Return None if other lots would have to go, too.
        """
        columns, held = self.columns, dict(held)
        scale = np.maximum(columns.room, 1.0)
        resources = 1.0 + scale.shape[1]
        may_go = {i for i, lot in enumerate(self.lots) if lot.alone and lot.level == level}
        on: defaultdict[int, list[int]] = defaultdict(list)
        for pod, node in held.items():
            on[node].append(pod)
        for node, pods in on.items():
            things = [self.thing_of[pod] for pod in pods]
            barred = columns.barred[things, columns.kinds[node]]
            excess = columns.sizes[things].sum(axis=0) - columns.room[node]
            while barred.any() or (excess > 0).any():
                sizes = columns.sizes[[self.thing_of[pod] for pod in pods]] / scale[node]
                costs = np.maximum(excess / scale[node] - sizes, 0.0).sum(axis=1)
                costs += NEARLY_NOTHING * sizes.sum(axis=1)
                costs[barred] -= resources
                costs[[self.lot_of[pod] not in may_go for pod in pods]] = np.inf
                gone = int(costs.argmin())
                if np.isinf(costs[gone]):
                    return None
                excess -= columns.sizes[self.thing_of[pods[gone]]]
                barred = np.delete(barred, gone)
                del held[pods.pop(gone)]
        return held

    def _laid(self, level: int, held: _Held | None) -> _Held | None:
        """Return the places of lots whose pods are on their nodes by every rule.

        Lots of the level go where that is not so, and lots of levels before find other places.
        Return None if they do not.
        """
        if held is None or self.all_plain:
            return held
        may_go = {lot.pods[0] for lot in self.lots if lot.alone and lot.level == level}
        on, failed = self.mender.mend(_by_node(held), may_go)
        if self.budget.over:
            return None
        gone = {self.lot_of[pod] for pod in failed}
        gone |= {i for i, lot in enumerate(self.lots) if lot.needs in gone}
        left = {node: [p for p in pods if self.lot_of[p] not in gone] for node, pods in on.items()}
        before = [i for i in sorted(gone) if self.lots[i].level < level]
        if not self.layer.lay(left):
            return None
        for i in before:
            if not self.layer.add(self.lots[i].pods):
                return None
        return self.layer.laid()

    def _stop(self, exchanges: int) -> bool:
        self.budget.spent_work += exchanges / EXCHANGES_A_SECOND
        return self.budget.over

    def _spread(self, pods: Sequence[int], near: _Held) -> list[list[int]] | None:
        """Return the positions of the pods on each node: their own, else the one that is emptiest.

        Nodes may get too full. Return None if the time is over.
        """
        columns = self.columns
        things = [self.thing_of[pod] for pod in pods]
        bins: list[list[int]] = [[] for _ in columns.room]
        loads = np.zeros_like(columns.room)
        scale = np.maximum(columns.room, 1.0)
        new = []
        for position, pod in enumerate(pods):
            if pod in near:
                bins[near[pod]].append(position)
                loads[near[pod]] += columns.sizes[things[position]]
            else:
                new.append(position)
        mean = scale.mean(axis=0)
        for position in sorted(new, key=lambda p: -float((columns.sizes[things[p]] / mean).sum())):
            if self.budget.over:
                return None
            size = columns.sizes[things[position]]
            full = np.where(size > 0, (loads + size) / scale, 0.0).max(axis=1)
            full[columns.barred[things[position], columns.kinds]] = np.inf
            node = int(full.argmin())
            bins[node].append(position)
            loads[node] += size
        return bins

    def _topped_up(self, held: _Held, chosen: Sequence[int]) -> _Held:
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
            places: _Held = {}
            for pod in lot.pods:
                thing = self.thing_of[pod]
                fits = (left >= columns.sizes[thing]).all(axis=1)
                nodes = np.flatnonzero(fits & ~columns.barred[thing, columns.kinds])
                if not len(nodes):
                    break
                places[pod] = int(nodes[0])
                left[nodes[0]] -= columns.sizes[thing]
            else:
                held |= places
                continue
            for pod, node in places.items():
                left[node] += columns.sizes[self.thing_of[pod]]
        return held

    def _laid_beside(self, held: _Held, chosen: Sequence[int]) -> _Held:
        """Return places that are laid, and more for those of the chosen lots that fit there."""
        if not self.layer.lay(_by_node(held)):
            return held
        laid = set(held)
        for i in chosen:
            lot = self.lots[i]
            if lot.pods[0] in laid or (
                lot.needs is not None and self.lots[lot.needs].pods[0] not in laid
            ):
                continue
            if self.layer.add(lot.pods):
                laid.update(lot.pods)
        return self.layer.laid()


def _by_node(held: _Held) -> OnNodes:
    """Return the pods of each node, in the order in which they are held."""
    on: OnNodes = defaultdict(list)
    for pod, node in held.items():
        on[node].append(pod)
    return on
