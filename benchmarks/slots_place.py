"""How many new workers slots take, by the placement solver and by the usual ways.

    python benchmarks/slots_place.py [--rounds N]

Clusters are drawn with fixed seeds: workers that are there and partly in use, and jobs of
slots of a few sizes in two dimensions. For each kind of cluster: new workers by the best
of the usual ways and by the solver, how often the solver's number is proven the fewest,
and CPU seconds a cluster.
"""

import time
from random import Random

from _arguments import parser_for
from _timing import timed

from placer.slots.resources import SlotResourceAmounts
from placer.slots.workers.allocate import allocate_slots, allocate_slots_in_order
from placer.slots.workers.default_slots import worker_spec
from placer.slots.workers.model import (
    DataflowWorkers,
    NeededSlotsOfOneSize,
    SlotsNeededByJob,
    Worker,
    WorkerMatchingStrategy,
)

KINDS = ((3, 20), (6, 60), (12, 60), (12, 200), (3, 600))
"""Sizes of slots, and slots in all."""

CPU, MEMORY = 16, 64
"""What a new worker has."""


def cluster(seed: str, sizes: int, slots: int) -> tuple[DataflowWorkers, SlotsNeededByJob]:
    """Draw workers and what a job asks of them."""
    rng = Random(seed)
    total = SlotResourceAmounts(CPU, MEMORY)
    spec = worker_spec(total, slots=4)
    running = tuple(
        Worker(
            total,
            SlotResourceAmounts(rng.randint(0, CPU), rng.randint(0, MEMORY)),
            spec.default_slot,
        )
        for _ in range(rng.randint(0, 5))
    )
    needs: dict[SlotResourceAmounts, int] = {}
    for _ in range(sizes):
        size = SlotResourceAmounts(rng.randint(1, CPU // 2), rng.randint(1, MEMORY // 2))
        needs[size] = needs.get(size, 0) + slots // sizes
    return DataflowWorkers(spec, running), SlotsNeededByJob(
        "j", tuple(NeededSlotsOfOneSize(s, n) for s, n in needs.items())
    )


def main() -> None:
    """Print one line for each kind of cluster."""
    parser = parser_for(__doc__)
    parser.add_argument("--rounds", type=int, default=10)
    rounds = parser.parse_args().rounds
    print("sizes  slots  usual  solver  proven  s/cluster")
    for sizes, slots in KINDS:
        usual = solver = proven = 0
        seconds = 0.0
        for number in range(rounds):
            workers, job = cluster(f"{sizes}-{slots}-{number}", sizes, slots)
            usual += min(
                allocate_slots_in_order(workers, [job], m).new_workers
                for m in WorkerMatchingStrategy
            )
            took_s, found = timed(time.process_time, allocate_slots, workers, [job])
            seconds += took_s
            solver += found.new_workers
            proven += found.proven
        row = f"{usual:7}{solver:8}{proven:5}/{rounds:<3}{seconds / rounds:9.3f}"
        print(f"{sizes:5}{slots:7}{row}", flush=True)


if __name__ == "__main__":
    main()
