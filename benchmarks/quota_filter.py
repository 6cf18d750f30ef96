"""Which of many nodes have k devices with so much free: four ways, nodes a second.

    python benchmarks/quota_filter.py [NODES] [ROUNDS]

All answer the same questions on the same nodes of 8 devices; the loop is the baseline, in
the same run. Each figure is the median over rounds.
"""

from statistics import median
from time import perf_counter

import numpy as np
from _arguments import numbers_asked

from placer.quota.filter import (
    ClassRequest,
    FieldByFieldFreeQuotas,
    FreeQuotaNodeFilter,
    GuardBitFreeQuotas,
    SortedFreeQuotas,
)

DEVICES = 8
BITS = 7
"""80 GB in GB, as a node of eight such GPUs says it."""

WANTS = (ClassRequest(1, 40), ClassRequest(2, 20), ClassRequest(4, 60), ClassRequest(8, 10))


class Loop:
    """Free quotas as Python lists, asked one device after the other."""

    def __init__(self, free: np.ndarray) -> None:
        self._nodes = free.tolist()

    def passing(self, want: ClassRequest) -> np.ndarray:
        return np.array(
            [sum(quota >= want.amount for quota in node) >= want.count for node in self._nodes]
        )


def seconds_of(free: FreeQuotaNodeFilter, rounds: int) -> float:
    """Return the median seconds of one question."""
    taken = []
    for _ in range(rounds):
        begun = perf_counter()
        for want in WANTS:
            free.passing(want)
        taken.append((perf_counter() - begun) / len(WANTS))
    return median(taken)


def main() -> None:
    said = numbers_asked(__doc__, nodes=100_000, rounds=21)
    nodes, rounds = said.nodes, said.rounds
    drawn = np.random.default_rng(0).integers(0, 81, size=(nodes, DEVICES))
    loop = Loop(drawn)
    base_s = seconds_of(loop, min(rounds, 5))
    print(f"{nodes} nodes x {DEVICES} devices, {rounds} rounds")
    print(f"{'form':10} {'nodes/s':>14} {'x the loop':>12}")
    print(f"{'loop':10} {nodes / base_s:14,.0f} {1:12,.1f}")
    for form in (FieldByFieldFreeQuotas, GuardBitFreeQuotas, SortedFreeQuotas):
        free = form(drawn, BITS)
        for want in WANTS:
            assert (free.passing(want) == loop.passing(want)).all(), form
        took_s = seconds_of(free, rounds)
        print(f"{form.__name__:10} {nodes / took_s:14,.0f} {base_s / took_s:12,.1f}")


if __name__ == "__main__":
    main()
