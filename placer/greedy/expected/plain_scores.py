"""Losses of worth by the reference, with NumPy where many nodes are new at once."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from placer.greedy.columns import Indices, Numbers
from placer.greedy.expected.arrays import (
    ExpectedDemandArrays,
    LeftOnNodesForExpectedDemand,
    filled_gpu_milli_by_arrays,
    left_as_arrays,
)
from placer.greedy.scorer import ANY_GPU, ScorerPodAsk
from placer_models.demand import WHOLE_MILLI, ExpectedDemand
from placer_models.expected import (
    ExpectedGpuFillCache,
    ExpectedNodeWorthCache,
    ResourcesLeftForExpectedPods,
    worth_loss_in_quanta,
)

MANY = 16
"""From so many nodes on NumPy is quicker than the reference; up to ``MOST`` at a time."""

MOST = 512


class UncompiledWorthLossCalculator:
    """Losses of worth on the nodes of a cluster, as `CompiledWorthLossCalculator` finds them."""

    def __init__(
        self,
        demand: ExpectedDemand,
        open_: Sequence[tuple[bool, ...]],
        rows: Indices,
        prices: tuple[int, ...],
    ) -> None:
        """Begin with nothing known.

        Args:
            demand: The demand; its own prices do not matter.
            open_: For each row, whether pods of each shape may come to its nodes.
            rows: The row of each node.
            prices: The price of each shape.

        """
        self._demand = demand
        self._arrays = ExpectedDemandArrays.of(demand)
        self._fills = [ExpectedGpuFillCache(demand, row) for row in open_]
        self._open: NDArray[np.bool_] = np.array(open_, dtype=np.bool_).reshape(len(open_), -1)
        self._rows = rows
        self.set_prices(prices)

    def set_prices(self, prices: tuple[int, ...]) -> None:
        """Let other prices hold; fills stay known."""
        demand = self._demand.priced(prices)
        self._outlooks = [ExpectedNodeWorthCache(demand, fills) for fills in self._fills]

    def lost(
        self, ask: ScorerPodAsk, lefts: LeftOnNodesForExpectedDemand, nodes: Indices
    ) -> tuple[Numbers, Indices]:
        """Return the steps of worth that places cost, and the GPU of each, or `ANY_GPU`.

        Args:
            ask: What a pod asks for.
            lefts: What each node of the cluster has left.
            nodes: Nodes that have a place by these numbers.

        """
        steps: Numbers = np.zeros(len(nodes), dtype=np.int64)
        chosen: Indices = np.zeros(len(nodes), dtype=np.intp)
        rows = self._rows[nodes].tolist()
        has = zip(*(column[nodes].tolist() for column in lefts), strict=True)
        alike: dict[tuple[int, int, int, tuple[int, ...]], list[int]] = {}
        for at, (row, (cpu, memory, gpus)) in enumerate(zip(rows, has, strict=True)):
            alike.setdefault((row, cpu, memory, tuple(gpus)), []).append(at)
        places = {key: _places(ask, *key[1:]) for key in alike}
        self._foresee(
            [(key[0], left) for key, of in places.items() for left in (_left(*key[1:]), *of)]
        )
        for key, members in alike.items():
            outlook = self._outlooks[key[0]]
            worth = outlook.worth(_left(*key[1:]))
            found = {
                left: worth_loss_in_quanta(worth - outlook.worth(left)) for left in places[key]
            }
            best = min(found, key=found.__getitem__)
            steps[members], chosen[members] = found[best], places[key][best]
        return steps, chosen

    def _foresee(self, states: Sequence[tuple[int, ResourcesLeftForExpectedPods]]) -> None:
        """Work the fills of many new states out at once."""
        new = [
            (row, left)
            for row, left in dict.fromkeys(states)
            if left.gpu_milli and not self._fills[row].knows(left)
        ]
        if len(new) < MANY:
            return
        for first in range(0, len(new), MOST):
            some = new[first : first + MOST]
            rows = np.array([row for row, _ in some], dtype=np.intp)
            lefts = left_as_arrays([left for _, left in some])
            placed = filled_gpu_milli_by_arrays(self._arrays, self._open, rows, lefts)
            for (row, left), milli in zip(some, placed.tolist(), strict=True):
                self._fills[row].note(left, milli)


def _left(cpu: int, memory: int, gpus: Sequence[int]) -> ResourcesLeftForExpectedPods:
    milli = tuple(sorted(each for each in gpus if each))
    return ResourcesLeftForExpectedPods(max(0, cpu), milli, max(0, memory))


def _places(
    ask: ScorerPodAsk, cpu: int, memory: int, gpus: tuple[int, ...]
) -> dict[ResourcesLeftForExpectedPods, int]:
    """Return what each place leaves -> the first GPU that it takes something of.

    A share by memory may fit where too few GPUs have its part in milli: what it takes there, these
    numbers do not tell.
    """
    cpu, memory = cpu - ask.cpu_milli, memory - ask.memory_bytes
    count, each = ask.gpus, ask.gpu_milli
    if count == 0:
        return {_left(cpu, memory, gpus): 0}
    fitting = sorted((milli, at) for at, milli in enumerate(gpus) if milli >= each)
    if len(fitting) < count:
        return {_left(cpu, memory, gpus): ANY_GPU}
    if count > 1 or each == WHOLE_MILLI:
        taken = {at for _, at in fitting[:count]}
        left = [milli - each * (at in taken) for at, milli in enumerate(gpus)]
        return {_left(cpu, memory, left): min(taken)}
    places: dict[ResourcesLeftForExpectedPods, int] = {}
    for at in sorted(at for _, at in fitting):
        left = [milli - each * (i == at) for i, milli in enumerate(gpus)]
        places.setdefault(_left(cpu, memory, left), at)
    return places
