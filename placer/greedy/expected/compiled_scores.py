"""Losses of worth as a loop that Numba compiles: the numbers are those of the reference.

The first call on a machine compiles for some seconds; later processes read what it kept.
"""

import numba
import numpy as np
from numpy.typing import NDArray

from placer.compiled import remove_code_of_other_sources
from placer.greedy.columns import Indices, Numbers
from placer.greedy.expected.arrays import ExpectedDemandArrays, LeftOnNodesForExpectedDemand
from placer.greedy.scorer import ANY_GPU, ScorerPodAsk
from placer_models.demand import WHOLE_MILLI
from placer_models.expected import MICRO, QUANTUM

_SLOTS = 1 << 16
"""How many states of nodes are remembered, at first."""

_MOST_SLOTS = 1 << 20
"""How many there may be; where half of them are used, all are forgotten, and there are more."""


class CompiledWorthLossCalculator:
    """Losses of worth on the nodes of a cluster, and what is remembered of states of nodes.

    For one thread at a time.
    """

    def __init__(
        self,
        demand: ExpectedDemandArrays,
        open_: NDArray[np.bool_],
        rows: Indices,
        prices: tuple[int, ...],
    ) -> None:
        """Begin with nothing known.

        Args:
            demand: The demand.
            open_: open_[row, shape]: whether pods of the shape may come to nodes of the row.
            rows: The row of each node.
            prices: The price of each shape, in millionths of a GPU.

        """
        self._demand, self._open, self._rows = demand, open_, rows
        # What a stream offers stands together, pod by pod: its shape, and what that asks for.
        shapes = demand.streams
        asks = (demand.cpu_milli, demand.memory_bytes, demand.gpu_milli, demand.gpus)
        offered = np.stack([shapes, *(of[shapes] for of in asks)], axis=2)
        self._offered: Numbers = np.ascontiguousarray(offered)
        self._width = 0
        self._epoch = 0
        self.set_prices(prices)
        self._remember(_SLOTS)

    def set_prices(self, prices: tuple[int, ...]) -> None:
        """Let other prices hold; fills stay known."""
        self._prices: Numbers = np.array(prices, dtype=np.int64)
        # Shapes with parts of one size follow each other: these parts are counted once.
        order = np.argsort(self._demand.gpu_milli, kind="stable")
        self._priced: Indices = order[self._prices[order] > 0]
        self._epoch += 1

    def lost(
        self, ask: ScorerPodAsk, lefts: LeftOnNodesForExpectedDemand, nodes: Indices
    ) -> tuple[Numbers, Indices]:
        """Return the steps of worth that places cost, and the GPU of each.

        Args:
            ask: What a pod asks for.
            lefts: What each node of the cluster has left.
            nodes: Nodes that have a place by these numbers.

        """
        if lefts.gpu_milli.shape[1] != self._width:
            self._width = lefts.gpu_milli.shape[1]
            self._remember(_SLOTS)
        steps: Numbers = np.empty(len(nodes), dtype=np.int64)
        gpus: Indices = np.empty(len(nodes), dtype=np.int64)
        done = 0
        while done < len(nodes):
            done += _lost(
                *ask,
                *lefts,
                nodes[done:],
                self._rows,
                self._open,
                self._demand.cpu_milli,
                self._demand.memory_bytes,
                self._demand.gpu_milli,
                self._demand.gpus,
                self._offered,
                self._prices,
                self._priced,
                self._states,
                self._fills,
                self._worths,
                self._epochs,
                self._epoch,
                self._used,
                steps[done:],
                gpus[done:],
            )
            if done < len(nodes):
                self._remember(min(_MOST_SLOTS, 2 * len(self._states)))
        return steps, gpus

    def _remember(self, slots: int) -> None:
        """Forget all states, and have room for so many."""
        self._states: Numbers = np.zeros((slots, self._width + 3), dtype=np.int64)
        self._fills: Numbers = np.zeros(slots, dtype=np.int64)
        self._worths: Numbers = np.zeros(slots, dtype=np.int64)
        self._epochs: Numbers = np.zeros(slots, dtype=np.int64)
        self._used: Numbers = np.zeros(1, dtype=np.int64)


