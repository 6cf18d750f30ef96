"""The setting of Christensen, Giallorenzo and Mauro (2025, arXiv 2511.08373): small full clusters.

Equal nodes, 4 to 32 of them, with 4 or 8 pods each, in replica sets of 1 to 4 that ask for 100 to
1000 milli of CPU and 100 to 1000 MB of memory, in 1, 2 or 4 priorities. Nodes are so large that
the pods ask for 0.90 to 1.05 of them. A batch counts if a default scheduler leaves pods out; the
seeds of each row are the first of those. Placer's nodes have whole CPUs, so CPU is a hundred times
as much, and rounded up.

Theirs is kube-scheduler in a simulated cluster. Here it is emulated: the pods one by one, the
highest priority first, each to the node that is least allocated and best balanced afterwards; it
preempts nobody, which the order stands for. They published: 44 % improved within 1 s, 73 % within
10 s, and 19 % certified, that is the default answer proven optimal.

Printed for each row, of its batches: improved over the default and over our greedy engine
(more pods of the first priority that differs), certified (as good as the default, and proven),
every priority proven, and a gap of at most one pod. What the batches are depends on the seeds
alone; what an answer is, on the seconds. With --by-cpu these are CPU time, and one worker has them.

    python benchmarks/christensen.py --nodes 8 32 --loads 0.95 1.05 --seeds 2 --seconds 1 10
"""

from collections.abc import Iterator
from itertools import count, islice, product
from math import ceil
from random import Random
from typing import NamedTuple

from _arguments import parser_for
from _plain_rival import WORKERS
from _timing import keep_cpu_time, placed_tiers
from _worlds import lone, machine
from rival import Run, ours

from placer.search.options import Engine, SolveOptions
from placer.search.solver import solve
from placer_models.cluster import Instance, Node
from placer_models.pod import Container, Pod, PodSpec, Resources
from placer_models.policy import QosClass

SCALE = 100
MB = 10**6
MOST_TRIED = 10_000


class Setting(NamedTuple):
    """One row: a size of cluster, and how full it is."""

    nodes: int
    pods_a_node: int
    priorities: int
    load: float


class ReplicaSet(NamedTuple):
    """Equal pods, in milli and bytes."""

    size: int
    milli: int
    memory_bytes: int
    priority: int


def drawn(setting: Setting, seed: int) -> list[ReplicaSet]:
    """Draw the replica sets of a batch."""
    rng = Random(f"{setting} {seed}")
    left = setting.nodes * setting.pods_a_node
    sets = []
    while left:
        size = min(left, rng.randint(1, 4))
        milli, memory_bytes = rng.randint(100, 1000), rng.randint(100 * MB, 1000 * MB)
        sets.append(ReplicaSet(size, milli, memory_bytes, rng.randrange(setting.priorities)))
        left -= size
    return sets


def capacity(setting: Setting, asked: list[tuple[int, int]]) -> int:
    """Return what a node has of what the (pods, amount of each) ask for: the largest at least."""
    total = ceil(sum(size * amount for size, amount in asked) / setting.load)
    return max(ceil(total / setting.nodes), *(amount for _, amount in asked))


