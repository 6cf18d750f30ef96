"""What a shape can hope for on a node: no less than it gets there, and often just that."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from random import Random
from typing import Any

import numpy as np
import pytest

from greedy import roomy
from greedy.small import Numa, gang, instance, machine, scanned, spec
from mixed_worlds import mixed_instance
from placer.greedy import node_table
from placer.greedy.chooser import choose_keeping_rules_of_others
from placer.greedy.columns import NodeColumnLayout, Numbers
from placer.greedy.cost_bound import TierCostLowerBoundsByNode
from placer.greedy.gather import gather_on_one_node
from placer.greedy.node_rows import NodeRows
from placer.greedy.node_strategy import usable_node_points
from placer.greedy.node_table import GreedyNodeTable
from placer.greedy.offer import PricedChoice
from placer.state.batch import build_problem
from placer_models.node_strategy import NodeStrategy
from placer_models.pod import Gang, PodSpec
from placer_models.policy import AlignmentPolicy, BindPolicy, QosClass
from placer_models.problem.node_state import NodeState
from worlds import tiny_instance

WORLDS = 100
"""Of each kind; many thousands were drawn by hand."""

ROOMY = 5
"""Batches of five half full real machines; the same."""


STRATEGY_WORLDS = 12
"""Of each strategy."""

OTHERS = [strategy for strategy in NodeStrategy if strategy is not NodeStrategy.USABLE]
"""All but the one of every other test here."""


class Looked:
    """The nodes of a table, in numbers."""

    def __init__(self, table: GreedyNodeTable) -> None:
        """Look at the table as nothing is placed yet."""
        self._table = table
        self._columns = NodeColumnLayout.of(table.problem)
        self._largest: Numbers = self._rows().numbers.max(axis=1, initial=0)

    def bound(self, node: int, *shapes: int) -> tuple[int, ...] | None:
        """Return what places on the node cost at least; None: there are none."""
        problem, rows = self._table.problem, self._rows().at(np.array([node]))
        wanted = Counter((problem.shapes[shape], problem.fits[shape]) for shape in shapes)
        bound = TierCostLowerBoundsByNode(self._columns, wanted.items())
        layouts = list(self._left())
        terms = bound.terms(rows, layouts)
        if not bound.hosts(rows, terms)[0]:
            return None
        return tuple(bound.costs(rows, terms, self._largest, layouts)[:, 0].tolist())

    def _left(self) -> Iterator[NodeState]:
        for node in range(len(self._table.problem.nodes)):
            yield self._table.left(self._table.state(node))

    def _rows(self) -> NodeRows:
        rows = [self._columns.row_of(left, at) for at, left in enumerate(self._left())]
        return NodeRows.of(self._columns, rows)


def while_pods_come(table: GreedyNodeTable, rng: Random) -> Iterator[None]:
    """Yield while pods are placed in some order; some are taken back at once."""
    yield
    pods = range(len(table.problem.pods))
    for pod in rng.sample(pods, len(pods)):
        mark = table.mark()
        choice = table.find(pod)
        if choice is not None:
            table.take(pod, choice)
            yield
        if rng.random() < 0.2:
            table.undo(mark)


@pytest.mark.parametrize("batch", range(ROOMY))
def test_no_place_on_a_real_machine_costs_less(batch: int) -> None:
    """
    Neither for one pod nor, all told, for two that come to a node together.
    """
    for seed in range(5 * batch, 5 * (batch + 1)):
        check_on_a_real_machine(seed)


def check_on_a_real_machine(seed: int) -> None:
    """Compare the bound with what one pod, and two together, would cost on each node."""
    table = GreedyNodeTable(build_problem(roomy.instance(seed)))
    looked = Looked(table)
    shapes = range(len(table.problem.shapes))
    rng = Random(seed)
    for _ in while_pods_come(table, rng):
        for node in range(len(table.problem.nodes)):
            state = table.state(node)
            for shape in shapes:
                bid = table.bid(shape, state)
                other = rng.choice(shapes)
                next_bid = table.bid(other, bid.state) if bid else None
                if bid is None:
                    continue
                alone = looked.bound(node, shape)
                assert alone is not None
                assert alone <= (*bid.price, table.spare(bid.state))
                if next_bid is not None:
                    both = looked.bound(node, shape, other)
                    assert both is not None
                    *priced, _ = map(sum, zip(bid.price, next_bid.price, strict=True))
                    lost = usable_node_points(table.left(state)) - usable_node_points(
                        table.left(next_bid.state)
                    )
                    assert both <= (*priced, lost, table.spare(next_bid.state))


@pytest.mark.parametrize("seed", range(WORLDS))
def test_no_place_costs_less(seed: int) -> None:
    """
    In tiny worlds, with and without the words of all families, for every shape on every node.
    """
    for world in (tiny_instance(seed), mixed_instance(seed)):
        table = GreedyNodeTable(build_problem(world))
        looked = Looked(table)
        for _ in while_pods_come(table, Random(seed)):
            for shape in range(len(table.problem.shapes)):
                for node in range(len(table.problem.nodes)):
                    bid = table.bid(shape, table.state(node))
                    least = looked.bound(node, shape)
                    if bid is not None:
                        assert least is not None
                        assert least <= (*bid.price, table.spare(bid.state))


@pytest.mark.parametrize("strategy", OTHERS)
def test_no_place_costs_less_by_any_strategy(strategy: NodeStrategy) -> None:
    """
    In worlds of both kinds, for one pod and for two that come to a node together.
    """
    for seed in range(STRATEGY_WORLDS):
        make = tiny_instance if seed % 2 else mixed_instance
        table = GreedyNodeTable(build_problem(replace(make(seed), strategy=strategy)))
        looked = Looked(table)
        rng = Random(seed)
        shapes = range(len(table.problem.shapes))
        for _ in while_pods_come(table, rng):
            for shape, node in product(shapes, range(len(table.problem.nodes))):
                bid = table.bid(shape, table.state(node))
                if bid is None:
                    continue
                assert (alone := looked.bound(node, shape)) is not None
                assert alone <= (*bid.price, table.spare(bid.state))
                next_bid = table.bid(other := rng.choice(shapes), bid.state)
                if next_bid is not None:
                    assert (both := looked.bound(node, shape, other)) is not None
                    priced = map(sum, zip(bid.price, next_bid.price, strict=True))
                    assert both <= (*priced, table.spare(next_bid.state))


@pytest.mark.parametrize("seed", range(WORLDS))
def test_the_best_node_is_found_without_looking_into_all(seed: int) -> None:
    """
    In the same worlds, where nobody minds who is beside whom: what is found, and took a look
    at some nodes alone, costs what asking every node says is the least.
    """
    others = [replace(tiny_instance(seed), strategy=OTHERS[seed % len(OTHERS)])]
    for world in (tiny_instance(seed), mixed_instance(seed), *others):
        problem = build_problem(world)
        table, asked = GreedyNodeTable(problem), GreedyNodeTable(problem)
        if table.affinity is not None:
            continue
        for pod in Random(seed).sample(range(len(problem.pods)), len(problem.pods)):
            least = scanned(asked, problem, pod)
            choice = table.find(pod)
            assert (choice is None) is (least is None)
            if choice is not None:
                bid = table.bid(problem.pods[pod], table.state(choice.node))
                assert bid is not None
                assert (*bid.price, table.spare(bid.state)) == least
                table.take(pod, choice)
                asked.take(pod, choice)


SMT = Numa(cores=(2,) * 16, memory_bytes=64, gpus=4)
KINDS = {
    "shared": spec(3, qos=QosClass.LS),
    "whole cores": spec(8),
    "whole cores and a thread": spec(7),
    "threads apart": spec(8, bind=BindPolicy.SPREAD_BY_PCPUS),
    "required": spec(8, bind=BindPolicy.FULL_PCPUS, required=True),
    "one NUMA node": spec(8, gpus=1, alignment=AlignmentPolicy.SINGLE_NUMA_NODE),
    "few NUMA nodes": spec(8, gpus=2, alignment=AlignmentPolicy.BEST_EFFORT),
    "GPUs": spec(2, gpus=4, qos=QosClass.LS),
}


def crowded(
    *gangs: Gang, strategy: NodeStrategy = NodeStrategy.USABLE
) -> tuple[GreedyNodeTable, range]:
    """Return 60 nodes that pods have made all different, and the pods of the gangs."""
    others = [
        spec(1 + i % 5, gpus=i % 3, memory_bytes=1 + i % 7, bind=bind)
        for i, bind in enumerate([BindPolicy.DEFAULT, BindPolicy.SPREAD_BY_PCPUS] * 60)
    ]
    crowd = [gang(f"old-{i}", each) for i, each in enumerate(others)]
    asked = replace(instance([machine(SMT, SMT)] * 60, *crowd, *gangs), strategy=strategy)
    table = GreedyNodeTable(build_problem(asked))
    rng = Random(0)
    for pod in range(len(crowd)):
        node = rng.randrange(60)
        bid = table.bid(table.problem.pods[pod], table.state(node))
        if bid is not None:
            table.take(pod, bid.choice.on(node))
    assert len({table.state(node) for node in range(60)}) > 45
    return table, range(len(crowd), len(table.problem.pods))


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[NodeState]:
    """The nodes into which tables look from here on, for a place for one pod."""
    into: list[NodeState] = []

    def look(node: NodeState, *asked: Any) -> PricedChoice | None:
        into.append(node)
        return choose_keeping_rules_of_others(node, *asked)

    monkeypatch.setattr(node_table, "choose_keeping_rules_of_others", look)
    return into


@pytest.mark.parametrize("kind", list(KINDS.values()), ids=list(KINDS))
def test_few_nodes_are_looked_into(kind: PodSpec, looks: list[NodeState]) -> None:
    """
    Of 60 nodes that all differ, for one pod at most 3 are: the bound is close.
    """
    table, (pod,) = crowded(gang("new", kind))
    before = len(looks)

    assert table.find(pod) is not None

    assert len(looks) - before <= 3


@pytest.mark.parametrize("strategy", OTHERS)
def test_few_nodes_are_looked_into_by_any_strategy(
    strategy: NodeStrategy, looks: list[NodeState]
) -> None:
    """
    The same for pods of all kinds together, of which at most 2 are for each.
    """
    table, pods = crowded(*(gang(n, kind) for n, kind in KINDS.items()), strategy=strategy)
    before = len(looks)

    assert all(table.find(pod) is not None for pod in pods)

    assert len(looks) - before <= 2 * len(pods)


@pytest.mark.parametrize("seed", range(20))
def test_a_gang_gathers_where_it_would_if_all_nodes_were_looked_into(
    seed: int, looks: list[NodeState], monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    What nodes promise to all members together saves looks, and changes nothing.
    """
    rng = Random(seed)
    members = [rng.choice(list(KINDS.values())) for _ in range(rng.randint(2, 4))]
    table, pods = crowded(gang("new", *members, gathered=True))
    before = len(looks)
    found = gather_on_one_node(table, pods, len(pods))
    few = len(looks) - before

    monkeypatch.setattr(GreedyNodeTable, "nodes_by_bound", lambda *_: ([], []))
    plain, pods = crowded(gang("new", *members, gathered=True))
    before = len(looks)

    assert gather_on_one_node(plain, pods, len(pods)) == found
    assert len(found) == len(members)
    assert few * 2 < len(looks) - before
