"""Full batches of pods: the search beside a plain Boolean model, at equal wall time.

Equal nodes, eight pods for each, in sets of one to four equal ones, in two priorities. CPU and
memory are drawn alike; the pods ask for a share of what there is, the load. The families:

plain   CPU and memory alone
high    the same, but the high priority alone asks for 1.2 times the load
mixed   and 0 to 2 whole GPUs for each pod of a set, of GPUs without links
shares  and a part of one GPU for most of the sets, in percent

GPUs are whole, so nodes have the number that is nearest to the load.

The rival is what one writes down first: a literal for each pod that it is placed, for each
pod and node that it is there, and for each pod and GPU that it has a part of it; whole GPUs are
counted. It takes the priorities in turn, each for half of what is left of the time, and knows
nothing of equal pods and equal nodes. Both have two workers.

    python benchmarks/rival.py --family mixed --nodes 32 --loads 0.95 1.00 --seeds 0 --seconds 10
"""

import argparse
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product, zip_longest
from random import Random
from typing import NamedTuple

from ortools.sat.python.cp_model import FEASIBLE, OPTIMAL, CpModel, CpSolver, IntVar

from placer.search.options import SolveOptions
from placer.search.solver import solve
from placer_models.cluster import Instance, Machine, Node
from placer_models.device import GPU, Device
from placer_models.device_share import WHOLE_PERCENT, DeviceShare
from placer_models.placement import PartlyPlaced, Placed
from placer_models.pod import Container, DeviceRequest, Gang, Pod, PodSpec, Resources
from placer_models.policy import QosClass
from placer_models.topology import Cpu, NumaNode, Topology

WORKERS = 2
PODS_A_NODE = 8
MIB = 2**20
GPU_BYTES = 80 * 2**30
HIGH, LOW = 10, 0


class Family(NamedTuple):
    """A way to draw pods.

    Attributes:
        percents: What each pod of a set asks for of GPUs, drawn evenly; 200 are two whole ones.
        high_load: What the high priority alone asks for at a load of 1; None: the load
            is what all pods ask for.

    """

    percents: tuple[int, ...] = ()
    high_load: float | None = None


FAMILIES = {
    "plain": Family(),
    "high": Family(high_load=1.2),
    "mixed": Family(percents=(0, 0, 0, 100, 100, 200)),
    "shares": Family(percents=(0, 0, 20, 30, 50, 70)),
}


class PodSet(NamedTuple):
    """Equal pods."""

    size: int
    milli: int
    mib: int
    priority: int
    gpu_percent: int


@dataclass(frozen=True)
class Run:
    """What one search made of a batch: the pods of each priority, the higher one first.

    Attributes:
        bound: No placement that is as good in the high priority has more pods; None if unknown.
        proven: How many of the priorities are proven.

    """

    placed: tuple[int, ...]
    bound: int | None
    proven: int

    @property
    def gap(self) -> int | None:
        """How many pods the bound is above what is placed."""
        return None if self.bound is None else self.bound - sum(self.placed)

    @property
    def all_proven(self) -> bool:
        """Whether there is an answer, and every priority of it is proven."""
        return bool(self.placed) and self.proven == len(self.placed)


def batch(family: Family, nodes: int, load: float, seed: int) -> Instance:
    """Return nodes that are all alike, and pods that ask for that share of them."""
    sets = drawn(family, PODS_A_NODE * nodes, Random(seed))
    counted = sets
    if family.high_load is not None:
        counted = [one for one in sets if one.priority == HIGH]
        load *= family.high_load
    cpus = round(sum(one.size * one.milli for one in counted) / load / nodes / 1000)
    memory = int(sum(one.size * one.mib for one in counted) / load / nodes) * MIB
    percent = sum(one.size * one.gpu_percent for one in counted)
    gpus = max(1, round(percent / WHOLE_PERCENT / load / nodes)) if family.percents else 0
    topology = Topology(
        "x86_64", tuple(Cpu(i, i, 0, 0) for i in range(cpus)), (NumaNode(0, memory),)
    )
    devices = tuple(Device(GPU, i, memory_bytes=GPU_BYTES, numa_node=0) for i in range(gpus))
    machine = Machine("alike", "", topology, devices)
    gangs = []
    for number, one in enumerate(sets):
        requests = Resources(one.milli, one.mib * MIB, devices=gpus_of(one.gpu_percent))
        spec = PodSpec((Container("main", requests),), QosClass.LS)
        for i in range(one.size):
            pod = Pod(f"set-{number}-{i}", "default", spec)
            gangs.append(Gang(pod.name, "default", (pod,), 1, priority=one.priority, lone=True))
    return Instance(tuple(Node(f"n{i:02}", machine) for i in range(nodes)), tuple(gangs))


def drawn(family: Family, pods: int, rng: Random) -> list[PodSet]:
    """Draw sets of so many pods in all."""
    sets: list[PodSet] = []
    while pods:
        size = min(pods, rng.randint(1, 4))
        milli, mib = 10 * rng.randint(100, 1000), rng.randint(100, 1000)
        priority = rng.choice((LOW, HIGH))
        gpu_percent = rng.choice(family.percents) if family.percents else 0
        sets.append(PodSet(size, milli, mib, priority, gpu_percent))
        pods -= size
    return sets


