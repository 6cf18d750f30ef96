"""The filling of `filling` as a loop that Numba compiles: the same bins hold the same.

The first call on a machine compiles for some seconds; later processes read what it kept.
"""

from collections.abc import Sequence

import numba
import numpy as np

from placer.compiled import remove_code_of_other_sources
from placer.plan.arrays import IntArray
from placer.plan.bin_tables import BinKindArrays
from placer.plan.filling import SMALL, Pass


def fill_bins_compiled(tables: BinKindArrays, kind: IntArray, passes: Sequence[Pass]) -> IntArray:
    """Return what bins hold, as `fill_bins_in_passes` does; other threads go on meanwhile."""
    counts = np.zeros((len(kind), tables.may.shape[1]), np.int64)
    left, rooms, free = tables.room[kind], tables.rooms[:, kind], tables.free[:, kind]
    for order, most in passes:
        _pass(
            tables.may,
            tables.sizes,
            tables.shares,
            tables.whole,
            tables.share,
            tables.count,
            tables.largest,
            kind,
            np.ascontiguousarray(order),
            np.ascontiguousarray(most),
            counts,
            left,
            rooms,
            free,
            SMALL,
        )
    return counts


@numba.njit(cache=True, nogil=True)
def _take(shares, whole, share, count, largest, rooms, free, taken):
    """Take devices of one type for one item; return whether there was all of it."""
    devices, quantities = rooms.shape
    taken[:] = False
    for entry in range(share.shape[0]):
        size = shares[share[entry]]
        for _ in range(count[entry]):
            best, least = -1, np.inf
            for device in range(devices):
                if taken[device]:
                    continue
                fits, rest = True, 0.0
                for quantity in range(quantities):
                    after = rooms[device, quantity] - size[quantity]
                    if after < 0:
                        fits = False
                        break
                    rest += after / largest[quantity]
                if fits and rest < least:
                    best, least = device, rest
            if best < 0:
                return False
            for quantity in range(quantities):
                rooms[best, quantity] -= size[quantity]
            free[best] = False
            taken[best] = True
    wanted = whole
    for device in range(devices):
        if wanted and free[device] and not taken[device]:
            free[device] = False
            rooms[device, :] = -1
            wanted -= 1
    return wanted == 0


@numba.njit(cache=True, nogil=True)
def _pass(
    may,
    sizes,
    shares,
    whole,
    share,
    count,
    largest,
    kind,
    order,
    most,
    counts,
    left,
    rooms,
    free,
    small,
):
    bins, items = order.shape
    types, resources = rooms.shape[0], left.shape[1]
    taken = np.zeros(rooms.shape[2], np.bool_)
    rooms_before = np.empty(rooms[:, 0].shape, np.int64)
    free_before = np.empty(free[:, 0].shape, np.bool_)
    open_ = np.empty(items, np.int64)
    for b in range(bins):
        k, number = kind[b], 0
        for item in range(items):
            if order[b, item] > small and counts[b, item] < most[b, item] and may[k, item]:
                open_[number] = item
                number += 1
        # What did not fit once never will again, so that each item has one turn.
        for at in np.argsort(-order[b][open_[:number]], kind="mergesort"):
            item = open_[at]
            times = most[b, item] - counts[b, item]
            for resource in range(resources):
                if sizes[k, item, resource] > 0:
                    times = min(times, left[b, resource] // sizes[k, item, resource])
            asks = False
            for which in range(types):
                asks = asks or whole[which, k, item] > 0 or count[which, k, item].any()
            if asks:
                placed = 0
                while placed < times:
                    rooms_before[:] = rooms[:, b]
                    free_before[:] = free[:, b]
                    fits = True
                    for which in range(types):
                        fits = fits and _take(
                            shares[which, k],
                            whole[which, k, item],
                            share[which, k, item],
                            count[which, k, item],
                            largest[which, k],
                            rooms[which, b],
                            free[which, b],
                            taken,
                        )
                    if not fits:
                        rooms[:, b] = rooms_before
                        free[:, b] = free_before
                        break
                    placed += 1
                times = placed
            counts[b, item] += times
            for resource in range(resources):
                left[b, resource] -= times * sizes[k, item, resource]


remove_code_of_other_sources(__name__)
