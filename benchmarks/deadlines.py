"""Random batches under deadlines of 20 ms to 10 s, on 1 to 10,000 nodes, half of them busy.

The answer has to come by the deadline, or by greedy's own time where that is longer, plus
a tenth and 50 ms; and it is never empty where greedy places somebody. Greedy's own time is
measured first, as a solve with the greedy engine alone. Late is what is beyond that. On a
machine with other work on it the clock says more than the solve can help, so the CPU time
of the process stands beside it: by it, late is CPU time beyond the same limit. With --by-cpu the
deadlines themselves are CPU time: the search looks at that clock, so it does as much within them
as it would alone on the machine, and late is what is late by it (CP-SAT alone keeps its own time).

Baseline in the same run: the greedy engine; the tier values of the answer are never worse.

Run: python benchmarks/deadlines.py [--quick] [--by-cpu] [FIRST [COUNT]], of 200 batches from 0;
--quick takes every tenth of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from time import perf_counter, process_time

from _arguments import add_numbers, parser_for
from _timing import keep_cpu_time, timed
from _worlds import GIB, gang, nodes_in_turn, resident
from greedy_fleet import MACHINES, SPECS

from placer.search.options import Engine, SolveOptions
from placer.search.solver import solve
from placer_models.cluster import Instance, Machine, Node, RunningPod
from placer_models.device import GPU
from placer_models.machines.catalogue import load_machine
from placer_models.placement import Answer, PartlyPlaced, Placed
from placer_models.pod import Container, Gang, PodSpec, Resources
from placer_models.policy import QosClass

BATCHES = 200
QUICK_STEP = 10
MOST_NODES = 10_000
MOST_PODS = 400
SHORTEST_S, LONGEST_S = 0.02, 10.0
MOST_RUNNING = 4  # on a node
MOVES = 5
TOO_LARGE = PodSpec((Container("main", Resources(1_000_000)),), QosClass.LSR)
KINDS = tuple(load_machine(name) for name in MACHINES)


def between(rng: Random, least: float, most: float) -> float:
    """Draw a number whose logarithm is uniform."""
    return float(least * (most / least) ** rng.random())


def running_on(node: Node, rng: Random) -> list[RunningPod]:
    """Return some pods that run on the node, each with CPUs, memory and perhaps a GPU."""
    machine: Machine = node.machine
    cpus = sorted(machine.topology.online)
    gpus = [device for device in machine.devices if device.type == GPU]
    memory = {numa.id: numa.memory_bytes for numa in machine.topology.numa_nodes}
    found = []
    for i in range(rng.randint(1, MOST_RUNNING)):
        count, amount = rng.randint(1, 8), rng.randint(1, 8) * GIB
        numa = rng.choice(sorted(memory))
        if count + 1 >= len(cpus) or amount > memory[numa]:
            continue
        memory[numa] -= amount
        first = rng.randrange(len(cpus) - count)
        own, cpus[first : first + count] = cpus[first : first + count], []
        held = [gpus.pop(rng.randrange(len(gpus)))] if gpus and rng.random() < 0.5 else []
        name, part = f"{node.name}-{i}", (numa, amount)
        pod = resident(name, node, QosClass.LSR, 1000 * count, part, held, frozenset(own))
        found.append(pod)
    return found


def batch(number: int) -> tuple[Instance, float]:
    """Return a random instance and a deadline in seconds."""
    rng = Random(number)
    count = round(between(rng, 1, MOST_NODES))
    deadline_s = between(rng, SHORTEST_S, LONGEST_S)
    nodes = nodes_in_turn(count, KINDS, "n-{:05}")
    busy = rng.random() < 0.5
    pods = round(between(rng, 1, min(MOST_PODS, 20 * count)))
    specs = rng.sample(SPECS, rng.randint(1, len(SPECS)))
    if rng.random() < 0.3:
        specs.append(TOO_LARGE)
    gangs: list[Gang] = []
    while pods > 0:
        size = min(pods, rng.choice((1, 1, 1, 2, 4)))
        spec = rng.choice(specs)
        minimum = rng.choice((size, max(1, size // 2)))
        priority = rng.choice((0, 0, 10))
        gangs.append(gang(f"g-{len(gangs)}", spec, size, minimum, priority=priority))
        pods -= size
    old = tuple(pod for node in nodes for pod in running_on(node, rng)) if busy else ()
    moves = MOVES if busy and rng.random() < 0.3 else 0
    return Instance(nodes, tuple(gangs), running=old, move_budget=moves), deadline_s


@dataclass(frozen=True, slots=True)
class Timed:
    """An answer, and the seconds that it took by the clock and of the process."""

    answer: Answer
    wall_s: float
    cpu_s: float

    @property
    def placed(self) -> int:
        """How many pods have a place."""
        found = self.answer
        return len(found.placement.pods) if isinstance(found, Placed | PartlyPlaced) else 0

    @property
    def values(self) -> list[int]:
        """The value of each tier, the larger the better."""
        found = self.answer
        tiers = found.tiers if isinstance(found, Placed | PartlyPlaced) else ()
        return [-t.value if t.tier.better(0, 1) else t.value for t in tiers]


def solved(instance: Instance, options: SolveOptions) -> Timed:
    wall_s, (cpu_s, answer) = timed(perf_counter, timed, process_time, solve, instance, options)
    return Timed(answer, wall_s, cpu_s)


def allowed_s(deadline_s: float, greedy_s: float) -> float:
    """Return by when the answer has to be there."""
    return 1.1 * max(deadline_s, greedy_s) + 0.05


def main(numbers: Sequence[int]) -> None:
    late: list[tuple[float, float, int]] = []
    empty = worse = 0
    print(
        "batch  nodes  pods  deadline s  greedy s  answer s    late s  CPU s  late by CPU s  placed"
    )
    for number in numbers:
        instance, deadline_s = batch(number)
        greedy = solved(instance, SolveOptions(Engine.GREEDY, 600, workers=1))
        found = solved(instance, SolveOptions(time_limit_s=deadline_s, workers=1, seed=1))
        wall_late_s = found.wall_s - allowed_s(deadline_s, greedy.wall_s)
        cpu_late_s = found.cpu_s - allowed_s(deadline_s, greedy.cpu_s)
        late.append((wall_late_s, cpu_late_s, number))
        empty += found.placed == 0 < greedy.placed
        worse += found.values < greedy.values
        print(
            f"{number:5}  {len(instance.nodes):5}  {sum(len(g.pods) for g in instance.gangs):4}"
            f"  {deadline_s:10.3f}  {greedy.wall_s:8.3f}  {found.wall_s:8.3f}  {wall_late_s:8.3f}"
            f"  {found.cpu_s:5.2f}  {cpu_late_s:13.3f}  {found.placed:4} of {greedy.placed}",
            flush=True,
        )
    print(
        f"{len(numbers)} batches: {empty} empty though greedy has an answer,"
        f" {worse} worse than greedy"
    )
    wall_s, _, number = max(late)
    print(f"worst by the clock: {wall_s:+.3f} s beyond what is allowed, batch {number}")
    _, cpu_s, number = max(late, key=lambda row: row[1])
    print(f"worst by CPU time:  {cpu_s:+.3f} s beyond what is allowed, batch {number}")
    by_clock, by_cpu = (sum(row[column] > 0 for row in late) for column in (0, 1))
    print(f"late by the clock: {by_clock}, by CPU time: {by_cpu}")


if __name__ == "__main__":
    parser = parser_for(__doc__)
    add_numbers(parser, first=0, count=BATCHES)
    parser.add_argument("--quick", action="store_true", help="every tenth batch")
    parser.add_argument("--by-cpu", action="store_true", help="deadlines in CPU time")
    asked = parser.parse_args()
    if asked.by_cpu:
        keep_cpu_time()
    main(range(asked.first, asked.first + asked.count, QUICK_STEP if asked.quick else 1))
