"""Sweeps of exchanges: nodes meet in pairs, and each pair exchanges one item for another.

`array_sweeps` looks at all pairs of a sweep at once, by NumPy. `placer[fast]` brings a compiled
loop that does the same (`compiled_sweeps`). Both do the same steps and give the same answers,
so that it does not matter which of them a machine has, but for the time.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from placer.search.exchanges.draws import draws, gumbel_of

Loads = NDArray[np.float64]
"""Whole numbers up to 2**53: exact."""

Slots = NDArray[np.intp]

THEIRS = 2**20
EXCHANGES = 2**21
PAIRS = 2**32
"""Where the numbers of draws begin that are for slots of the second node, for exchanges, and for
the streams of pairs."""


@dataclass(slots=True)
class Bins:
    """Bins and the items in them, as arrays.

    Attributes:
        sizes: (item, resource) -> amount.
        room: (bin, resource) -> amount; infinite in spare bins.
        weights: (bin, resource) -> what one unit too much costs.
        likes: A number per item, as in `BinContents`.
        kinds: The kind of each bin.
        barred: (item, kind of bin) -> 1.0 where the item must not be there.
        endless: Whether each bin is a spare one.
        slots: (bin, position) -> the item there; changed by sweeps.
        loads: (bin, resource) -> what is there; changed by sweeps.

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


def array_sweeps(
    bins: Bins, stream: int, first: int, heats: NDArray[np.float64], pairs: int, taken: int
) -> None:
    """Run some sweeps.

    Args:
        bins: The bins.
        stream: What all draws come from.
        first: The number of the first sweep.
        heats: For each sweep, how much too much hardly counts.
        pairs: How many pairs of bins meet in a sweep.
        taken: How many slots of a bin are looked at.

    """
    count, width = bins.slots.shape
    resources = bins.sizes.shape[1]
    some_barred = bool(bins.barred.any())
    rows = np.arange(pairs)
    every = np.broadcast_to(np.arange(width), (pairs, width))
    base = np.array([stream], dtype=np.uint64)
    of_bins = np.arange(count, dtype=np.uint64)
    of_pairs = np.arange(pairs, dtype=np.uint64) + np.uint64(PAIRS)
    of_slots = np.arange(taken, dtype=np.uint64)
    of_exchanges = np.arange(taken * taken, dtype=np.uint64) + np.uint64(EXCHANGES)
    for number, heat in enumerate(heats.tolist(), first):
        own = draws(base, np.array([number], dtype=np.uint64))
        drawn = np.argsort(draws(own, of_bins), kind="stable")[: 2 * pairs]
        here, there = drawn[:pairs], drawn[pairs:]
        streams = draws(own, of_pairs)[:, None]
        at = to = every
        if taken < width:
            at = (draws(streams, of_slots) % np.uint64(width)).astype(np.intp)
            to = (draws(streams, of_slots + np.uint64(THEIRS)) % np.uint64(width)).astype(np.intp)
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
        apart = bins.endless[here] != bins.endless[there]
        if apart.any():
            unlike = bins.likes[mine][:, :, None] != bins.likes[theirs][:, None, :]
            cost[apart[:, None, None] & unlike] = np.inf
        # The least of exponential times: drawn with the weight exp(-cost / heat).
        cost /= heat
        cost = cost.reshape(pairs, -1) - gumbel_of(draws(streams, of_exchanges))
        best = cost.argmin(axis=1)
        met = rows[np.isfinite(cost[rows, best])]
        p, q = np.divmod(best[met], taken)
        here, there = here[met], there[met]
        out, back = mine[met, p], theirs[met, q]
        shift = bins.sizes[back] - bins.sizes[out]
        bins.loads[here] += shift
        bins.loads[there] -= shift
        bins.slots[here, at[met, p]] = back
        bins.slots[there, to[met, q]] = out
