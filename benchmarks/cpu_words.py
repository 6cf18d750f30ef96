"""One pod, placed and proven, with and without each word about CPUs, on a node of 256 CPUs.

The node has 2 packages, 8 NUMA nodes and 16 last-level caches; parts of every cache are
taken at random before. The pod owns 24 CPUs. The time is that of a whole call: greedy,
exact, realised, judged; rows are medians over the same states, and ratios to the row
without any word.

Run: python benchmarks/cpu_words.py [STATES]
"""

import random
import statistics
from dataclasses import replace
from time import perf_counter

from _arguments import numbers_asked
from _timing import timed
from _worlds import lone, running_pod, spec

from placer.search.options import Engine, SolveOptions
from placer.search.solver import solve
from placer_models.cluster import Instance, Machine, Node, RunningPod
from placer_models.placement import Placed
from placer_models.pod import Pod
from placer_models.policy import (
    AlignmentPolicy,
    BindPolicy,
    CpuLocalityWish,
    NodeBindPolicy,
    NumaStrategy,
    QosClass,
)
from placer_models.topology import Cpu, NumaNode, Topology

CORES = 128
CPUS = tuple(
    Cpu(i, i % CORES, i % CORES // 64, numa_node=i % CORES // 16, llc=i % CORES // 8)
    for i in range(2 * CORES)
)
MACHINE = Machine("m", "", Topology("x86_64", CPUS, tuple(NumaNode(i, 0) for i in range(8))))
WANT = 24
"""CPUs that the pod asks for."""

PLAIN = Node("n", MACHINE)

WORDS: dict[str, tuple[Node, dict[str, object]]] = {
    "none": (PLAIN, {}),
    "SpreadByPCPUs": (PLAIN, {"bind": BindPolicy.SPREAD_BY_PCPUS}),
    "node FullPCPUsOnly": (replace(PLAIN, cpu_bind=NodeBindPolicy.FULL_PCPUS_ONLY), {}),
    "node SpreadByPCPUs": (replace(PLAIN, cpu_bind=NodeBindPolicy.SPREAD_BY_PCPUS), {}),
    "numaPolicy BestEffort": (PLAIN, {"alignment": AlignmentPolicy.BEST_EFFORT}),
    "cpuLocality Package": (PLAIN, {"locality": (CpuLocalityWish.PACKAGE,)}),
    "cpuLocality LLC": (PLAIN, {"locality": (CpuLocalityWish.LLC,)}),
    "cpuLocality both": (PLAIN, {"locality": tuple(CpuLocalityWish)}),
    **{f"numaAllocateStrategy {s}": (replace(PLAIN, numa_strategy=s), {}) for s in NumaStrategy},
}


def taken(rng: random.Random) -> RunningPod:
    """Take a random part of every cache: cores and halves of cores."""
    cpus = frozenset(
        cpu
        for cache in range(16)
        for core in rng.sample(range(8 * cache, 8 * cache + 8), rng.randint(1, 7))
        for cpu in rng.sample((core, core + CORES), rng.choice((1, 2, 2)))
    )
    return running_pod(pod("old", len(cpus)), "n", cpus)


def pod(name: str, cpus: int, **words: object) -> Pod:
    return Pod(name, "default", spec(QosClass.LSR, 1000 * cpus, **words))


def seconds(node: Node, words: dict[str, object], old: RunningPod) -> float:
    """Return how long the pod takes to be placed, proven in every tier."""
    instance = Instance((node,), (lone(pod("new", WANT, **words)),), running=(old,))
    options = SolveOptions(engine=Engine.EXACT, workers=1, seed=1)
    elapsed, answer = timed(perf_counter, solve, instance, options)
    assert isinstance(answer, Placed), answer
    assert all(tier.proven for tier in answer.tiers), answer.tiers
    return elapsed


def main(states: int) -> None:
    rng = random.Random(1)
    worn = [taken(rng) for _ in range(states)]
    plain = 0.0
    print(f"one pod of {WANT} CPUs, {states} states of a node of {len(CPUS)} CPUs")
    print(f"{'word':<38}{'median ms':>10}{'most ms':>9}{'ratio':>7}")
    for name, (node, words) in WORDS.items():
        found = [seconds(node, words, runner) for runner in worn]
        median = statistics.median(found)
        plain = plain or median
        print(f"{name:<38}{1000 * median:>10.1f}{1000 * max(found):>9.1f}{median / plain:>7.1f}")


if __name__ == "__main__":
    main(numbers_asked(__doc__, states=20).states)
