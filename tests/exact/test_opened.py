"""Offered nodes: as few of them are opened as can be, right after all that is placed."""

from dataclasses import replace
from random import Random

import pytest

from exact_checks import check_worlds
from judge.hand import ALL_CPUS, node, placed, pod, put, world
from placer.judge.measure import measure
from placer.search.options import Engine, SolveOptions
from placer.search.solver import solve
from placer_models.cluster import Instance
from placer_models.goals import OPENED
from placer_models.placement import Placed
from placer_models.policy import QosClass
from spices_opened import with_offers
from worlds import tiny_instance

BATCHES = 10


def offered_world(seed: int) -> Instance:
    """Draw a tiny instance in which some nodes are offered."""
    return with_offers(Random(f"offers-{seed}"), tiny_instance(seed))


@pytest.mark.parametrize("batch", range(BATCHES))
def test_worlds_with_offered_nodes_are_solved_as_by_brute_force(batch: int) -> None:
    """
    On 100 worlds the exact engine opens as few nodes as brute force, and proves it.
    """
    check_worlds(offered_world, batch, BATCHES, 10)


@pytest.mark.slow
@pytest.mark.parametrize("batch", range(BATCHES))
def test_many_worlds_with_offered_nodes(batch: int) -> None:
    """
    The same on 1,000 others.
    """
    check_worlds(offered_world, 10_000 + batch, BATCHES, 100)


OFFERS = tuple(replace(node(f"new-{i}"), offered=True) for i in range(4))


def test_a_node_counts_once_something_new_opens_it() -> None:
    """
    Of three offered nodes one is opened, one is open already, and one stays closed.
    """
    nodes = [node("old"), *OFFERS[:3]]
    runner = (pod("r", qos=QosClass.LS), put("r", ALL_CPUS, on="new-1"))
    instance = world(pod("a", 2), pod("b", 2), pod("c", 2), nodes=nodes, running=[runner])
    placement = placed(
        put("a", "0-1", on="old"), put("b", "0-1", on="new-0"), put("c", "0-1", on="new-1")
    )

    assert dict(measure(instance, placement))[OPENED] == 1


@pytest.mark.parametrize("engine", [Engine.GREEDY, Engine.EXACT])
def test_pods_go_where_a_node_is_open_before_another_is_opened(engine: Engine) -> None:
    """
    Eight CPUs each: four pods of 4 CPUs fill the node that is there, and one more.
    """
    pods = [pod(name, 4) for name in "abcd"]
    instance = world(*pods, nodes=[*OFFERS, node("old")])

    answer = solve(instance, SolveOptions(engine=engine, workers=1))

    assert isinstance(answer, Placed)
    assert sum(place.node == "old" for place in answer.placement.pods) == 2
    assert {t.tier: t.value for t in answer.tiers}[OPENED] == 1


def test_all_that_can_be_placed_is_worth_any_number_of_nodes() -> None:
    """
    Four pods of which no two share a node open four nodes; fewer are proven impossible.
    """
    instance = world(*(pod(name, 5) for name in "abcd"), nodes=OFFERS)

    answer = solve(instance, SolveOptions(workers=1))

    assert isinstance(answer, Placed)
    opened = next(t for t in answer.tiers if t.tier == OPENED)
    assert (opened.value, opened.bound, opened.proven) == (4, 4, True)
