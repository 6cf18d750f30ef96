"""Random questions of what to buy: a few machine types, many pods of a few shapes.

Seed `s` gives 3 to 6 types with 2 to 4 resources, and 5 to 40 shapes that take 2 to 60 % of some
type, give or take; a type costs about its size, a little less if it is large, and 15 %
more or less by chance.
"""

from decimal import Decimal

import numpy as np

from placer.plan.question import NodeOffer, PlanQuestion, PlanScenario
from placer_models.cluster import Instance, Machine, Node
from placer_models.pod import Container, Gang, Pod, PodSpec, Resources
from placer_models.policy import QosClass
from placer_models.topology import Cpu, NumaNode, Topology

MIB = 2**20


def random_mix(seed: int) -> PlanQuestion:
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
    sizes = np.zeros((shapes, resources), np.int64)
    for shape in range(shapes):
        like = room[rng.integers(types)]
        part = np.exp(rng.uniform(np.log(0.02), np.log(0.6)))
        spread = np.exp(rng.normal(0, 0.5, resources))
        sizes[shape] = np.minimum(np.maximum(1, like * part * spread).astype(int), like)
    counts = np.maximum(1, (rng.dirichlet(np.full(shapes, 0.6)) * pods).astype(np.int64))
    offers = tuple(
        NodeOffer(_node(f"type{i}", room[i].tolist()), Decimal(int(price[i])) / 1000)
        for i in range(types)
    )
    gangs = []
    for shape in range(shapes):
        spec = PodSpec((Container("main", _amounts(sizes[shape].tolist())),), QosClass.LS)
        for number in range(int(counts[shape])):
            pod = Pod(f"s{shape}-{number}", "default", spec)
            gangs.append(Gang(pod.name, "default", (pod,), 1, lone=True))
    return PlanQuestion(Instance((), tuple(gangs)), offers, (PlanScenario("as drawn"),))


def _node(name: str, room: list[int]) -> Node:
    cpu_milli, mebibytes, *others = room
    cpus = tuple(Cpu(i, core=i, package=0, numa_node=0) for i in range(cpu_milli // 1000))
    topology = Topology("x86_64", cpus, (NumaNode(0, mebibytes * MIB),))
    return Node(name, Machine(name, name, topology), extended=_extended(others))


def _amounts(sizes: list[int]) -> Resources:
    cpu_milli, mebibytes, *others = sizes
    return Resources(cpu_milli, mebibytes * MIB, extended=_extended(others))


def _extended(amounts: list[int]) -> tuple[tuple[str, int], ...]:
    return tuple((f"example.com/r{i}", amount) for i, amount in enumerate(amounts) if amount)
