"""Sweeps of exchanges between nodes: those that Numba compiles beside those of NumPy.

Both run the same sweeps of the same bins, of which two are spare ones. The baseline, in the same
run, is NumPy; the answers have to be equal. Exchanges are those that are looked at.

Run: python benchmarks/sweeps.py [SWEEPS]
"""

import time

import numpy as np
from _arguments import numbers_asked
from _timing import timed

from placer.search.exchanges.compiled_sweeps import run_annealing_sweeps_with_numba
from placer.search.exchanges.move_rules import empty_domain_count_rule_arrays
from placer.search.exchanges.sweeps import ExchangeSweepArrays, run_annealing_sweeps_with_numpy

SIZES = ((32, 10, 2), (32, 12, 4), (64, 20, 3), (200, 12, 5))
"""Bins, slots of each, resources."""

GAPS = 2
SPARE = 2
MOST_SLOTS = 12


def bins_of(count: int, width: int, resources: int) -> ExchangeSweepArrays:
    """Return bins that are full to 98 %."""
    rng = np.random.default_rng(1)
    held = width - GAPS
    shapes = count * held
    sizes = np.vstack([rng.integers(1, 1000, (shapes, resources)), np.zeros((1, resources))])
    room = np.full((count, resources), 500.0 * held * 1.02)
    room[count - SPARE :] = np.inf
    endless = np.isinf(room[:, 0])
    gaps = [shapes] * GAPS
    slots = np.array([[*range(i * held, (i + 1) * held), *gaps] for i in range(count)])
    return ExchangeSweepArrays(
        sizes=sizes,
        room=room,
        weights=1.0 / np.where(np.isinf(room), 1.0, room),
        likes=np.append(rng.integers(0, 3, shapes), -1),
        kinds=np.where(endless, 1, 0),
        barred=np.zeros((shapes + 1, 2)),
        endless=endless,
        slots=slots,
        loads=sizes[slots].sum(axis=1),
        rules=empty_domain_count_rule_arrays(len(sizes)),
    )


def main(sweeps: int) -> None:
    print("bins  slots  resources  NumPy ms a sweep  compiled  ratio  M exchanges/s compiled")
    heats = 0.02 * 0.005 ** (np.arange(sweeps) / sweeps)
    for count, width, resources in SIZES:
        pairs, taken = count // 2, min(width, MOST_SLOTS)
        took_s = []
        done = []
        for run in (run_annealing_sweeps_with_numpy, run_annealing_sweeps_with_numba):
            run(bins_of(count, width, resources), 7, 0, heats[:1], pairs, taken)  # Compiles.
            bins = bins_of(count, width, resources)
            took_s.append(timed(time.perf_counter, run, bins, 7, 0, heats, pairs, taken)[0])
            done.append(bins.slots)
        if not (done[0] == done[1]).all():
            raise SystemExit("the answers differ")
        numpy_ms, compiled_ms = (1000 * each_s / sweeps for each_s in took_s)
        looked_at = sweeps * pairs * taken**2 / took_s[1] / 1e6
        print(
            f"{count:4}  {width:5}  {resources:9}  {numpy_ms:16.3f}  {compiled_ms:8.3f}"
            f"  {numpy_ms / compiled_ms:5.1f}  {looked_at:22.0f}"
        )


if __name__ == "__main__":
    main(numbers_asked(__doc__, sweeps=400).sweeps)
