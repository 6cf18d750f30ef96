"""A gang of 1,000 equal pods on 5,000 empty nodes: how long until it is placed, and proven so.

The nodes have 64 CPUs (one NUMA node), or 32 cores of two threads (two NUMA nodes); the pods
share CPUs or own them. A row is the time of a whole call of `solve`, or of a `Scheduler` that has
placed the gang and released it before. The least of all rounds counts, of CPU time and by the
clock; CPU time is what other work on the machine changes least.

On two cores with much other work a call of `solve` took, by the least of four (commit 9f733ac in
the same run), 0.310 s of CPU (0.353) and 0.249 s (0.359) for pods that share 16 and 4 CPUs, and
0.298 s (0.363) and 0.245 s (0.373) for those that own them. All tiers were proven.

With --against FOLDER each row is measured with the placer of another checkout too, the two in
turn, and the ratio of CPU times is printed: before and after, in one run.

Run: python benchmarks/large_gang.py [--rounds N] [--against FOLDER]
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from placer.scheduler import Scheduler
from placer.scheduling.decision import Batch
from placer.search.options import Engine, SolveOptions
from placer.search.solver import solve
from placer_models.cluster import Instance, Machine, Node
from placer_models.placement import Answer, PartlyPlaced, Placed
from placer_models.pod import Container, Gang, Pod, PodSpec, Resources
from placer_models.policy import QosClass
from placer_models.topology import Cpu, NumaNode, Topology

HERE = Path(__file__).parents[1]
NODES = 5_000
PODS = 1_000
LIMIT_S = 10.0
GIB = 2**30

FLAT = Machine(
    "flat",
    "64 CPUs",
    Topology("x86_64", tuple(Cpu(i, i, 0, 0) for i in range(64)), (NumaNode(0, 512 * GIB),)),
)
THREADED = Machine(
    "threaded",
    "32 cores of two threads, two NUMA nodes",
    Topology(
        "x86_64",
        tuple(Cpu(i, i // 2, 0, i // 32) for i in range(64)),
        (NumaNode(0, 256 * GIB), NumaNode(1, 256 * GIB)),
    ),
)
WORLDS: dict[str, tuple[Machine, QosClass, int]] = {
    "16 shared CPUs, flat": (FLAT, QosClass.LS, 16),
    "4 shared CPUs, flat": (FLAT, QosClass.LS, 4),
    "16 CPUs owned, threaded": (THREADED, QosClass.LSR, 16),
    "4 CPUs owned, threaded": (THREADED, QosClass.LSR, 4),
}
"""Name -> machine, class of the pods, CPUs of each pod."""


def world(name: str) -> Instance:
    """Return the nodes and the gang."""
    machine, qos, cpus = WORLDS[name]
    spec = PodSpec((Container("main", Resources(1_000 * cpus, 4 * cpus * GIB)),), qos)
    nodes = tuple(Node(f"n-{i:04}", machine) for i in range(NODES))
    pods = tuple(Pod(f"p-{i:03}", "default", spec) for i in range(PODS))
    return Instance(nodes, (Gang("gang", "default", pods, PODS),))


def measured(name: str, how: str, rounds: int) -> dict[str, float]:
    """Return the least CPU time and the least time by the clock, and how many tiers are proven."""
    instance = world(name)
    options = SolveOptions(time_limit_s=LIMIT_S, workers=2, seed=1)
    cpu_s: list[float] = []
    wall_s: list[float] = []
    call, after = _calls(instance, how, options)
    for _ in range(rounds):
        began = time.process_time(), time.perf_counter()
        answer = call()
        cpu_s.append(time.process_time() - began[0])
        wall_s.append(time.perf_counter() - began[1])
        after(answer)
    tiers = answer.tiers if isinstance(answer, Placed | PartlyPlaced) else ()
    return {
        "cpu_s": min(cpu_s),
        "wall_s": min(wall_s),
        "proven": sum(tier.proven for tier in tiers),
        "tiers": len(tiers),
    }


def _calls(
    instance: Instance, how: str, options: SolveOptions
) -> tuple[Callable[[], Answer], Callable[[Answer], object]]:
    """Return what is measured, and what makes it ready for the next time."""
    if how == "greedy":
        options = replace(options, engine=Engine.GREEDY)
    if how != "kept":
        return lambda: solve(instance, options), lambda _: None
    scheduler = Scheduler(instance.nodes)
    batch = Batch(instance.gangs)

    def place() -> Answer:
        return scheduler.place(batch, LIMIT_S, options=options).answer

    def release(answer: Answer) -> None:
        places = answer.placement.pods if isinstance(answer, Placed | PartlyPlaced) else ()
        scheduler.release([place.key for place in places])

    release(place())
    return place, release


def row(name: str, how: str, rounds: int, folder: Path) -> Any:
    """Measure one row in a process of its own, with the placer of a checkout."""
    paths = os.pathsep.join((str(folder), str(folder / "models")))
    asked = [sys.executable, "-P", __file__, "--rounds", str(rounds), "--row", name, how]
    run = subprocess.run(
        asked,
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
    )
    if run.returncode:
        raise SystemExit(run.stderr)
    return json.loads(run.stdout)


def main(rounds: int, other: Path | None) -> None:
    """Print a row for each world and way of asking, and beside it the other checkout's."""
    print(f"{PODS} pods, {NODES} nodes; the least of {rounds}")
    title = f"{'':24}  {'':6}  CPU s  wall s  proven"
    print(title if other is None else f"{title}    before: CPU s  wall s  proven    ratio")
    for name in WORLDS:
        for how in ("greedy", "solve", "kept"):
            now = row(name, how, rounds, HERE)
            text = f"{name:24}  {how:6}  {told(now)}"
            if other is not None:
                before = row(name, how, rounds, other)
                ratio = now["cpu_s"] / before["cpu_s"]
                text += f"            {told(before)}    {ratio:5.2f}"
            print(text, flush=True)


def told(found: dict[str, float]) -> str:
    """Say what one row is."""
    proven = f"{found['proven']} of {found['tiers']}"
    return f"{found['cpu_s']:5.3f}  {found['wall_s']:6.3f}  {proven:>6}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--against", type=Path, metavar="FOLDER")
    parser.add_argument("--row", nargs=2, help=argparse.SUPPRESS)
    said = parser.parse_args()
    if said.row:
        print(json.dumps(measured(said.row[0], said.row[1], said.rounds)))
    else:
        main(said.rounds, said.against)
