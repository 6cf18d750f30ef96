"""Plans for pods that have to be on one NUMA node: price and bound beside brute force."""

from collections import Counter
from collections.abc import Iterator, Sequence
from decimal import Decimal
from itertools import product
from random import Random

import pytest

from placer.plan.question import NodeOffer, PlanQuestion
from placer_models.cluster import Instance, Machine, Node
from placer_models.pod import Container, Gang, Pod, PodSpec, Resources
from placer_models.policy import AlignmentPolicy, QosClass
from placer_models.topology import Cpu, NumaNode, Topology
from plan_proofs import check_proven
from plan_worlds import GIB

BATCHES = 4
EACH = 25

Cells = tuple[tuple[int, int], ...]
"""CPUs in milli and memory in GiB of each NUMA node of a machine."""
Ask = tuple[int, int, bool]
"""CPUs in milli, memory in GiB, whether all of it is on one NUMA node."""


def _machine(name: str, cells: Cells) -> Machine:
    cpus: list[Cpu] = []
    for numa, (milli, _) in enumerate(cells):
        first = len(cpus)
        cpus += [Cpu(first + i, first + i, 0, numa) for i in range(milli // 1000)]
    parts = tuple(NumaNode(i, gib * GIB) for i, (_, gib) in enumerate(cells))
    return Machine(name, name, Topology("x86_64", tuple(cpus), parts))


def _spec(ask: Ask) -> PodSpec:
    milli, gib, aligned = ask
    container = Container("main", Resources(milli, gib * GIB))
    if not aligned:
        return PodSpec((container,))
    return PodSpec((container,), QosClass.LSR, alignment=AlignmentPolicy.SINGLE_NUMA_NODE)


def _world(seed: int) -> tuple[PlanQuestion, list[Cells], list[Ask]]:
    """Draw 1 to 3 offers of 1 to 3 NUMA nodes, and 3 to 6 pods of 2 or 3 shapes."""
    rng = Random(f"numa-plan-{seed}")
    insides = [
        ((rng.choice((2, 3, 4)) * 1000, rng.randint(2, 6)),) * rng.choice((1, 2, 2, 3))
        for _ in range(rng.randint(1, 3))
    ]
    offers = tuple(
        NodeOffer(
            Node(f"offer{i}", _machine(f"m{i}", cells)),
            Decimal(rng.randint(4, 20)) / 2,
            rng.choice((None, None, None, 1, 2)),
        )
        for i, cells in enumerate(insides)
    )
    shapes = [
        (rng.choice((1000, 2000, 3000)), rng.randint(1, 4), rng.random() < 0.7)
        for _ in range(rng.randint(2, 3))
    ]
    asks = [rng.choice(shapes) for _ in range(rng.randint(3, 6))]
    gangs = [
        Gang(f"p{i}", "default", (Pod(f"p{i}", "default", _spec(ask)),), 1, lone=True)
        for i, ask in enumerate(asks)
    ]
    return PlanQuestion(Instance((), tuple(gangs)), offers), insides, asks


def _cheapest(question: PlanQuestion, insides: Sequence[Cells], asks: list[Ask]) -> Decimal | None:
    """Return the price of the cheapest mix, by trying all mixes and all places in them."""
    ranges = [
        range(1 + (len(asks) if one.most is None else min(one.most, len(asks))))
        for one in question.offers
    ]

    def price(mix: Sequence[int]) -> Decimal:
        costs = (n * one.price for n, one in zip(mix, question.offers, strict=True))
        return sum(costs, Decimal(0))

    for mix in sorted(product(*ranges), key=price):
        nodes = [cells for n, cells in zip(mix, insides, strict=True) for _ in range(n)]
        aligned = sorted((one for one in asks if one[2]), reverse=True)
        others = sorted((one for one in asks if not one[2]), reverse=True)
        if _fits(aligned, others, nodes):
            return price(mix)
    return None


def _fits(aligned: list[Ask], others: list[Ask], nodes: list[Cells]) -> bool:
    """Give each aligned pod a NUMA node; the others live by the sums of what is left of nodes."""
    if not aligned:
        return _summed(others, [_sums(cells) for cells in nodes])
    milli, gib, _ = aligned[0]
    for at, cell in _places(nodes):
        cpus, memory = nodes[at][cell]
        if milli <= cpus and gib <= memory:
            after = list(nodes[at])
            after[cell] = (cpus - milli, memory - gib)
            if _fits(aligned[1:], others, [*nodes[:at], tuple(after), *nodes[at + 1 :]]):
                return True
    return False


def _places(nodes: list[Cells]) -> Iterator[tuple[int, int]]:
    """Yield NUMA nodes, of equal ones on equal nodes the first."""
    seen: set[object] = set()
    for at, cells in enumerate(nodes):
        for cell, left in enumerate(cells):
            key = left, tuple(sorted(Counter(cells).items()))
            if key not in seen:
                seen.add(key)
                yield at, cell


def _sums(cells: Cells) -> tuple[int, int]:
    return sum(milli for milli, _ in cells), sum(gib for _, gib in cells)


def _summed(asks: list[Ask], left: list[tuple[int, int]]) -> bool:
    if not asks:
        return True
    milli, gib, _ = asks[0]
    for at in {one: i for i, one in enumerate(left)}.values():
        cpus, memory = left[at]
        rest = [*left[:at], (cpus - milli, memory - gib), *left[at + 1 :]]
        if milli <= cpus and gib <= memory and _summed(asks[1:], rest):
            return True
    return False


@pytest.mark.parametrize("batch", range(BATCHES))
def test_plans_for_numa_nodes_cost_what_brute_force_pays(batch: int) -> None:
    """
    100 worlds: the same price, the same worlds without a plan, and the bound is the price, which
    the sums of nodes alone would not show.
    """
    for seed in range(batch * EACH, (batch + 1) * EACH):
        question, insides, asks = _world(seed)

        check_proven(_cheapest(question, insides, asks), question, f"world {seed}")
