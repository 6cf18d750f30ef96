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

import json
from argparse import SUPPRESS
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from time import perf_counter, process_time

from _arguments import parser_for
from _checkouts import HERE, json_of
from _timing import timed
from _worlds import GIB, machine, nodes_in_turn, spec

from placer.scheduler import Scheduler
from placer.scheduling.decision import Batch
from placer.search.options import Engine, SolveOptions
from placer.search.solver import solve
from placer_models.cluster import Instance, Machine
from placer_models.placement import Answer, PartlyPlaced, Placed
from placer_models.pod import Gang, Pod
from placer_models.policy import QosClass

NODES = 5_000
PODS = 1_000
LIMIT_S = 10.0

FLAT = machine("flat", 64, (512 * GIB,), title="64 CPUs")
THREADED = machine(
    "threaded",
    64,
    (256 * GIB, 256 * GIB),
    threads=2,
    title="32 cores of two threads, two NUMA nodes",
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
    kind, qos, cpus = WORLDS[name]
    nodes = nodes_in_turn(NODES, (kind,), "n-{:04}")
    asked = spec(qos, 1_000 * cpus, 4 * cpus)
    pods = tuple(Pod(f"p-{i:03}", "default", asked) for i in range(PODS))
    return Instance(nodes, (Gang("gang", "default", pods, PODS),))


def measured(name: str, how: str, rounds: int) -> dict[str, float]:
    """Return the least CPU time and the least time by the clock, and how many tiers are proven."""
    instance = world(name)
    options = SolveOptions(time_limit_s=LIMIT_S, workers=2, seed=1)
    cpu_s: list[float] = []
    wall_s: list[float] = []
    call, after = _calls(instance, how, options)
    for _ in range(rounds):
        one_wall_s, (one_cpu_s, answer) = timed(perf_counter, timed, process_time, call)
        cpu_s.append(one_cpu_s)
        wall_s.append(one_wall_s)
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


def main(rounds: int, other: Path | None) -> None:
    """Print a row for each world and way of asking, and beside it the other checkout's."""
    print(f"{PODS} pods, {NODES} nodes; the least of {rounds}")
    title = f"{'':24}  {'':6}  CPU s  wall s  proven"
    print(title if other is None else f"{title}    before: CPU s  wall s  proven    ratio")
    for name in WORLDS:
        for how in ("greedy", "solve", "kept"):
            asked = (__file__, "--rounds", str(rounds), "--row", name, how)
            now = json_of(HERE, *asked)
            text = f"{name:24}  {how:6}  {told(now)}"
            if other is not None:
                before = json_of(other, *asked)
                ratio = now["cpu_s"] / before["cpu_s"]
                text += f"            {told(before)}    {ratio:5.2f}"
            print(text, flush=True)


def told(found: dict[str, float]) -> str:
    """Say what one row is."""
    proven = f"{found['proven']} of {found['tiers']}"
    return f"{found['cpu_s']:5.3f}  {found['wall_s']:6.3f}  {proven:>6}"


if __name__ == "__main__":
    parser = parser_for(__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--against", type=Path, metavar="FOLDER")
    parser.add_argument("--row", nargs=2, help=SUPPRESS)
    said = parser.parse_args()
    if said.row:
        print(json.dumps(measured(said.row[0], said.row[1], said.rounds)))
    else:
        main(said.rounds, said.against)