def gpus_of(percent: int) -> tuple[DeviceRequest, ...]:
    """Return the request for whole GPUs, or for a part of one."""
    if not percent:
        return ()
    if percent < WHOLE_PERCENT:
        return (DeviceRequest(GPU, 1, DeviceShare(percent, memory_percent=percent)),)
    return (DeviceRequest(GPU, percent // WHOLE_PERCENT),)


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
    variables = [*placed, *(x for row in assign for x in row)]
    for j, node in enumerate(instance.nodes):
        there = [(asked, row[j]) for (_, asked), row in zip(pods, assign, strict=True)]
        variables += fill(model, node.machine, there)
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
            for variable in variables:
                model.add_hint(variable, solver.value(variable))
    return tuple(reached)


def fill(
    model: CpModel, machine: Machine, there: Sequence[tuple[Resources, IntVar]]
) -> list[IntVar]:
    """Hold one node to what it has; return the literals for parts of its GPUs.

    Whole GPUs are counted. Where pods ask for a part of one GPU, each has a literal for each GPU.
    """
    topology = machine.topology
    memory = sum(numa.memory_bytes for numa in topology.numa_nodes) // MIB
    model.add(sum(asked.cpu_milli * x for asked, x in there) <= 1000 * len(topology.online))
    model.add(sum(asked.memory_bytes // MIB * x for asked, x in there) <= memory)
    wanted = [(request, x) for asked, x in there for request in asked.devices]
    parts = [(request.share, x) for request, x in wanted if request.share is not None]
    if len(parts) < len(wanted):
        if parts:
            raise ValueError("the rival has whole GPUs or parts of GPUs, not both in one batch")
        model.add(sum(request.count * x for request, x in wanted) <= len(machine.devices))
    held: list[IntVar] = []
    rows = [[model.new_bool_var("") for _ in machine.devices] for _ in parts]
    for (_, x), row in zip(parts, rows, strict=True):
        model.add(sum(row) == x)
        held += row
    for k in range(len(machine.devices) if parts else 0):
        percent = sum((s.percent or 0) * row[k] for (s, _), row in zip(parts, rows, strict=True))
        model.add(percent <= WHOLE_PERCENT)
    return held


def ours(instance: Instance, seconds: float) -> Run:
    """Return what the search makes of the batch."""
    answer = solve(instance, SolveOptions(time_limit_s=seconds, workers=WORKERS, seed=1))
    tiers = answer.tiers if isinstance(answer, Placed | PartlyPlaced) else ()
    levels = [tier for tier in tiers if tier.tier.name.startswith("placed.")]
    bounds = [tier.bound // 2 for tier in levels if tier.bound is not None]
    return Run(
        tuple(tier.value // 2 for tier in levels),
        sum(bounds) if levels and len(bounds) == len(levels) else None,
        sum(tier.proven for tier in levels),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--family", choices=FAMILIES, nargs="+", default=["plain"])
    parser.add_argument("--nodes", type=int, nargs="+", default=[32, 64])
    parser.add_argument("--loads", type=float, nargs="+", default=[0.90, 0.95, 1.00, 1.05])
    parser.add_argument("--seeds", type=int, nargs="+", default=list(range(5)))
    parser.add_argument("--seconds", type=float, default=10.0)
    args = parser.parse_args()

    print(f"{args.seconds:g} s each, {WORKERS} workers; pods by priority, the higher one first")
    print("family  nodes  load  seed  pods    rival     ours  bound  gap  proven     s")
    behind: list[int] = []
    runs: list[Run] = []
    for family, nodes, load, seed in product(args.family, args.nodes, args.loads, args.seeds):
        instance = batch(FAMILIES[family], nodes, load, 100 * nodes + seed)
        theirs = rival(instance, args.seconds)
        began_s = time.monotonic()
        run = ours(instance, args.seconds)
        took_s = time.monotonic() - began_s
        runs.append(run)
        if run.placed < theirs:
            behind.append(lag(run.placed, theirs))
        print(
            f"{family:6}  {nodes:5}  {load:4.2f}  {seed:4}  {len(instance.gangs):4}"
            f"  {by_priority(theirs):>7}  {by_priority(run.placed):>7}  {known(run.bound):>5}"
            f"  {known(run.gap):>3}  {f'{run.proven} of {len(run.placed)}':>6}  {took_s:4.1f}",
            flush=True,
        )
    near = sum(run.gap is not None and run.gap <= 1 for run in runs)
    proven = sum(run.all_proven for run in runs)
    print(
        f"behind the rival in {len(behind)} of {len(runs)},"
        f" by at most {max(behind, default=0)} pods of one priority;"
        f" a gap of at most one pod in {near / len(runs):.0%};"
        f" every priority proven in {proven / len(runs):.0%}"
    )


def lag(mine: tuple[int, ...], theirs: tuple[int, ...]) -> int:
    """Return how many pods fewer than the rival's there are, in the first priority that differs."""
    return next(b - a for a, b in zip_longest(mine, theirs, fillvalue=0) if a != b)


def by_priority(counts: tuple[int, ...]) -> str:
    return "+".join(map(str, counts)) or "-"


def known(number: int | None) -> str:
    return "-" if number is None else str(number)


if __name__ == "__main__":
    main()
