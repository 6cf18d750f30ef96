"""A node of many cores of two threads, half of whose CPUs running pods own here and there."""

import random
import statistics
from collections.abc import Callable, Mapping
from time import perf_counter

from _timing import timed
from _worlds import lone, machine, running_pod

from placer.search.options import Engine, SolveOptions
from placer.search.solver import solve
from placer_models.cluster import Instance, Node, RunningPod
from placer_models.placement import PartlyPlaced, Placed
from placer_models.pod import Pod

SIZES = ((64, 2), (128, 8))
"""Cores and NUMA nodes."""

Holder = Callable[[str, int, random.Random], Pod]
"""Returns a pod of a name that owns so many CPUs."""


def node(cores: int, numa_nodes: int) -> Node:
    """Return the node, empty."""
    return Node("n", machine(f"{cores}", 2 * cores, (0,) * numa_nodes, threads=2))


def half_full(
    cores: int, numa_nodes: int, rng: random.Random, holder: Holder
) -> tuple[Node, tuple[RunningPod, ...]]:
    """Return the node, and pods of one, two or four CPUs that run there."""
    free = list(range(2 * cores))
    found = []
    while len(free) > cores:
        count = rng.choice((1, 2, 4))
        first = rng.randrange(len(free) - count)
        cpus, free[first : first + count] = free[first : first + count], []
        found.append(running_pod(holder(f"r{len(found)}", count, rng), "n", frozenset(cpus)))
    return node(cores, numa_nodes), tuple(found)


def solved(instance: Instance, limit_s: float = 60.0) -> tuple[float, str]:
    """Return the seconds of a solve, pods placed, and how many of its tiers were proven."""
    options = SolveOptions(engine=Engine.EXACT, workers=1, seed=1, time_limit_s=limit_s)
    took_s, answer = timed(perf_counter, solve, instance, options)
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
                on, old = half_full(cores, numa_nodes, random.Random(seed), holder)
                took.append(solved(Instance((on,), (lone(pod),), running=old))[0])
            median_s = statistics.median(took)
            plain_s = plain_s or median_s
            print(f"{cores:5}  {word:14}  {median_s:8.3f}  {median_s / plain_s:5.2f}")
