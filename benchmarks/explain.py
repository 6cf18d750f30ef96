"""Explanations of pods without a place on a full fleet: how long they take beside the solve.

The first fleet has nodes of eight GPUs of which seven in ten are taken, at random, by pods of one
to four; pods of eight GPUs wait, and no node has eight left. The second has ten times as many
nodes, and pods of several shapes wait that are refused for different reasons: too many GPUs, too
much memory, a label that no node has, a taint.

Printed are the seconds of the solve, those of the explanations that came after it, for how many
of them a change was found, and which kinds. Times are wall-clock times: they say something on a
quiet machine only, and against the solve in the same run.

Run: python benchmarks/explain.py [NODES [BIG_NODES]]
"""

from collections import Counter
from random import Random
from time import monotonic, process_time

from _arguments import numbers_asked
from _timing import timed
from _worlds import GIB, lone, machine, running_pod, spec

from placer.explain.explain import explain
from placer.search.options import SolveOptions
from placer.search.solver import solve
from placer_models.cluster import Instance, Node, RunningPod
from placer_models.device import GPU, Device
from placer_models.placement import DeviceGrant, Placed
from placer_models.pod import Gang, Pod
from placer_models.policy import QosClass
from placer_models.taints import Taint, TaintEffect

GPUS = 8
TAKEN = 0.7
SEED = 5
SOLVE_S = 10.0
SHAPES, REFUSALS = 20, 50

BOX = machine(
    "box",
    128,
    (512 * GIB, 512 * GIB),
    threads=2,
    packages=2,
    devices=tuple(Device(GPU, i, numa_node=i // 4) for i in range(GPUS)),
)


def pod(name: str, gpus: int, gib: int = 1, **more: object) -> Pod:
    return Pod(name, "default", spec(QosClass.LS, 1000, gib, gpus, **more))


def fleet(count: int, rng: Random) -> tuple[tuple[Node, ...], tuple[RunningPod, ...]]:
    """Return nodes, one in twenty tainted, and pods that hold seven in ten of their GPUs."""
    taint = (Taint("spot", "", TaintEffect.NO_SCHEDULE),)
    nodes = tuple(
        Node(f"n{i:05}", BOX, (("zone", f"z{i % 4}"),), taints=taint if i % 20 == 0 else ())
        for i in range(count)
    )
    running = []
    for node in nodes:
        free = [i for i in range(GPUS) if rng.random() < TAKEN] or [rng.randrange(GPUS)]
        rng.shuffle(free)
        while free:
            size = min(len(free), rng.choice((1, 1, 2, 4)))
            mine, free = sorted(free[:size]), free[size:]
            one = pod(f"{node.name}-{mine[0]}", size)
            grants = tuple(DeviceGrant(GPU, i) for i in mine)
            held = {"memory_bytes": ((0, GIB),), "devices": grants}
            running.append(running_pod(one, node.name, BOX.topology.online, **held))
    return nodes, tuple(running)


def refused(rng: Random) -> list[Gang]:
    """Return pods of several shapes none of which fits."""
    shapes = [
        lambda name, i: pod(name, GPUS, gib=2 + i),
        lambda name, i: pod(name, 1, gib=1100 + i),
        lambda name, i: pod(name, 1, node_selector=(("zone", f"gone-{i}"),)),
        lambda name, i: pod(name, GPUS + 1 + i),
    ]
    return [
        lone(shapes[n % SHAPES % len(shapes)](f"p{n:03}", n % SHAPES // len(shapes)))
        for n in range(REFUSALS)
    ]


def show(name: str, instance: Instance, seconds: float) -> None:
    solved_s, answer = timed(monotonic, solve, instance, SolveOptions(time_limit_s=SOLVE_S))
    unplaced = () if isinstance(answer, Placed) else answer.unplaced
    took_s, (cpu_s, explained) = timed(
        monotonic, timed, process_time, explain, instance, answer, seconds=seconds
    )
    first_s, first = timed(
        monotonic,
        explain,
        instance,
        answer,
        seconds=max(1.0, 3 * solved_s),
        most_changes=1,
        nearest=False,
    )
    kinds = Counter(change.kind for one in explained for change in one.changes)
    found = sum(bool(one.changes) for one in explained)
    print(
        f"{name}: {len(instance.nodes):,} nodes, {len(unplaced)} of {len(instance.gangs)} left out"
    )
    print(f"  solve {solved_s:.2f} s; explain {took_s:.2f} s ({cpu_s:.2f} s of CPU) of {seconds:g}")
    print(f"  {len(explained)} explanations, {found} with a change: {dict(kinds)}")
    print(
        f"  nearest named for {sum(bool(one.nearest) for one in explained)}; "
        f"the best change alone {first_s:.2f} s, for {sum(bool(o.changes) for o in first)}"
    )


def main() -> None:
    said = numbers_asked(__doc__, nodes=500, big_nodes=5000)
    nodes, running = fleet(said.nodes, Random(SEED))
    waiting = tuple(lone(pod(f"w{i}", GPUS)) for i in range(10))
    show("ten pods of eight GPUs", Instance(nodes, waiting, running=running), 1.0)
    nodes, running = fleet(said.big_nodes, Random(SEED + 1))
    show("many shapes", Instance(nodes, tuple(refused(Random(SEED))), running=running), 4.5)


if __name__ == "__main__":
    main()