def warm_up_compiled_scores() -> None:
    """Compile what is not compiled yet, or read it, by a score that nobody asked for."""
    one: Numbers = np.ones(1, dtype=np.int64)
    gpus: Numbers = np.full((1, 1), WHOLE_MILLI, dtype=np.int64)
    demand = ExpectedDemandArrays(
        one, WHOLE_MILLI * one, one, one, np.zeros((1, 1), dtype=np.int64)
    )
    first: Indices = np.zeros(1, dtype=np.intp)
    scores = CompiledWorthLossCalculator(demand, np.ones((1, 1), dtype=np.bool_), first, (1,))
    scores.lost(
        ScorerPodAsk(1, 1, 1, WHOLE_MILLI), LeftOnNodesForExpectedDemand(one, one, gpus), first
    )


_QUANTUM, _MICRO, _WHOLE, _ANY_GPU = QUANTUM, MICRO, WHOLE_MILLI, ANY_GPU
_A, _B = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9)
_SHIFT = np.uint64(29)


@numba.njit(cache=True, nogil=True)
def _slot(states, key):
    """Return where the state is, or the empty slot where it would be; row 0 of a key is not 0."""
    code = np.uint64(0)
    for part in key:
        code = (code ^ np.uint64(part)) * _A
        code ^= code >> _SHIFT
    code *= _B
    code ^= code >> _SHIFT
    mask = np.int64(states.shape[0] - 1)
    at = np.int64(code & np.uint64(mask))
    while states[at, 0] != 0:
        same = True
        for i in range(key.shape[0]):
            if states[at, i] != key[i]:
                same = False
                break
        if same:
            return at
        at = (at + 1) & mask
    return at


@numba.njit(cache=True, nogil=True)
def _fill(cpu, memory, gpus, count, may, offered):
    """Return what all streams place; the GPUs are the first ``count``, ascending."""
    left = np.empty(count, np.int64)
    placed = 0
    for r in range(offered.shape[0]):
        left[:] = gpus[:count]
        c, m = cpu, memory
        for t in range(offered.shape[1]):
            wants, wants_memory = offered[r, t, 1], offered[r, t, 2]
            each, several = offered[r, t, 3], offered[r, t, 4]
            if several > count or c < wants or m < wants_memory or not may[offered[r, t, 0]]:
                continue
            if several == 0:
                c -= wants
                m -= wants_memory
                continue
            if left[count - several] < each:
                continue
            c -= wants
            m -= wants_memory
            placed += each * several
            first = 0
            while left[first] < each:
                first += 1
            for i in range(first, first + several):
                # The GPU moves down to where it belongs now.
                rest = left[i] - each
                j = i
                while j > 0 and left[j - 1] > rest:
                    left[j] = left[j - 1]
                    j -= 1
                left[j] = rest
            if left[count - 1] == 0:
                break
    return placed


