"""A node of many cores of two threads, half of whose CPUs running pods own here and there."""

import random
import statistics
import time
from collections.abc import Callable, Mapping

from placer.search.options import Engine, SolveOptions
from placer.search.solver import solve
from placer_models.cluster import Instance, Machine, Node, RunningPod
from placer_models.placement import PartlyPlaced, Placed, PodPlacement
from placer_models.pod import Gang, Pod
from placer_models.topology import Cpu, NumaNode, Topology

SIZES = ((64, 2), (128, 8))
"""Cores and NUMA nodes."""

Holder = Callable[[str, int, random.Random], Pod]
"""Returns a pod of a name that owns so many CPUs."""


def node(cores: int, numa_nodes: int) -> Node:
    """Return the node, empty."""
    cpus = tuple(
        Cpu(i, core=i // 2, package=0, numa_node=i * numa_nodes // (2 * cores))
        for i in range(2 * cores)
    )
    numas = tuple(NumaNode(n, 0) for n in range(numa_nodes))
    return Node("n", Machine(f"{cores}", "", Topology("x86_64", cpus, numas)))


def lone(one: Pod) -> Gang:
    """Return the gang of one that stands for a pod without a gang."""
    return Gang(one.name, one.namespace, (one,), 1, lone=True)


def half_full(
    cores: int, numa_nodes: int, rng: random.Random, holder: Holder
) -> tuple[Node, tuple[RunningPod, ...]]:
    """Return the node, and pods of one, two or four CPUs that run there."""
    free = list(range(2 * cores))
    running = []
    while len(free) > cores:
        count = rng.choice((1, 2, 4))
        first = rng.randrange(len(free) - count)
        cpus, free[first : first + count] = free[first : first + count], []
        one = holder(f"r{len(running)}", count, rng)
        place = PodPlacement(one.name, "default", None, "n", frozenset(cpus))
        running.append(RunningPod(one, place))
    return node(cores, numa_nodes), tuple(running)


def timed(instance: Instance, limit_s: float = 60.0) -> tuple[float, str]:
    """Return the seconds of a solve, pods placed, and how many of its tiers were proven."""
    began = time.perf_counter()
    options = SolveOptions(engine=Engine.EXACT, workers=1, seed=1, time_limit_s=limit_s)
    answer = solve(instance, options)
    took_s = time.perf_counter() - began
    if not isinstance(answer, Placed | PartlyPlaced):
        return took_s, type(answer).__name__
    proven = f"{sum(tier.proven for tier in answer.tiers)} of {len(answer.tiers)} tiers"
    return took_s, f"{len(answer.placement.pods)} placed, {proven}"


def print_one_pod(head: str, pods: Mapping[str, Pod], rounds: int, holder: Holder) -> None:
    """Print the median seconds of a solve of one pod on half a node, beside the first pod's."""
    print(f"cores  {head:14}  median s  ratio")
    for cores, numa_nodes in SIZES:
        plain_s = 0.0
        for word, pod in pods.items():
            took = []
            for seed in range(rounds):
                on, running = half_full(cores, numa_nodes, random.Random(seed), holder)
                took.append(timed(Instance((on,), (lone(pod),), running=running))[0])
            median_s = statistics.median(took)
            plain_s = plain_s or median_s
            print(f"{cores:5}  {word:14}  {median_s:8.3f}  {median_s / plain_s:5.2f}")
