"""Fifty pods on 10,000 busy nodes that nobody has looked at before, with a limit of 1 s.

On each node three pods run: they have some of its CPU and memory, and half of them one of its
GPUs. All pods of the batch have to be placed by the limit, or by greedy's own time where that is
longer, plus a tenth and 50 ms. Greedy's own time is that of a call with the greedy engine alone.

Nothing is kept from one solve to the next: the instance is built anew each time. Times are CPU
times of the process, and the search looks at that clock, too. To set another checkout beside this
one, run it with PYTHONPATH=CHECKOUT:CHECKOUT/models.

Run: python benchmarks/cold_batch.py [NODES [PODS [ROUNDS]]]
"""

from random import Random
from statistics import median
from time import process_time

from _arguments import numbers_asked
from _timing import keep_cpu_time, timed
from _worlds import GIB, lone, nodes_in_turn, resident
from mixed_places import KINDS, machine, with_shares, without_shares

from placer.search.options import Engine, SolveOptions
from placer.search.solver import solve
from placer_models.cluster import Instance, Node, RunningPod
from placer_models.placement import PartlyPlaced, Placed
from placer_models.pod import Pod
from placer_models.policy import QosClass

SEED = 17
LIMIT_S = 1.0
RUNNING = 3
"""Pods on each node."""


def running_on(node: Node, rng: Random) -> list[RunningPod]:
    """Return pods that have up to a tenth of the node's CPU and memory each, and perhaps a GPU."""
    topology, gpus = node.machine.topology, list(node.machine.devices)
    found = []
    for i in range(RUNNING):
        milli = 100 * rng.randint(1, len(topology.cpus))
        numa = rng.choice(topology.numa_nodes)
        amount = rng.randint(1, numa.memory_bytes // GIB // 5) * GIB
        held = [gpus.pop(rng.randrange(len(gpus)))] if gpus and rng.random() < 0.5 else []
        name, memory = f"{node.name}-{i}", (numa.id, amount)
        found.append(resident(name, node, QosClass.LS, milli, memory, held))
    return found


def asked(count: int, pods: int) -> Instance:
    """Return busy nodes and pods that wait."""
    rng = Random(SEED)
    nodes = nodes_in_turn(count, [machine(kind) for kind in KINDS])
    specs = [*with_shares(), *without_shares()]
    waiting = [Pod(f"pod-{i}", "default", rng.choice(specs)) for i in range(pods)]
    old = tuple(pod for node in nodes for pod in running_on(node, rng))
    return Instance(nodes, tuple(map(lone, waiting)), running=old)


def solved(instance: Instance, options: SolveOptions) -> tuple[float, int]:
    """Return the seconds of a solve, and how many pods it has placed."""
    took_s, answer = timed(process_time, solve, instance, options)
    placed = isinstance(answer, Placed | PartlyPlaced)
    return took_s, len(answer.placement.pods) if placed else 0


def main(count: int, pods: int, rounds: int) -> None:
    """Print a row a round, and the medians."""
    keep_cpu_time()
    print(f"{pods} pods on {count} busy nodes, limit {LIMIT_S:g} s; seconds of CPU, pods placed")
    print("   greedy         answer        allowed   late")
    times = []
    for _ in range(rounds):
        greedy_s, greedy = solved(asked(count, pods), SolveOptions(Engine.GREEDY, 600, workers=1))
        options = SolveOptions(time_limit_s=LIMIT_S, workers=1, seed=1)
        took_s, placed = solved(asked(count, pods), options)
        allowed_s = 1.1 * max(LIMIT_S, greedy_s) + 0.05
        times.append((greedy_s, took_s))
        print(
            f"{greedy_s:9.3f} {greedy:4} {took_s:9.3f} {placed:4} {allowed_s:9.3f} "
            f"{took_s - allowed_s:+8.3f}",
            flush=True,
        )
    greedy_s, took_s = (median(column) for column in zip(*times, strict=True))
    print(f"medians: greedy {greedy_s:.3f}, answer {took_s:.3f}")


if __name__ == "__main__":
    said = numbers_asked(__doc__, nodes=10_000, pods=50, rounds=3)
    main(said.nodes, said.pods, said.rounds)
