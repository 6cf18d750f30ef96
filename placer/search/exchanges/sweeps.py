"""Sweeps of exchanges: nodes meet in pairs, and each pair exchanges one item for another.

`run_annealing_sweeps_with_numpy` looks at all pairs of a sweep at once, by NumPy. `placer[fast]`
brings a compiled loop that does the same (`run_annealing_sweeps_with_numba`). Both do the same
steps and give the same answers, so that it does not matter which of them a machine has, but for
the time.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from placer.search.exchanges.draws import gumbel_of, random_numbers_at
from placer.search.exchanges.move_rules import ExchangeDomainRuleArrays

Loads = NDArray[np.float64]
"""Whole numbers up to 2**53: exact."""

Slots = NDArray[np.intp]

THEIRS = 2**20
EXCHANGES = 2**21
PAIRS = 2**32
"""Where the numbers of draws begin that are for slots of the second node, for exchanges, and for
the streams of pairs."""


class ExchangeSweepArrays(NamedTuple):
    """Bins and the items in them, as arrays: a tuple, which compiled code takes as it is.

    Attributes:
        sizes: (item, resource) -> amount.
        room: (bin, resource) -> amount; infinite in spare bins.
        weights: (bin, resource) -> what one unit too much costs.
        likes: A number per item, as in `ExchangeBinsWithItems`.
        kinds: The kind of each bin.
        barred: (item, kind of bin) -> 1.0 where the item must not be there.
        endless: Whether each bin is a spare one.
        slots: (bin, position) -> the item there, gaps last; changed by sweeps.
        loads: (bin, resource) -> what is there; changed by sweeps.
        rules: What items ask of each other; their counts are changed by sweeps.

    """

    sizes: Loads
    room: Loads
    weights: Loads
    likes: NDArray[np.intp]
    kinds: NDArray[np.intp]
    barred: Loads
    endless: NDArray[np.bool_]
    slots: Slots
    loads: Loads
    rules: ExchangeDomainRuleArrays


def run_annealing_sweeps_with_numpy(
    bins: ExchangeSweepArrays,
    stream: int,
    first: int,
    heats: NDArray[np.float64],
    pairs: int,
    taken: int,
) -> None:
    """Run some sweeps.

    Args:
        bins: The bins.
        stream: What all draws come from.
        first: The number of the first sweep.
        heats: For each sweep, how much too much hardly counts.
        pairs: How many pairs of bins meet in a sweep.
        taken: How many slots of a bin are looked at, of those with items and one gap.

    """
    count, width = bins.slots.shape
    gap = len(bins.sizes) - 1
    resources = bins.sizes.shape[1]
    some_barred = bool(bins.barred.any())
    has_rules = bins.rules.of.shape[1] > 0
    rows = np.arange(pairs)
    base = np.array([stream], dtype=np.uint64)
    of_bins = np.arange(count, dtype=np.uint64)
    of_pairs = np.arange(pairs, dtype=np.uint64) + np.uint64(PAIRS)
    of_exchanges = np.arange(taken * taken, dtype=np.uint64) + np.uint64(EXCHANGES)
    held = (bins.slots != gap).sum(axis=1)
    for number, heat in enumerate(heats.tolist(), first):
        own = random_numbers_at(base, np.array([number], dtype=np.uint64))
        drawn = np.argsort(random_numbers_at(own, of_bins), kind="stable")[: 2 * pairs]
        here, there = drawn[:pairs], drawn[pairs:]
        streams = random_numbers_at(own, of_pairs)[:, None]
        at, is_at = _looked_at(streams, np.minimum(held[here] + 1, width), taken, 0)
        to, is_to = _looked_at(streams, np.minimum(held[there] + 1, width), taken, THEIRS)
        mine, theirs = bins.slots[here[:, None], at], bins.slots[there[:, None], to]
        cost = np.zeros((pairs, taken, taken))
        for d in range(resources):
            size = bins.sizes[:, d]
            gain = size[theirs][:, None, :] - size[mine][:, :, None]
            above = (bins.loads[here, d] - bins.room[here, d])[:, None, None] + gain
            beyond = (bins.loads[there, d] - bins.room[there, d])[:, None, None] - gain
            cost += np.maximum(above, 0.0) * bins.weights[here, d][:, None, None]
            cost += np.maximum(beyond, 0.0) * bins.weights[there, d][:, None, None]
        if some_barred:
            home, away = bins.kinds[here][:, None], bins.kinds[there][:, None]
            cost += (bins.barred[mine, away] - bins.barred[mine, home])[:, :, None]
            cost += (bins.barred[theirs, home] - bins.barred[theirs, away])[:, None, :]
        cost[~(is_at[:, :, None] & is_to[:, None, :])] = np.inf
        apart = bins.endless[here] != bins.endless[there]
        if apart.any():
            unlike = bins.likes[mine][:, :, None] != bins.likes[theirs][:, None, :]
            cost[apart[:, None, None] & unlike] = np.inf
        if has_rules:
            cost[~bins.rules.kept(mine, theirs, here, there)] = np.inf
        # The least of exponential times: drawn with the weight exp(-cost / heat).
        cost /= heat
        cost = cost.reshape(pairs, -1) - gumbel_of(random_numbers_at(streams, of_exchanges))
        best = cost.argmin(axis=1)
        met = rows[np.isfinite(cost[rows, best])]
        if has_rules:
            at_best, to_best = np.divmod(best[met], taken)
            met = met[
                bins.rules.change(mine[met, at_best], theirs[met, to_best], here[met], there[met])
            ]
        p, q = np.divmod(best[met], taken)
        here, there = here[met], there[met]
        out, back = mine[met, p], theirs[met, q]
        shift = bins.sizes[back] - bins.sizes[out]
        bins.loads[here] += shift
        bins.loads[there] -= shift
        _put(bins.slots, held, here, at[met, p], back, gap)
        _put(bins.slots, held, there, to[met, q], out, gap)


def _looked_at(
    streams: NDArray[np.uint64], known: NDArray[np.intp], taken: int, first: int
) -> tuple[Slots, NDArray[np.bool_]]:
    """Return the slots of each bin that are looked at, and which of them there are.

    The first is the last one known: a gap, so that nothing at all may be exchanged, too.

    Args:
        streams: What draws come from, bin by bin.
        known: How many slots a bin has: those with items, and a gap.
        taken: How many are looked at: all, or drawn ones where there are more.
        first: Where the numbers of draws begin.

    """
    every = np.arange(taken)
    exists = every < known[:, None]
    many = known > taken
    looked_at = np.where(every > 0, every - 1, known[:, None] - 1)
    if many.any():
        numbers = np.arange(1, taken, dtype=np.uint64) + np.uint64(first)
        drawn = random_numbers_at(streams[many], numbers) % (known[many, None] - 1).astype(
            np.uint64
        )
        looked_at[many, 1:] = drawn.astype(np.intp)
    return np.where(exists, looked_at, 0), exists


def _put(
    slots: Slots,
    held: NDArray[np.intp],
    where: NDArray[np.intp],
    at: NDArray[np.intp],
    item: NDArray[np.intp],
    gap: int,
) -> None:
    """Put an item, or a gap, into a slot of each bin; gaps stay behind all items."""
    was_gap, is_gap = slots[where, at] == gap, item == gap
    slots[where, at] = item
    held[where[was_gap & ~is_gap]] += 1
    emptied, hole = where[is_gap & ~was_gap], at[is_gap & ~was_gap]
    held[emptied] -= 1
    last = held[emptied]
    slots[emptied, hole] = slots[emptied, last]
    slots[emptied, last] = gap