def batch(setting: Setting, seed: int) -> Instance:
    """Return the nodes and pods of one seed."""
    sets = drawn(setting, seed)
    milli = SCALE * capacity(setting, [(one.size, one.milli) for one in sets])
    memory_bytes = capacity(setting, [(one.size, one.memory_bytes) for one in sets])
    alike = machine("alike", -(-milli // 1000), (memory_bytes,))
    gangs = []
    for number, one in enumerate(sets):
        asked = Resources(SCALE * one.milli, one.memory_bytes)
        spec = PodSpec((Container("main", asked),), QosClass.LS)
        pods = (Pod(f"set-{number}-{i}", "default", spec) for i in range(one.size))
        gangs += [lone(pod, one.priority) for pod in pods]
    nodes = tuple(Node(f"n{i:02}", alike) for i in range(setting.nodes))
    return Instance(nodes, tuple(gangs))


def by_default(instance: Instance) -> tuple[int, ...]:
    """Return how many pods of each priority a default scheduler places, the higher one first."""
    topology = instance.nodes[0].machine.topology
    cpu, memory = 1000 * len(topology.cpus), topology.numa_nodes[0].memory_bytes
    used = [(0, 0) for _ in instance.nodes]
    placed = dict.fromkeys(sorted({gang.priority for gang in instance.gangs}, reverse=True), 0)
    for gang in sorted(instance.gangs, key=lambda gang: -gang.priority):
        asked = gang.pods[0].spec.requests
        scores = []
        for i, (milli, amount) in enumerate(used):
            milli, amount = milli + asked.cpu_milli, amount + asked.memory_bytes
            if milli <= cpu and amount <= memory:
                shares = milli / cpu, amount / memory
                least = 1 - sum(shares) / 2
                balanced = 1 - abs(shares[0] - shares[1]) / 2
                scores.append((least + balanced, -i, (milli, amount)))
        if scores:
            _, i, after = max(scores)
            used[-i] = after
            placed[gang.priority] += 1
    return tuple(placed.values())


def left_over(setting: Setting) -> Iterator[tuple[Instance, tuple[int, ...]]]:
    """Yield the batches of which the default scheduler leaves pods out, with what it places."""
    for seed in islice(count(), MOST_TRIED):
        instance = batch(setting, seed)
        placed = by_default(instance)
        if sum(placed) < len(instance.gangs):
            yield instance, placed


def by_greedy(instance: Instance) -> tuple[int, ...]:
    """Return how many pods of each priority the greedy engine places, the higher one first."""
    answer = solve(instance, SolveOptions(Engine.GREEDY, 60, workers=1))
    return tuple(tier.value // 2 for tier in placed_tiers(answer))


def main() -> None:
    parser = parser_for(__doc__)
    parser.add_argument("--nodes", type=int, nargs="+", default=[4, 8, 16, 32])
    parser.add_argument("--pods", type=int, nargs="+", default=[4, 8], help="for each node")
    parser.add_argument("--priorities", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--loads", type=float, nargs="+", default=[0.90, 0.95, 1.00, 1.05])
    parser.add_argument("--seeds", type=int, default=1, help="batches for each row")
    parser.add_argument("--seconds", type=float, nargs="+", default=[1.0, 10.0])
    parser.add_argument("--by-cpu", action="store_true", help="seconds of CPU, one worker")
    args = parser.parse_args()
    workers = WORKERS
    if args.by_cpu:
        keep_cpu_time()
        workers = 1

    print("nodes  pods  priorities  load  batches    s | improved  over greedy  certified", end="")
    print("  proven  gap<=1  published")
    totals: dict[float, list[tuple[bool, ...]]] = {seconds: [] for seconds in args.seconds}
    for row in product(args.nodes, args.pods, args.priorities, args.loads):
        setting = Setting(*row)
        batches = list(islice(left_over(setting), args.seeds))
        title = "{:5}  {:4}  {:10}  {:4.2f}  {:7}".format(*setting, len(batches))
        for seconds in args.seconds:
            found = [
                counted(ours(instance, seconds, workers), by_greedy(instance), placed)
                for instance, placed in batches
            ]
            totals[seconds] += found
            print(f"{title}  {seconds:3g} | {shares(found)}", flush=True)
    for seconds, found in totals.items():
        improved = {1.0: "44 % improved", 10.0: "73 % improved"}.get(seconds)
        published = f"{improved}, 19 % certified" if improved else "-"
        print(f"{'all':>26}  {len(found):9}  {seconds:3g} | {shares(found)}  {published}")


def counted(run: Run, greedy: tuple[int, ...], default: tuple[int, ...]) -> tuple[bool, ...]:
    """Return what one batch counts as, in the order of the columns."""
    return (
        run.placed > default,
        run.placed > greedy,
        run.all_proven and run.placed == default,
        run.all_proven,
        run.gap is not None and run.gap <= 1,
    )


def shares(found: list[tuple[bool, ...]]) -> str:
    """Return the share of the batches in each column."""
    columns = zip(*found, strict=True)
    widths = (8, 11, 9, 6, 6)
    texts = [f"{sum(column) / len(found):.0%}" for column in columns] or ["-"] * len(widths)
    return "  ".join(f"{text:>{width}}" for text, width in zip(texts, widths, strict=True))


if __name__ == "__main__":
    main()
