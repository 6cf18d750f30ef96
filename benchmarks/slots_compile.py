"""Operator slots: job graphs of 10,000 operators compiled.

Compiled: random graphs, each operator reading one to three of the 50 before it, streaming
and batch, with resources unknown and known; and read from YAML first, as the command does.
The promise is 2 s for the compiling.

Times are processor time of the one thread that there is: median, and worst of the rounds.

Run: python benchmarks/slots_compile.py [ROUNDS]
"""

import random
import statistics
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from _arguments import numbers_asked
from _timing import timed

from placer.slots.compiler import compile_job
from placer.slots.file import read_job_graph
from placer.slots.graph import JobExecutionMode

OPERATORS = 10_000
PROMISE_S = 2.0


def job_text(mode: JobExecutionMode, *, known: bool) -> str:
    rng = random.Random(1)
    lines = ["apiVersion: placer/v1", "kind: JobGraph", f"mode: {mode}", "operators:"]
    for i in range(OPERATORS):
        needs = f"resources: {{cpu: 500m, heap: 64Mi, managedOffHeap: {rng.randint(0, 9)}Mi}}"
        weight = f"managed: {{offHeap: {rng.randint(0, 9)}}}"
        parallelism = rng.choice([1, 2, 4, 8])
        said = needs if known else weight
        lines.append(f"  - {{name: op{i}, parallelism: {parallelism}, {said}}}")
    lines.append("edges:")
    for i in range(1, OPERATORS):
        for _ in range(rng.randint(1, 3)):
            exchange = rng.choice(["pipelined", "blocking"])
            producer = rng.randrange(max(0, i - 50), i)
            lines.append(f"  - {{from: op{producer}, to: op{i}, exchange: {exchange}}}")
    return "\n".join(lines) + "\n"


def seconds(work: Callable[[], object], rounds: int) -> tuple[float, float]:
    times = [timed(time.process_time, work)[0] for _ in range(rounds)]
    return statistics.median(times), max(times)


def main(rounds: int) -> None:
    print(f"{OPERATORS:,} operators        read from YAML      compiled   (median, worst; s)")
    with TemporaryDirectory() as folder:
        for mode in JobExecutionMode:
            for known in (False, True):
                path = Path(folder) / "job.yaml"
                path.write_text(job_text(mode, known=known), encoding="utf-8")
                job = read_job_graph(path)
                read = seconds(partial(read_job_graph, path), rounds)
                done = seconds(partial(compile_job, job), rounds)
                needs = "known" if known else "unknown"
                kept = "kept" if done[1] < PROMISE_S else "BROKEN"
                print(
                    f"{mode:9} {needs:8}     {read[0]:8.2f} {read[1]:6.2f} "
                    f"{done[0]:12.2f} {done[1]:6.2f}   promise of {PROMISE_S:.0f} s {kept}"
                )


if __name__ == "__main__":
    main(numbers_asked(__doc__, rounds=5).rounds)