@numba.njit(cache=True, nogil=True)
def _worth(
    key,
    may,
    s_cpu,
    s_memory,
    s_milli,
    s_gpus,
    offered,
    prices,
    priced,
    states,
    fills,
    worths,
    epochs,
    epoch,
    used,
):
    """Return the worth of the state ``key``: its row plus 1, CPUs, memory, its GPUs ascending."""
    at = _slot(states, key)
    first = 3
    while first < key.shape[0] and key[first] == 0:
        first += 1
    gpus, cpu, memory = key[first:], key[1], key[2]
    count = gpus.shape[0]
    if states[at, 0] == 0:
        states[at] = key
        used[0] += 1
        placed = 0
        if count > 0:
            placed = _fill(cpu, memory, gpus, count, may, offered)
        number = max(1, offered.shape[0])
        fills[at] = (2 * _MICRO * placed + number) // (2 * number)
        epochs[at] = 0
    if epochs[at] != epoch:
        worth = fills[at]
        size, parts = np.int64(0), np.int64(0)
        for k in priced:
            if may[k]:
                if s_gpus[k] == 0:
                    copies = cpu // s_cpu[k]
                else:
                    if s_milli[k] != size:
                        size, parts = s_milli[k], np.int64(0)
                        for i in range(count):
                            parts += gpus[i] // size
                    copies = parts // s_gpus[k]
                    if s_cpu[k] > 0:
                        copies = min(copies, cpu // s_cpu[k])
                if s_memory[k] > 0:
                    copies = min(copies, memory // s_memory[k])
                worth += prices[k] * copies
        worths[at] = worth
        epochs[at] = epoch
    return worths[at]


@numba.njit(cache=True, nogil=True)
def _sort(key):
    """Sort the GPUs of a key, ascending; they are few."""
    for i in range(4, key.shape[0]):
        has = key[i]
        j = i
        while j > 3 and key[j - 1] > has:
            key[j] = key[j - 1]
            j -= 1
        key[j] = has


@numba.njit(cache=True, nogil=True)
def _lost(
    cpu,
    memory,
    gpus,
    each,
    cpu_milli,
    memory_bytes,
    gpu_milli,
    nodes,
    rows,
    open_,
    s_cpu,
    s_memory,
    s_milli,
    s_gpus,
    offered,
    prices,
    priced,
    states,
    fills,
    worths,
    epochs,
    epoch,
    used,
    steps,
    chosen,
):
    """Write the steps lost on each node; return how many are done; full slots end it."""
    width = gpu_milli.shape[1]
    most = states.shape[0] // 2 - width - 1
    before, after = np.empty(width + 3, np.int64), np.empty(width + 3, np.int64)
    for n in range(nodes.shape[0]):
        if used[0] > most:
            return n
        node = nodes[n]
        row = rows[node]
        may = open_[row]
        before[0] = row + 1
        before[1] = max(0, cpu_milli[node])
        before[2] = max(0, memory_bytes[node])
        before[3:] = gpu_milli[node]
        _sort(before)
        worth = _worth(
            before, may, s_cpu, s_memory, s_milli, s_gpus, offered, prices, priced, states, fills,
            worths, epochs, epoch, used,
        )  # fmt: skip
        best, at, tried = 0, -1, -1
        fitting = 0
        for g in range(width):
            if gpu_milli[node, g] >= each:
                fitting += 1
        # Where too few GPUs have as much, these numbers do not tell what of them is taken.
        taken = gpus if fitting >= gpus else 0
        # A share goes to the GPU where it costs least; whole GPUs are alike.
        for g in range(width):
            if taken > 0 and (gpu_milli[node, g] < each or gpu_milli[node, g] == tried):
                continue
            after[0] = row + 1
            after[1] = max(0, cpu_milli[node] - cpu)
            after[2] = max(0, memory_bytes[node] - memory)
            after[3:] = gpu_milli[node]
            if taken == 1:
                after[3 + g] -= each
            elif taken > 1:
                _sort(after)
                first = 3
                while after[first] < each:
                    first += 1
                for i in range(first, first + taken):
                    after[i] -= each
            _sort(after)
            left = _worth(
                after, may, s_cpu, s_memory, s_milli, s_gpus, offered, prices, priced, states,
                fills, worths, epochs, epoch, used,
            )  # fmt: skip
            step = -((_QUANTUM - 2 * (worth - left)) // (2 * _QUANTUM))
            if at < 0 or step < best:
                best, at = step, g
            tried = gpu_milli[node, g]
            if taken != 1 or each == _WHOLE:
                break
        steps[n] = best
        chosen[n] = at if taken == gpus else _ANY_GPU
    return nodes.shape[0]


remove_code_of_other_sources(__name__)
