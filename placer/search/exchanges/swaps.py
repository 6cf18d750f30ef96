"""Exchanges of things between nodes, until all have room and no node holds too much.

Every thing is somewhere from the start, and nodes may be too full. In each sweep nodes meet
in pairs, and one of all exchanges between the two, of one thing for another or for none, is
drawn. An exchange is likelier the less would then be too much, ever more so as sweeps go by.
Things that are to be left out wait in spare bins of endless room. They are exchanged only
for their like, so that as much as before is left out.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

WARM, COLD = 0.02, 0.0001
"""How much too much, as a share of a node's room, hardly counts: in the first and last sweep."""

MOST_PAIRS = 256
"""The most pairs of nodes that meet in one sweep."""

MOST_SLOTS = 12
"""The most things of a node, gaps included, that are looked at when it meets another one."""

_LOOKS_EVERY = 8
"""Sweeps between two looks at whether all is done, or the time is over."""

_SWEEP = 1_000
"""How many exchanges cost as much as a sweep without any."""

Loads = NDArray[np.float64]
"""Whole numbers up to 2**53: exact."""

Slots = NDArray[np.intp]


@dataclass(slots=True)
class BinContents:
    """Things in bins.

    Attributes:
        sizes: (thing, resource) -> amount; the last row is that of a gap.
        room: (bin, resource) -> amount; endless in spare bins, which come last.
        likes: A number per thing, and for the gap: things with the same number may be
            exchanged for each other between spare bins and others.
        kinds: The kind of each bin.
        barred: (thing, kind of bin) -> whether the thing must not be there.
        slots: (bin, position) -> the thing there, or the gap.

    """

    sizes: Loads
    room: Loads
    likes: NDArray[np.intp]
    kinds: NDArray[np.intp]
    barred: NDArray[np.bool_]
    slots: Slots

    def loads(self) -> Loads:
        """Return what is in each bin."""
        loads: Loads = self.sizes[self.slots].sum(axis=1)
        return loads

    def settled(self, loads: Loads) -> bool:
        """Return whether no bin holds too much, or anything that must not be there."""
        if (loads > self.room).any():
            return False
        return not self.barred[self.slots, self.kinds[:, None]].any()


def settle(
    crowd: BinContents, sweeps: int, rng: np.random.Generator, stop: Callable[[int], bool]
) -> bool:
    """Exchange things until all have room; return whether that came about.

    Args:
        crowd: The things in bins; its slots are changed.
        sweeps: How many sweeps at most; the first is the wildest, the last the calmest.
        rng: Decides which nodes meet, and what is exchanged.
        stop: Asked now and then whether the time is over. Its argument is the cost of the
            sweeps until it is asked again, in exchanges.

    """
    loads = crowd.loads()
    bins, width = crowd.slots.shape
    if bins < 2:
        return crowd.settled(loads)
    pairs = min(bins // 2, MOST_PAIRS)
    taken = min(width, MOST_SLOTS)
    endless = np.isinf(crowd.room[:, 0])
    finite = np.where(np.isinf(crowd.room) | (crowd.room == 0), 1.0, crowd.room)
    weights: Loads = 1.0 / finite
    barred = crowd.barred.astype(np.float64) if crowd.barred.any() else None
    every = np.broadcast_to(np.arange(width), (pairs, width))
    rows = np.arange(pairs)
    for sweep in range(sweeps):
        if sweep % _LOOKS_EVERY == 0:
            if crowd.settled(loads):
                return True
            if stop(_LOOKS_EVERY * (_SWEEP + pairs * taken * taken)):
                return False
        heat = WARM * (COLD / WARM) ** (sweep / sweeps)
        drawn = rng.permutation(bins)[: 2 * pairs]
        here, there = drawn[:pairs], drawn[pairs:]
        at = every if taken == width else rng.integers(0, width, (pairs, taken))
        to = every if taken == width else rng.integers(0, width, (pairs, taken))
        mine, theirs = crowd.slots[here[:, None], at], crowd.slots[there[:, None], to]
        gain = crowd.sizes[theirs][:, None, :, :] - crowd.sizes[mine][:, :, None, :]
        above = (loads[here] - crowd.room[here])[:, None, None, :] + gain
        beyond = (loads[there] - crowd.room[there])[:, None, None, :] - gain
        cost = np.einsum("hpqd,hd->hpq", np.maximum(above, 0.0), weights[here])
        cost += np.einsum("hpqd,hd->hpq", np.maximum(beyond, 0.0), weights[there])
        if barred is not None:
            home, away = crowd.kinds[here][:, None], crowd.kinds[there][:, None]
            cost += (barred[mine, away] - barred[mine, home])[:, :, None]
            cost += (barred[theirs, home] - barred[theirs, away])[:, None, :]
        apart = endless[here] != endless[there]
        if apart.any():
            unlike = crowd.likes[mine][:, :, None] != crowd.likes[theirs][:, None, :]
            cost[apart[:, None, None] & unlike] = np.inf
        # The least of exponential times: drawn with the weight exp(-cost / heat).
        cost /= heat
        cost -= rng.gumbel(size=cost.shape)
        p, q = np.divmod(cost.reshape(pairs, -1).argmin(axis=1), taken)
        met = rows[np.isfinite(cost[rows, p, q])]
        p, q, here, there = p[met], q[met], here[met], there[met]
        shift = gain[met, p, q]
        loads[here] += shift
        loads[there] -= shift
        crowd.slots[here, at[met, p]] = theirs[met, q]
        crowd.slots[there, to[met, q]] = mine[met, p]
    return crowd.settled(loads)
