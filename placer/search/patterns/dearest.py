"""Dearest patterns: the ways to fill a node that are worth most by prices of pods.

Patterns grow by a pod at a time, all of the same length at once. What a pattern may still gain
is bounded by what its room is worth, and one that cannot become dear enough is dropped. Where too
many are left, the least promising go, too; then what they might have become counts for the bound.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from placer.linear import LinearProgram
from placer.search.exchanges.sweeps import Loads

NodePattern = tuple[int, ...]
"""The kinds of the pods on a node, ascending; a kind stands there once for each pod."""

AT_ONCE = 200_000
"""How many patterns, with one pod more or not, are looked at at a time: so memory stays small."""


@dataclass(frozen=True, slots=True)
class NodeKnapsackProblem:
    """What a node has for pods of some kinds.

    Attributes:
        amounts: What it has, resource by resource.
        sizes: (kind, resource) -> what a pod takes.
        counts: How many pods of each kind there are for the node.

    """

    amounts: Loads
    sizes: Loads
    counts: NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class NodePatternPricingResult:
    """Patterns that are worth more than was asked for.

    Attributes:
        found: The dearest first.
        bound: No pattern is worth more.
        looked_at: How many patterns, full or not, were looked at.

    """

    found: list[NodePattern]
    bound: int
    looked_at: int


def most_valuable_node_patterns(
    room: NodeKnapsackProblem,
    prices: NDArray[np.int64],
    least: int,
    count: int,
    most: int,
    stop: Callable[[], bool],
) -> NodePatternPricingResult:
    """Return the patterns that are worth most: those found before, where the time is over.

    Args:
        room: What the node has.
        prices: What a pod of each kind is worth.
        least: Patterns that are worth no more are of no use.
        count: How many patterns are returned at most.
        most: How many patterns of a length are made longer at most.
        stop: Asked now and then whether the time is over.

    """
    growth = _Growth.of(room, prices)
    if growth is None:
        return NodePatternPricingResult([], max(0, least), 0)
    best: list[tuple[int, NodePattern]] = []
    bound, looked_at = 0, 0
    begun = growth.empty
    chunk = max(1, AT_ONCE // len(growth.kinds))
    while len(begun.items):
        longer: list[_Begun] = []
        for first in range(0, len(begun.items), chunk):
            now = begun.at(slice(first, first + chunk))
            fits = growth.fits(now)
            full = ~fits.any(axis=1) & (now.values > least)
            dear = zip(now.values[full].tolist(), now.items[full], strict=True)
            best = sorted([*best, *((value, growth.pattern(row)) for value, row in dear)])[-count:]
            if len(best) == count:
                least = best[0][0]
            grown = growth.longer(now, fits)
            looked_at += len(grown.items)
            longer.append(grown.at(grown.hopes > least))
            if sum(len(part.items) for part in longer) > 2 * most:
                kept, dropped = _most_hopeful(longer, most)
                longer, bound = [kept], max(bound, dropped)
            if stop():
                return NodePatternPricingResult(_dearest_first(best), growth.everything, looked_at)
        begun, dropped = _most_hopeful(longer, most)
        bound = max(bound, dropped)
    # Hopes are rounded: what was dropped may be worth a little more than the least.
    bound = max(bound, least, *(value for value, _ in best)) + 1
    return NodePatternPricingResult(_dearest_first(best), bound, looked_at)


def _dearest_first(best: list[tuple[int, NodePattern]]) -> list[NodePattern]:
    return [pattern for _, pattern in reversed(best)]


class _Begun(NamedTuple):
    """Patterns of one length, full or not.

    Attributes:
        items: (pattern, position) -> a kind, by its place in the growth; ascending.
        left: (pattern, resource) -> what the node has left.
        values: What they are worth.
        hopes: What they may be worth at most when more pods are added.

    """

    items: NDArray[np.intp]
    left: Loads
    values: NDArray[np.int64]
    hopes: Loads

    def at(self, rows: slice | NDArray[np.intp] | NDArray[np.bool_]) -> "_Begun":
        return _Begun(self.items[rows], self.left[rows], self.values[rows], self.hopes[rows])


def _most_hopeful(parts: list[_Begun], most: int) -> tuple[_Begun, int]:
    """Return as many of the patterns as may be kept, and what the others may be worth."""
    begun = _Begun(*map(np.concatenate, zip(*parts, strict=True)))
    if len(begun.items) <= most:
        return begun, 0
    order = np.argpartition(-begun.hopes, most)
    return begun.at(np.sort(order[:most])), int(begun.hopes[order[most:]].max()) + 1


@dataclass(frozen=True, slots=True)
class _Growth:
    """How patterns grow: by kinds in the order of what they are worth for the room they take.

    Attributes:
        kinds: The kinds, those first that are worth most for their room.
        rates: The same, in that order; infinite where they take nothing that is worth anything.
        beyond: What pods are worth beyond the room that they take, all from each kind on.
        worth: What one more of each resource is worth.

    """

    room: NodeKnapsackProblem
    prices: NDArray[np.int64]
    kinds: NDArray[np.intp]
    rates: Loads
    beyond: Loads
    worth: Loads

    @classmethod
    def of(cls, room: NodeKnapsackProblem, prices: NDArray[np.int64]) -> "_Growth | None":
        """Return how they grow by kinds that are worth something; None if there are none."""
        fit = (room.sizes <= room.amounts).all(axis=1)
        of_use = np.flatnonzero((prices > 0) & (room.counts > 0) & fit)
        if not len(of_use):
            return None
        worth = _worth_of(
            NodeKnapsackProblem(room.amounts, room.sizes[of_use], room.counts[of_use]),
            prices[of_use],
        )
        taken = room.sizes[of_use] @ worth
        rates = np.full(len(of_use), np.inf)
        np.divide(prices[of_use], taken, out=rates, where=taken > 0)
        by_rate = np.argsort(-rates, kind="stable")
        kinds, rates = of_use[by_rate], rates[by_rate]
        sizes, counts, prices = room.sizes[kinds], room.counts[kinds], prices[kinds]
        each_beyond = counts * np.maximum(prices - sizes @ worth, 0.0)
        beyond: Loads = np.cumsum(each_beyond[::-1], dtype=np.float64)[::-1]
        return cls(
            NodeKnapsackProblem(room.amounts, sizes, counts), prices, kinds, rates, beyond, worth
        )

    @property
    def empty(self) -> _Begun:
        """The pattern without pods."""
        left = self.room.amounts[None, :]
        return _Begun(
            np.zeros((1, 0), np.intp),
            left,
            np.zeros(1, np.int64),
            np.array([self.everything], float),
        )

    @property
    def everything(self) -> int:
        """What no pattern beats, without a look at any."""
        return int(self.room.amounts @ self.worth + self.beyond[0]) + 1

    def fits(self, begun: _Begun) -> NDArray[np.bool_]:
        """Return (pattern, kind) -> whether a pod of it may be added: kinds only ascend."""
        fits: NDArray[np.bool_] = np.all(
            self.room.sizes[None, :, :] <= begun.left[:, None, :], axis=2
        )
        if begun.items.shape[1]:
            kinds = np.arange(len(self.kinds))
            fits &= kinds >= begun.items[:, -1:]
            # Equal pods stand side by side at the end.
            last = begun.items[:, -1]
            again = (begun.items == last[:, None]).sum(axis=1)
            rows = np.arange(len(last))
            fits[rows, last] &= again < self.room.counts[last]
        return fits

    def longer(self, begun: _Begun, fits: NDArray[np.bool_]) -> _Begun:
        """Return all patterns with one pod more."""
        which, kind = np.nonzero(fits)
        left = begun.left[which] - self.room.sizes[kind]
        values = begun.values[which] + self.prices[kind]
        free = left @ self.worth
        by_rate = np.full(len(free), np.inf)
        np.multiply(free, self.rates[kind], out=by_rate, where=np.isfinite(self.rates[kind]))
        hopes = values + np.minimum(by_rate, free + self.beyond[kind])
        return _Begun(np.hstack([begun.items[which], kind[:, None]]), left, values, hopes)

    def pattern(self, row: NDArray[np.intp]) -> NodePattern:
        """Return a pattern by the numbers that its kinds have outside."""
        return tuple(sorted(self.kinds[row].tolist()))


def _worth_of(room: NodeKnapsackProblem, prices: NDArray[np.int64]) -> Loads:
    """Return what one more of each resource is worth where pods may be parted."""
    program = LinearProgram(maximise=True)
    rows = [program.row(most=amount) for amount in room.amounts.tolist()]
    pods = zip(room.sizes.tolist(), room.counts.tolist(), prices.tolist(), strict=True)
    for sizes, count, price in pods:
        variable = program.variable(float(price), float(count))
        for row, size in zip(rows, sizes, strict=True):
            if size:
                program.put(row, variable, size)
    program.solve()
    return np.array([max(0.0, program.dual(row)) for row in rows])
