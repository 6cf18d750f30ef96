"""Tier ``placed`` by exchanges: few pods are left out, so that the others find room.

The sums over all nodes tell how few can be left out at best. So some are left out, and the
others all stand on nodes, which are too full at first. `swaps` looks for a way to part them
so that no node is. If there is one, fewer are left out the next time.

Where pods are not plain, sums are only what a node has at most. So pods are then laid on their
nodes by the rules of the greedy path (`on_nodes`), and those without a place there look for
another one.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from placer.greedy.columns import Mask
from placer.search.budget import SolveBudget
from placer.search.exchanges.lot_places import ExchangeLotPlacer, PodNodes, lot_placer_of_batch
from placer.search.exchanges.roomiest import LotsToLeaveOutModel
from placer.search.exchanges.swaps import (
    ExchangeBinsWithItems,
    compiled_or_plain_annealing_sweep,
    exchange_until_all_fit_in_threads,
)
from placer.search.exchanges.sweeps import run_annealing_sweeps_with_numpy
from placer.search.exchanges.wanted import LotsToLeaveOut, options_of_lots_to_leave_out
from placer_models.problem.problem import Choices, Problem

SWEEPS_A_POD = 16
FIRST_SWEEPS = 100
"""The most sweeps of the first attempt; after each one that fails, twice as many."""

FEW_PODS = 100
FEW_SWEEPS = 1_000
"""With fewer than FEW_PODS pods, attempts take FEW_SWEEPS at most: a model does as well."""

MORE_PODS = 12
"""How many pods more than on the fullest node at first a node may hold on the way."""

LOOSE = 0.015
"""The share of the room of all nodes that is left free at the first attempt."""

NEARLY = 0.02
"""How much less than nothing may be left by a mixture of resources, where a model is asked, too."""

MOST_UNLAID = 20
"""How many ways that the sums allow, but other rules do not, are tried in a row without gain."""

ANEW_EVERY = 2
"""One of how many attempts begins with all pods anywhere, where rules between pods bind them."""

ANYWHERE = 0.5
"""How far the emptiest node is known there, as a share of its room."""

MOST_THREADS = 8
"""The most ways to part pods that are looked for at the same time."""

MOST_PLACES = 10_000_000
"""The most nodes x pods of one node that are kept in memory."""


def place_by_exchanges(
    problem: Problem,
    start: Choices,
    values: Sequence[int],
    bounds: Sequence[int | None],
    budget: SolveBudget,
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
    rng = np.random.default_rng(seed)
    places = lot_placer_of_batch(problem, start, budget, rng)
    if places is None:
        return None
    lots, at_start = places.lots, places.at_start
    search = _Search(places, rng)
    held: PodNodes = {}
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
            places.budget = part
            found = search.fill(level, held, None if better else reached, most)
            budget.spend(part)
            if found is not None:
                held, better = found, True
    return places.choices(held) if better else None


class _Search:
    """A search that fills level after level."""

    def __init__(self, places: ExchangeLotPlacer, rng: np.random.Generator) -> None:
        self.places = places
        self.rng = rng
        budget = places.budget
        self.run = compiled_or_plain_annealing_sweep(budget.left if budget.timed else math.inf)
        # Threads of NumPy wait for each other: they would only cost time.
        alone = budget.timed and self.run is run_annealing_sweeps_with_numpy
        self.threads = 1 if alone else min(MOST_THREADS, budget.options.workers)
        pods = sum(len(lot.pods) for lot in places.lots)
        self.first_sweeps = min(FIRST_SWEEPS, SWEEPS_A_POD * pods)
        self.is_small = pods < FEW_PODS
        self.most_sweeps = FEW_SWEEPS if self.is_small else math.inf

    def fill(
        self, level: int, held: PodNodes, reached: int | None, most: int | None
    ) -> PodNodes | None:
        """Return places for more lots of a level, beside as many lots of the levels before it.

        If ``reached`` is given, return None if no more points were found.

        Args:
            level: Index of the priority.
            held: The nodes of pods of the levels before, and of this one if known.
            reached: The points of this level's lots there, or None if pods of the levels
                before have come to other places.
            most: The most points that can be reached, or None if that is unknown.

        """
        places, lots = self.places, self.places.lots
        able = places.able(level)
        best: PodNodes | None = None
        if reached is None:
            best = places.topped_up(held, able)
            places.best_laid = places.layer.choices
            reached = places.points(able, best)
        least = reached
        before = [i for i, lot in enumerate(lots) if lot.level < level and lot.pods[0] in held]
        if not able:
            return best
        room = places.room - places.sizes_of(before).sum(axis=0)
        sizes = places.sizes_of(able)

        def useful() -> list[LotsToLeaveOut]:
            """Return which lots to leave out so that more points are reached."""
            return [
                offer
                for offer in options_of_lots_to_leave_out(lots, able, sizes, room, self.rng)
                if offer.slack >= -NEARLY
                and offer.points > least
                and (most is None or offer.points <= most)
            ]

        roomiest = LotsToLeaveOutModel(lots, able, sizes, room)
        near, sweeps, unlaid, tries = best or held, self.first_sweeps, 0, 0
        offers = useful()
        at = next((i for i, o in enumerate(offers) if o.slack >= LOOSE), len(offers) - 1)
        while (
            offers
            and sweeps <= self.most_sweeps
            and unlaid < MOST_UNLAID
            and not places.budget.over
        ):
            offer = offers[at]
            by_mixture = self.is_small and tries % 2 and offer.slack >= 0
            if not by_mixture:
                offer = roomiest.choice(offer.points, places.budget) or offer
            if offer.slack < 0:
                del offers[at]
                at = min(at, len(offers) - 1)
                continue
            tries += 1
            out = set(offer.out)
            kept = [*before, *(i for i in able if i not in out)]
            # Rules leave few ways from where pods are; so they begin elsewhere now and then.
            anew = tries % ANEW_EVERY == 0 and bool(places.layer.rules.related)
            parted, by_sums = self._parted(level, kept, {} if anew else near, sweeps)
            # Lots may have been exchanged for their like, so the number says whether all are there.
            asked = sum(len(lots[i].pods) for i in kept)
            found = places.laid(level, parted)
            settled = found is not None and len(found) == asked
            if found is not None and not settled:
                found = places.topped_up(found, able)
            points = places.points(able, found or {})
            if points > least:
                best, least = found, points
                places.best_laid = places.layer.choices
                near, unlaid = found or near, 0
            elif by_sums:
                unlaid += 1
            if settled:
                sweeps = max(self.first_sweeps, sweeps // 2)
                offers = [offer for offer in offers if offer.points > least]
                at = len(offers) - 1
            else:
                # More sweeps help where sums are not kept; other rules need another try.
                sweeps *= 1 if by_sums or (self.is_small and tries % 2) else 2
                offers = useful()
                at = min(at + 1, len(offers) - 1)
        return best

    def _parted(self, level: int, kept: Sequence[int], near: PodNodes, sweeps: int) -> "_Parted":
        """Return a way to part the lots among the nodes, if one was found.

        Lots of one pod that are left out may be exchanged for others that count the same.
        Lots that rules between pods keep from all nodes are left out. Where nodes are still too
        full in the end, some lots of the level lose their place.

        Args:
            level: The level; lots of later ones are not looked at.
            kept: Lots that are to find a place, or others like them.
            near: The nodes where many of their pods are.
            sweeps: How many sweeps are tried.

        """
        places, chosen = self.places, set(kept)
        lots = places.lots
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
            and places.takes[places.thing_of[lot.pods[0]]]
            and (lot.needs is None or lot.needs in chosen)
        ]
        spread = self._spread(pods, near)
        if spread is None:
            return NOT_PARTED
        bins, lost = spread
        if lost:
            left = {pods[position] for position in lost}
            gone = {i for i in kept if not left.isdisjoint(lots[i].pods)}
            if any(lots[i].level < level for i in gone):
                return NOT_PARTED
            stay = [i for i in kept if i not in gone and lots[i].needs not in gone]
            return self._parted(level, stay, near, sweeps)
        width = MORE_PODS + max(map(len, bins))
        if width * (len(bins) + len(out)) > MOST_PLACES:
            return NOT_PARTED
        spare = [lot.pods[0] for lot in out]
        every = [*pods, *spare]
        bins += [
            list(range(first, min(first + width - 1, len(every))))
            for first in range(len(pods), len(every), width - 1)
        ]
        numbers: dict[tuple[int, int], int] = {}
        likes += [(lot.level, lot.points) for lot in out]
        columns, gap = places.columns, len(every)
        shapes = [places.thing_of[pod] for pod in every]
        extra = len(bins) - len(columns.room)
        resources = columns.room.shape[1]
        crowd = ExchangeBinsWithItems(
            sizes=np.vstack([columns.sizes[shapes], np.zeros((1, resources))]),
            room=np.vstack([columns.room, np.full((extra, resources), np.inf)]),
            likes=np.array([*(numbers.setdefault(like, len(numbers)) for like in likes), -1]),
            kinds=np.append(columns.kinds, np.full(extra, columns.barred.shape[1])),
            barred=np.pad(columns.barred[shapes], ((0, 1), (0, 1))),
            slots=np.array([[*held, *[gap] * (width - len(held))] for held in bins]),
            rules=places.layer.rules.of_items(shapes, len(bins)),
        )
        streams = self.rng.integers(2**63, size=self.threads).tolist()
        settled = exchange_until_all_fit_in_threads(crowd, sweeps, streams, places.budget, self.run)
        found = {
            every[number]: node
            for node, row in enumerate(crowd.slots[: len(columns.room)].tolist())
            for number in row
            if number != gap
        }
        return _Parted(found if settled else places.trimmed(level, found), settled)

    def _spread(
        self, pods: Sequence[int], near: PodNodes
    ) -> tuple[list[list[int]], list[int]] | None:
        """Return the positions of the pods on each node: their own, else the one that is emptiest.

        Nodes may get too full, but rules between pods are kept. Return also the positions of
        pods that these keep from all nodes, or None if the time is over.
        """
        places, columns = self.places, self.places.columns
        related, counts = places.layer.rules.related, places.layer.bare_counts()
        shapes = [places.thing_of[pod] for pod in pods]
        bins: list[list[int]] = [[] for _ in columns.room]
        loads = np.zeros_like(columns.room)
        scale = np.maximum(columns.room, 1.0)
        mean = scale.mean(axis=0)

        def allowed(position: int) -> Mask | None:
            """Return the nodes that other pods leave to a pod; None: all."""
            shape = shapes[position]
            return counts.allowed(shape) if counts is not None and shape in related else None

        def put(position: int, node: int) -> None:
            bins[node].append(position)
            loads[node] += columns.sizes[shapes[position]]
            if counts is not None and shapes[position] in related:
                counts.add(shapes[position], node, 1)

        def put_near(position: int) -> bool:
            node = near.get(pods[position])
            mask = allowed(position)
            if node is None or not (mask is None or mask[node]):
                return False
            put(position, node)
            return True

        def put_anywhere(position: int) -> bool:
            size, mask = columns.sizes[shapes[position]], allowed(position)
            full = np.where(size > 0, (loads + size) / scale, 0.0).max(axis=1)
            full[columns.barred[shapes[position], columns.kinds]] = np.inf
            if not near and counts is not None:
                full += self.rng.uniform(0.0, ANYWHERE, len(full))
            if mask is not None:
                full[~mask] = np.inf
            node = int(full.argmin())
            if mask is not None and np.isinf(full[node]):
                return False
            put(position, node)
            return True

        left = list(range(len(pods)))
        for put_one in (put_near, put_anywhere):
            before = math.inf
            # Who may not come yet may come when others are there.
            while left and len(left) < before:
                before, waiting, left = len(left), left, []
                for position in waiting:
                    if places.budget.over:
                        break
                    if not put_one(position):
                        left.append(position)
            left.sort(key=lambda p: -float((columns.sizes[shapes[p]] / mean).sum()))
        if counts is not None:
            for node, row in enumerate(bins):
                for position in row:
                    if shapes[position] in related:
                        counts.add(shapes[position], node, -1)
        return None if places.budget.over else (bins, left)


class _Parted(NamedTuple):
    """A way to part lots.

    Attributes:
        held: The node of each pod; None if there is none.
        settled: Whether no node has too much, and no lot had to go for that.

    """

    held: PodNodes | None
    settled: bool


NOT_PARTED = _Parted(None, settled=False)
