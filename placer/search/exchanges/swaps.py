"""Exchanges of items between nodes, until all have room and no node holds too much.

Every item is somewhere from the start, and nodes may be too full. In each sweep nodes meet
in pairs, and one of all exchanges between the two, of one item for another or for none, is
drawn. An exchange is likelier the less would then be too much, ever more so as sweeps go by.
Things that are to be left out wait in spare bins of endless room. They are exchanged only
for their like, so that as much as before is left out.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from placer.compiled import compiled_or_plain
from placer.search.budget import SolveBudget
from placer.search.exchanges.move_rules import ExchangeDomainRuleArrays
from placer.search.exchanges.sweeps import (
    ExchangeSweepArrays,
    Loads,
    Slots,
    run_annealing_sweeps_with_numpy,
)

WARM, COLD = 0.02, 0.0001
"""How much too much, as a share of a node's room, hardly counts: in the first and last sweep."""

MOST_PAIRS = 256
"""The most pairs of nodes that meet in one sweep."""

MOST_SLOTS = 12
"""The most items of a node, one gap included, that are looked at when it meets another one."""

_LOOKS_EVERY = 8
"""Sweeps between two looks at whether all is done, or the time is over."""

_SWEEP = 1_000
"""How many exchanges cost as much as a sweep without any."""

Sweeps = Callable[[ExchangeSweepArrays, int, int, NDArray[np.float64], int, int], None]
"""`run_annealing_sweeps_with_numpy`, or what does the same."""

_COMPILED = "placer.search.exchanges.compiled_sweeps"

WORTH_COMPILING_S = 5.0
"""Seconds that have to be left before compiled sweeps are loaded: the first time on a machine
takes that long, later ones a third of a second."""


EXCHANGES_A_SECOND = 1e7
"""How many exchanges looked at count as a second of deterministic work."""


def compiled_or_plain_annealing_sweep(left_s: float) -> Sweeps:
    """Return the compiled sweeps if `placer[fast]` is there and so many seconds make it worth."""
    plain: Sweeps = run_annealing_sweeps_with_numpy
    return compiled_or_plain(
        plain,
        _COMPILED,
        "run_annealing_sweeps_with_numba",
        is_worth_loading=left_s >= WORTH_COMPILING_S,
    )


@dataclass(slots=True)
class ExchangeBinsWithItems:
    """Things in bins.

    Attributes:
        sizes: (item, resource) -> amount; the last row is that of a gap.
        room: (bin, resource) -> amount; endless in spare bins, which come last.
        likes: A number per item, and for the gap: items with the same number may be
            exchanged for each other between spare bins and others.
        kinds: The kind of each bin.
        barred: (item, kind of bin) -> whether the item must not be there.
        slots: (bin, position) -> the item there, or the gap; gaps come last, and each bin has one
            at least, so that nothing at all may be exchanged.
        rules: What items ask of each other; kept by each exchange, if they are kept at first.

    """

    sizes: Loads
    room: Loads
    likes: NDArray[np.intp]
    kinds: NDArray[np.intp]
    barred: NDArray[np.bool_]
    slots: Slots
    rules: ExchangeDomainRuleArrays

    def loads(self) -> Loads:
        """Return what is in each bin."""
        loads: Loads = self.sizes[self.slots].sum(axis=1)
        return loads

    def settled(self, loads: Loads) -> bool:
        """Return whether no bin holds too much, or anything that must not be there."""
        if (loads > self.room).any():
            return False
        return not self.barred[self.slots, self.kinds[:, None]].any()


def exchange_until_all_fit(
    crowd: ExchangeBinsWithItems,
    sweeps: int,
    stream: int,
    stop: Callable[[int], bool],
    run: Sweeps = run_annealing_sweeps_with_numpy,
) -> bool:
    """Exchange items until all have room; return whether that came about.

    Args:
        crowd: The items in bins; its slots are changed.
        sweeps: How many sweeps at most; the first is the wildest, the last the calmest.
        stream: Decides which nodes meet, and what is exchanged: below 2**64.
        stop: Asked now and then whether the time is over. Its argument is the cost of the
            sweeps until it is asked again, in exchanges.
        run: What runs the sweeps.

    """
    loads = crowd.loads()
    count, width = crowd.slots.shape
    if count < 2:
        return crowd.settled(loads)
    pairs = min(count // 2, MOST_PAIRS)
    taken = min(width, MOST_SLOTS)
    finite = np.where(np.isinf(crowd.room) | (crowd.room == 0), 1.0, crowd.room)
    bins = ExchangeSweepArrays(
        sizes=crowd.sizes,
        room=crowd.room,
        weights=1.0 / finite,
        likes=crowd.likes,
        kinds=crowd.kinds,
        barred=crowd.barred.astype(np.float64),
        endless=np.isinf(crowd.room[:, 0]),
        slots=crowd.slots,
        loads=loads,
        rules=crowd.rules.counted(crowd.slots),
    )
    for first in range(0, sweeps, _LOOKS_EVERY):
        if crowd.settled(loads):
            return True
        if stop(_LOOKS_EVERY * (_SWEEP + pairs * taken * taken)):
            return False
        numbers = np.arange(first, min(first + _LOOKS_EVERY, sweeps))
        run(bins, stream, first, WARM * (COLD / WARM) ** (numbers / sweeps), pairs, taken)
    return crowd.settled(loads)


def exchange_until_all_fit_in_threads(
    crowd: ExchangeBinsWithItems,
    sweeps: int,
    streams: Sequence[int],
    budget: SolveBudget,
    run: Sweeps,
) -> bool:
    """Settle the items once for each stream, at the same time, and keep what settles.

    Under a work limit the first stream that settles counts, however long others take.

    Args:
        crowd: The items in bins; its slots are changed.
        sweeps: As in `exchange_until_all_fit`.
        streams: What each of the runs draws from.
        budget: Ends the runs; their work is spent from it.
        run: As in `exchange_until_all_fit`.

    """
    left = budget.left
    crowds = [replace(crowd, slots=crowd.slots.copy()) for _ in streams]
    work = [0.0] * len(streams)
    done = [False] * len(streams)

    def settle_one(i: int) -> None:
        def stop(exchanges: int) -> bool:
            work[i] += exchanges / EXCHANGES_A_SECOND
            if budget.timed:
                return budget.over or any(done)
            return work[i] >= left or any(done[:i])

        done[i] = exchange_until_all_fit(crowds[i], sweeps, streams[i], stop, run)

    if len(streams) == 1:
        settle_one(0)
    else:
        with ThreadPoolExecutor(len(streams)) as pool:
            list(pool.map(settle_one, range(len(streams))))
    best = done.index(True) if any(done) else 0
    budget.spent_work += max(work[: best + 1])
    crowd.slots[:] = crowds[best].slots
    return done[best]
