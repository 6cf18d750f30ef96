"""Full batches of plain pods: the search beside a plain Boolean model, at equal wall time.

Equal nodes, eight pods for each, in sets of one to four equal ones, with CPU and memory
drawn alike, in two priorities; together they ask for a share of what there is, the load.
32 batches: 8 to 32 nodes, loads of 0.90 to 1.05, two draws of each.

The rival is what one writes down first: a literal for each pod that it is placed, and for
each pod and node that it is there; the priorities in turn, each for half of what is left of
the time. It knows nothing of equal pods and equal nodes. Both have two workers.

Run: python benchmarks/rival.py [SECONDS [FIRST [COUNT]]], of 32 batches numbered from 0.
"""

import sys
import time
from itertools import product
from random import Random

from ortools.sat.python.cp_model import FEASIBLE, OPTIMAL, CpModel, CpSolver

from placer.search.options import SolveOptions
from placer.search.solver import solve
from placer_models.cluster import Instance, Machine, Node
from placer_models.placement import PartlyPlaced, Placed
from placer_models.pod import Container, Gang, Pod, PodSpec, Resources
from placer_models.policy import QosClass
from placer_models.topology import Cpu, NumaNode, Topology

SECONDS = 10.0
WORKERS = 2
PODS_A_NODE = 8
SIZES = (8, 16, 24, 32)
LOADS = (0.90, 0.95, 1.00, 1.05)
BATCHES = tuple(product(SIZES, LOADS, (0, 1)))
MIB = 2**20


def batch(nodes: int, load: float, seed: int) -> Instance:
    """Return nodes that are all alike, and pods that ask for that share of them."""
    rng = Random(seed)
    sets: list[tuple[int, int, int, int]] = []
    left = PODS_A_NODE * nodes
    while left:
        size = min(left, rng.randint(1, 4))
        sets.append(
            (size, 10 * rng.randint(100, 1000), rng.randint(100, 1000), rng.choice((0, 10)))
        )
        left -= size
    cpus = round(sum(size * milli for size, milli, _, _ in sets) / load / nodes / 1000)
    memory = int(sum(size * mib for size, _, mib, _ in sets) / load / nodes) * MIB
    topology = Topology(
        "x86_64", tuple(Cpu(i, i, 0, 0) for i in range(cpus)), (NumaNode(0, memory),)
    )
    machine = Machine("alike", "", topology, ())
    gangs = []
    for number, (size, milli, mib, priority) in enumerate(sets):
        spec = PodSpec((Container("main", Resources(milli, mib * MIB)),), QosClass.LS)
        for i in range(size):
            pod = Pod(f"set-{number}-{i}", "default", spec)
            gangs.append(Gang(pod.name, "default", (pod,), 1, priority=priority, lone=True))
    return Instance(tuple(Node(f"n{i:02}", machine) for i in range(nodes)), tuple(gangs))


def rival(instance: Instance, seconds: float) -> tuple[int, ...]:
    """Return how many pods of each priority the plain model places."""
    ends_s = time.monotonic() + seconds
    model = CpModel()
    priorities = sorted({gang.priority for gang in instance.gangs}, reverse=True)
    pods = [(gang.priority, pod.spec.requests) for gang in instance.gangs for pod in gang.pods]
    placed = [model.new_bool_var(f"placed[{i}]") for i in range(len(pods))]
    assign = [
        [model.new_bool_var(f"assign[{i},{j}]") for j in range(len(instance.nodes))]
        for i in range(len(pods))
    ]
    for literal, row in zip(placed, assign, strict=True):
        model.add(sum(row) == literal)
    for j, node in enumerate(instance.nodes):
        topology = node.machine.topology
        memory = sum(numa.memory_bytes for numa in topology.numa_nodes) // MIB
        milli = sum(asked.cpu_milli * row[j] for (_, asked), row in zip(pods, assign, strict=True))
        model.add(milli <= 1000 * len(topology.online))
        mib = sum(
            asked.memory_bytes // MIB * row[j] for (_, asked), row in zip(pods, assign, strict=True)
        )
        model.add(mib <= memory)
    reached: list[int] = []
    for turn, priority in enumerate(priorities):
        mine = sum(x for x, (p, _) in zip(placed, pods, strict=True) if p == priority)
        model.maximize(mine)
        solver = CpSolver()
        solver.parameters.num_workers = WORKERS
        left_s = max(0.01, ends_s - time.monotonic())
        solver.parameters.max_time_in_seconds = (
            left_s if turn + 1 == len(priorities) else left_s / 2
        )
        found = solver.solve(model) in (OPTIMAL, FEASIBLE)
        reached.append(round(solver.objective_value) if found else 0)
        model.add(mine >= reached[-1])
        if found:
            model.clear_hints()
            for variable in (*placed, *(x for row in assign for x in row)):
                model.add_hint(variable, solver.value(variable))
    return tuple(reached)


def ours(instance: Instance, seconds: float) -> tuple[tuple[int, ...], int | None]:
    """Return how many pods of each priority the search places, and a bound on their sum."""
    answer = solve(instance, SolveOptions(time_limit_s=seconds, workers=WORKERS, seed=1))
    tiers = answer.tiers if isinstance(answer, Placed | PartlyPlaced) else ()
    levels = [tier for tier in tiers if tier.tier.name.startswith("placed.")]
    bounds = [tier.bound for tier in levels if tier.bound is not None]
    bound = sum(bounds) // 2 if len(bounds) == len(levels) else None
    return tuple(tier.value // 2 for tier in levels), bound


def main(seconds: float, first: int, count: int) -> None:
    behind: list[int] = []
    print(f"{seconds:g} s each, {WORKERS} workers\nbatch  nodes  load  pods  rival  ours  bound  s")
    for number, (nodes, load, draw) in enumerate(BATCHES[first : first + count], start=first):
        instance = batch(nodes, load, 100 * nodes + draw)
        theirs = rival(instance, seconds)
        began_s = time.monotonic()
        mine, bound = ours(instance, seconds)
        took_s = time.monotonic() - began_s
        if mine < theirs:
            behind.append(sum(theirs) - sum(mine))
        print(
            f"{number:5}  {nodes:5}  {load:4.2f}  {len(instance.gangs):4}  {sum(theirs):5}"
            f"  {sum(mine):4}  {bound or '-':>5}  {took_s:4.1f}",
            flush=True,
        )
    print(f"the rival is better in {len(behind)}, by at most {max(behind, default=0)} pods")


if __name__ == "__main__":
    words = sys.argv[1:]
    main(
        float(words[0]) if words else SECONDS,
        int(words[1]) if words[1:] else 0,
        int(words[2]) if words[2:] else len(BATCHES),
    )
