"""One pod's exact place on a node that is half full, with and without an exclusive policy.

Nodes of 64 and 128 cores of two threads. Running pods own single threads and whole cores
here and there; a third of them are under each exclusive policy. Per size and policy: the
median seconds of a solve, and the ratio to the same pod without a policy. Below that a
batch of pods that all keep apart: seconds, and whether every tier was proven.

Run: python benchmarks/exclusivity.py [ROUNDS]
"""

import random
import statistics
import sys
import time

from placer.search.options import Engine, SolveOptions
from placer.search.solver import solve
from placer_models.cluster import Instance, Machine, Node, RunningPod
from placer_models.placement import PartlyPlaced, Placed, PodPlacement
from placer_models.pod import Container, Gang, Pod, PodSpec, Resources
from placer_models.policy import BindPolicy, ExclusivePolicy, QosClass
from placer_models.topology import Cpu, NumaNode, Topology

SIZES = ((64, 2), (128, 8))
"""Cores and NUMA nodes."""

POLICIES = tuple(ExclusivePolicy)
BATCH = 30


def node(cores: int, numa_nodes: int) -> Node:
    cpus = tuple(
        Cpu(i, core=i // 2, package=0, numa_node=i * numa_nodes // (2 * cores))
        for i in range(2 * cores)
    )
    numas = tuple(NumaNode(n, 0) for n in range(numa_nodes))
    return Node("n", Machine(f"{cores}", "", Topology("x86_64", cpus, numas)))


def pod(name: str, cpus: int, policy: ExclusivePolicy, bind: BindPolicy) -> Pod:
    containers = (Container("main", Resources(1000 * cpus)),)
    return Pod(name, "default", PodSpec(containers, QosClass.LSR, bind=bind, exclusive=policy))


def lone(one: Pod) -> Gang:
    return Gang(one.name, one.namespace, (one,), 1, lone=True)


def half_full(cores: int, numa_nodes: int, rng: random.Random) -> tuple[Node, list[RunningPod]]:
    on = node(cores, numa_nodes)
    free = list(range(2 * cores))
    running = []
    while len(free) > cores:
        count = rng.choice((1, 2, 4))
        first = rng.randrange(len(free) - count)
        cpus, free[first : first + count] = free[first : first + count], []
        one = pod(f"r{len(running)}", count, rng.choice(POLICIES), BindPolicy.DEFAULT)
        place = PodPlacement(one.name, "default", None, "n", frozenset(cpus))
        running.append(RunningPod(one, place))
    return on, running


def timed(instance: Instance, limit_s: float = 60.0) -> tuple[float, str]:
    """Return the seconds of a solve, and how many of its tiers were proven."""
    began = time.perf_counter()
    options = SolveOptions(engine=Engine.EXACT, workers=1, seed=1, time_limit_s=limit_s)
    answer = solve(instance, options)
    took_s = time.perf_counter() - began
    if not isinstance(answer, Placed | PartlyPlaced):
        return took_s, type(answer).__name__
    return took_s, f"{sum(tier.proven for tier in answer.tiers)} of {len(answer.tiers)} tiers"


def one_pod(rounds: int) -> None:
    print("cores  policy         median s  ratio")
    for cores, numa_nodes in SIZES:
        plain_s = 0.0
        for policy in POLICIES:
            took = []
            for seed in range(rounds):
                on, running = half_full(cores, numa_nodes, random.Random(seed))
                new = lone(pod("new", 5, policy, BindPolicy.SPREAD_BY_PCPUS))
                took.append(timed(Instance((on,), (new,), running=tuple(running)))[0])
            median_s = statistics.median(took)
            plain_s = plain_s or median_s
            print(f"{cores:5}  {policy:13}  {median_s:8.3f}  {median_s / plain_s:5.2f}")


def batches() -> None:
    print(f"\n{BATCH} pods at once, within 60 s")
    print("cores  policy         bind           CPUs      s  proven")
    for cores, numa_nodes in SIZES:
        for policy in POLICIES:
            for bind in (BindPolicy.DEFAULT, BindPolicy.SPREAD_BY_PCPUS):
                for cpus in (3, 4):
                    gangs = tuple(lone(pod(f"p{i}", cpus, policy, bind)) for i in range(BATCH))
                    took_s, proven = timed(Instance((node(cores, numa_nodes),), gangs))
                    print(f"{cores:5}  {policy:13}  {bind:13}  {cpus:4}  {took_s:5.1f}  {proven}")


if __name__ == "__main__":
    one_pod(int(sys.argv[1]) if len(sys.argv) > 1 else 10)
    batches()
