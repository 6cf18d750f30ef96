"""One pod after the other on 1,000 nodes: the greedy path, first fit, and a plain scan.

The fleet is of catalogue machines; it is measured empty, and again after thousands of
other pods have made its nodes differ. First fit takes the first node with a place and
scores nothing. The plain scan asks every node for its best place, which is what the greedy
path answers without doing it; it is timed on a few pods only.

Times are CPU times of the one thread that works: the same as the clock's on an idle
machine, and no worse on a busy one.

Run: python benchmarks/greedy_fleet.py [NODES]
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from random import Random
from statistics import mean
from time import thread_time

import _worlds
from _arguments import numbers_asked
from _timing import print_times, timed
from _worlds import GIB, WHOLE_CORES, gang, lone, nodes_in_turn

from placer.greedy.chooser import choose_cheapest_place_on_node
from placer.greedy.gather import gather_on_one_node
from placer.greedy.node_table import GreedyNodeTable
from placer.greedy.place import place_greedily
from placer.state.batch import build_problem
from placer_models.cluster import Instance, Node
from placer_models.machines.catalogue import load_machine
from placer_models.pod import Container, Gang, Pod, PodSpec
from placer_models.policy import AlignmentPolicy, BindPolicy, GatherLevel, QosClass
from placer_models.problem.problem import Problem

SEED = 7
TIMED_PODS = 200
SCANNED_PODS = 12
WARM_UP_PODS_PER_NODE = 3
MACHINES = (
    "dgx-a100",
    "hgx-h100",
    "dgx-1-v100",
    "dgx-2",
    "p4d-24xlarge",
    "epyc-7402-nps1",
    "epyc-7401-nps4",
    "xeon-6430-2s",
    "xeon-6230-snc2",
    "threadripper-2990wx",
)


spec = partial(_worlds.spec, alignment=AlignmentPolicy.NONE)

SPECS = (
    spec(QosClass.LSR, 4_000, 8),
    spec(QosClass.LSR, 7_000, 16),
    spec(QosClass.LSR, 8_000, 16, **WHOLE_CORES),
    spec(QosClass.LSR, 8_000, 16, bind=BindPolicy.SPREAD_BY_PCPUS),
    spec(QosClass.LSE, 16_000, 8, alignment=AlignmentPolicy.SINGLE_NUMA_NODE),
    spec(QosClass.LSR, 8_000, 32, gpus=1, alignment=AlignmentPolicy.BEST_EFFORT),
    spec(QosClass.LSR, 16_000, 32, gpus=2, alignment=AlignmentPolicy.BEST_EFFORT),
    spec(QosClass.LS, 16_000, 64, gpus=4, alignment=AlignmentPolicy.BEST_EFFORT),
    spec(QosClass.LS, 32_000, 128, gpus=8),
    spec(QosClass.LS, 500, 1),
    spec(QosClass.LS, 2_000, 4),
    spec(QosClass.BE, 3_000, 8),
)


def with_other_cpus(kind: PodSpec) -> PodSpec:
    """Return a kind like it that is a shape of its own."""
    requests = kind.containers[0].requests
    larger = replace(requests, memory_bytes=requests.memory_bytes + GIB)
    return replace(kind, containers=(Container("main", larger),))


def drawn(rng: Random, count: int, kinds: Sequence[PodSpec], name: str) -> list[Gang]:
    return [lone(Pod(f"{name}-{i}", "default", rng.choice(kinds))) for i in range(count)]


def place_all(fleet: GreedyNodeTable, pods: Iterable[int]) -> list[tuple[int, float, bool]]:
    """Place pod by pod; return each with its ms and whether it found a place."""
    found = []
    for pod in pods:
        start = thread_time()
        choice = fleet.find(pod)
        if choice is not None:
            fleet.take(pod, choice)
        found.append((pod, 1_000 * (thread_time() - start), choice is not None))
    return found


def scatter(rng: Random, problem: Problem, fleet: GreedyNodeTable, pods: Iterable[int]) -> None:
    """Place pods on nodes drawn at random, so that no two nodes stay alike."""
    for pod in pods:
        for node in rng.sample(range(len(problem.nodes)), 20):
            fit = problem.fit(pod, node)
            offer = fit and choose_cheapest_place_on_node(
                fleet.left(fleet.state(node)), problem.shape_of(pod), fit
            )
            if offer:
                fleet.take(pod, offer.choice.on(node))
                break


def first_fit_ms(problem: Problem, fleet: GreedyNodeTable, pods: Iterable[int]) -> list[float]:
    """Take the first node with a place, pod by pod."""
    times = []
    for pod in pods:
        start = thread_time()
        for node in range(len(problem.nodes)):
            fit = problem.fit(pod, node)
            if fit is None:
                continue
            offer = choose_cheapest_place_on_node(
                fleet.left(fleet.state(node)), problem.shape_of(pod), fit
            )
            if offer is not None:
                fleet.take(pod, offer.choice.on(node))
                break
        times.append(1_000 * (thread_time() - start))
    return times


def scan_ms(problem: Problem, fleet: GreedyNodeTable, pods: Iterable[int]) -> list[float]:
    """Ask every node for its best place; nothing is taken."""
    times = []
    for pod in pods:
        start = thread_time()
        shape = problem.shape_of(pod)
        for node in range(len(problem.nodes)):
            fit = problem.fit(pod, node)
            if fit is not None:
                choose_cheapest_place_on_node(fleet.left(fleet.state(node)), shape, fit)
        times.append(1_000 * (thread_time() - start))
    return times


def report(title: str, nodes: tuple[Node, ...], warm_up: int) -> None:
    rng = Random(SEED)
    before = drawn(rng, warm_up, [with_other_cpus(kind) for kind in SPECS], "before")
    problem = build_problem(Instance(nodes, (*before, *drawn(rng, TIMED_PODS, SPECS, "pod"))))
    last = range(warm_up, warm_up + TIMED_PODS)
    fleets = [GreedyNodeTable(problem) for _ in range(3)]
    for fleet in fleets:
        scatter(Random(SEED), problem, fleet, range(warm_up))
    states = len({fleets[0].state(node) for node in range(len(nodes))})
    found = place_all(fleets[0], last)
    seen: set[int] = set()
    cold, warm = [], []
    for pod, took_ms, _ in found:
        shape = problem.pods[pod]
        (warm if shape in seen else cold).append(took_ms)
        seen.add(shape)
    placed = sum(ok for _, _, ok in found)
    print(f"{title}: {len(nodes)} nodes in {states} states, {placed} of {TIMED_PODS} pods placed")
    print_times("greedy path, first pod of a shape", cold)
    print_times("greedy path, every later pod", warm)
    first_fit = first_fit_ms(problem, fleets[1], last)
    print_times("first fit", first_fit)
    scan = scan_ms(problem, fleets[2], last[:SCANNED_PODS])
    print_times(f"plain scan ({SCANNED_PODS} pods)", scan)
    whole = mean(cold + warm)
    print(f"  first fit / greedy path, means over all pods: {mean(first_fit) / whole:.2f}")
    print(f"  plain scan / greedy path, means over later pods: {mean(scan) / mean(warm):.0f}")


class Unpromising(GreedyNodeTable):
    """Nodes that promise nothing, so that each has to be looked into."""

    def nodes_by_bound(self, _: Sequence[int]) -> tuple[list[int], list[tuple[int, ...]]]:
        return [], []


def report_gathering(nodes: tuple[Node, ...]) -> None:
    """Gather gangs of 4 on one node each; the baseline is to look into every node."""
    rng = Random(SEED)
    before = drawn(rng, WARM_UP_PODS_PER_NODE * len(nodes), SPECS, "before")
    gangs = [gang(f"gang-{i}", kind, 4, 4, gather=GatherLevel.NODE) for i, kind in enumerate(SPECS)]
    problem = build_problem(Instance(nodes, (*before, *gangs)))
    times: list[list[float]] = []
    answers = []
    for fleet in (GreedyNodeTable(problem), Unpromising(problem)):
        scatter(Random(SEED), problem, fleet, range(len(before)))
        times.append([])
        for task in problem.gangs[len(before) :]:
            took_s, found = timed(thread_time, gather_on_one_node, fleet, task.pods, task.minimum)
            answers.append(found)
            times[-1].append(1_000 * took_s)
    assert answers[: len(gangs)] == answers[len(gangs) :]
    print("gangs of 4 that gather on one node of the busy fleet, each alone")
    print_times("greedy path", times[0])
    print_times("looking into every node", times[1])
    print(f"  looking into every node / greedy path, means: {mean(times[1]) / mean(times[0]):.0f}")


def report_batch(nodes: tuple[Node, ...]) -> None:
    rng = Random(SEED)
    gangs = [
        *drawn(rng, TIMED_PODS - 44, SPECS, "pod"),
        gang("training", SPECS[8], 32, 24),
        gang("inference", SPECS[5], 4, 4, gather=GatherLevel.NODE),
        gang("prefill", SPECS[6], 8, 4, gather=GatherLevel.NODE),
    ]
    problem = build_problem(Instance(nodes, tuple(gangs)))
    took_s, choices = timed(thread_time, place_greedily, problem)
    took_ms = 1_000 * took_s
    print(f"one batch with three gangs: {len(choices)} of {len(problem.pods)} pods placed")
    print(f"  {took_ms:.0f} ms, {took_ms / len(problem.pods):.2f} ms a pod, all counted")


def main() -> None:
    count = numbers_asked(__doc__, nodes=1_000).nodes
    nodes = nodes_in_turn(count, [load_machine(name) for name in MACHINES])
    report("empty fleet", nodes, 0)
    report("busy fleet", nodes, WARM_UP_PODS_PER_NODE * count)
    report_gathering(nodes)
    report_batch(nodes)


if __name__ == "__main__":
    main()
