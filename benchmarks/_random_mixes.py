"""Random questions of what to buy: a few machine types, many pods of a few shapes.

Seed `s` gives 3 to 6 types with 2 to 4 resources, and 5 to 40 shapes that take 2 to 60 % of some
type, give or take; a type costs about its size, a little less if it is large, and 15 %
more or less by chance.

With insides, types of 16 CPUs and more have two or four NUMA nodes and two threads a core. Each
shape is then NUMA-aligned with a probability of one third (whole CPUs of its own, all on
one NUMA node), and comes in gangs of 2 to 8 pods with a probability of one third.
"""

from collections.abc import Iterator
from decimal import Decimal

import numpy as np
from _worlds import machine

from placer.plan.question import NodeOffer, PlanQuestion, PlanScenario
from placer_models.cluster import Instance, Node
from placer_models.pod import Container, Gang, Pod, PodSpec, Resources
from placer_models.policy import AlignmentPolicy, QosClass

MIB = 2**20
PART = 1 / 3
"""This part of the shapes is aligned, and this part comes in gangs, where insides are asked for."""


def random_mix(seed: int, *, insides: bool = False) -> PlanQuestion:
    """Return the question of a seed."""
    rng = np.random.default_rng(seed)
    types, resources = int(rng.integers(3, 7)), int(rng.integers(2, 5))
    shapes, pods = int(rng.integers(5, 41)), int(rng.integers(200, 5001))
    base = rng.choice([8, 16, 32, 64, 96], types) * 1000
    columns = [base]
    for _ in range(resources - 1):
        columns.append(np.round(base * rng.choice([0.5, 1, 2, 4, 8], types)).astype(int))
    room = np.stack(columns, 1).astype(np.int64)
    weight = 1 / np.median(room, 0)
    price = np.round(1000 * (room * weight).sum(1) ** 0.97 * rng.uniform(0.85, 1.15, types))
    sizes, likes = np.zeros((shapes, resources), np.int64), np.zeros(shapes, np.int64)
    for shape in range(shapes):
        likes[shape] = rng.integers(types)
        like = room[likes[shape]]
        part = np.exp(rng.uniform(np.log(0.02), np.log(0.6)))
        spread = np.exp(rng.normal(0, 0.5, resources))
        sizes[shape] = np.minimum(np.maximum(1, like * part * spread).astype(int), like)
    counts = np.maximum(1, (rng.dirichlet(np.full(shapes, 0.6)) * pods).astype(np.int64))
    cells = [_cells(int(cpus)) if insides else 1 for cpus in base // 1000]
    offers = tuple(
        NodeOffer(
            _node(f"type{i}", room[i].tolist(), cells[i], threads=2 if insides else 1),
            Decimal(int(price[i])) / 1000,
        )
        for i in range(types)
    )
    own = np.random.default_rng([seed, 1])  # what is drawn without insides stays as it is
    gangs: list[Gang] = []
    for shape in range(shapes):
        amounts, policy, qos, members = sizes[shape].tolist(), None, QosClass.LS, 1
        if insides:
            if own.random() < PART:
                policy, qos = AlignmentPolicy.SINGLE_NUMA_NODE, QosClass.LSR
                amounts = _in_one_cell(amounts, room[likes[shape]].tolist(), cells[likes[shape]])
            members = int(own.integers(2, 9)) if own.random() < PART else 1
        container = Container("main", _amounts(amounts))
        spec = PodSpec((container,), qos, alignment=policy)
        gangs += _in_gangs(f"s{shape}", spec, int(counts[shape]), members)
    return PlanQuestion(Instance((), tuple(gangs)), offers, (PlanScenario("as drawn"),))


def _cells(cpus: int) -> int:
    """Return how many NUMA nodes a machine of so many CPUs has."""
    return 1 if cpus < 16 else 2 if cpus < 64 else 4


def _in_one_cell(amounts: list[int], room: list[int], cells: int) -> list[int]:
    """Return amounts of whole CPUs that one NUMA node of a type holds."""
    cpu_milli, mebibytes, *others = amounts
    whole = -(-cpu_milli // 1000) * 1000
    return [min(whole, room[0] // cells), min(mebibytes, room[1] // cells), *others]


def _in_gangs(name: str, spec: PodSpec, count: int, members: int) -> Iterator[Gang]:
    """Yield so many pods in gangs of so many members; the last gang may have fewer."""
    for number, first in enumerate(range(0, count, members)):
        names = [f"{name}-{i}" for i in range(first, min(first + members, count))]
        pods = tuple(Pod(one, "default", spec) for one in names)
        lone = members == 1
        title = names[0] if lone else f"{name}-gang-{number}"
        yield Gang(title, "default", pods, len(pods), lone=lone)


def _node(name: str, room: list[int], cells: int, threads: int) -> Node:
    cpu_milli, mebibytes, *others = room
    cpus = cpu_milli // 1000 // threads * threads
    parts = (mebibytes * MIB // cells,) * cells
    kind = machine(name, cpus, parts, threads=threads, apart=True, title=name)
    return Node(name, kind, extended=_extended(others))


def _amounts(sizes: list[int]) -> Resources:
    cpu_milli, mebibytes, *others = sizes
    return Resources(cpu_milli, mebibytes * MIB, extended=_extended(others))


def _extended(amounts: list[int]) -> tuple[tuple[str, int], ...]:
    return tuple((f"example.com/r{i}", amount) for i, amount in enumerate(amounts) if amount)
