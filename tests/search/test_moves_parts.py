"""Moves of running pods where a search goes part by part."""

from dataclasses import replace
from random import Random

import pytest

from exact.family_worlds import offered_moving_world
from exact_checks import MakeWorld, worlds
from judge.hand import node, placed, pod, put, world
from moving_worlds import moving_instance, tied_instance
from placer.judge.breaches import breaches, breaches_of_complete_placement
from placer.judge.measure import are_tier_values_better, measure
from placer.search.budget import SolveBudget
from placer.search.neighbourhoods import NeighbourhoodSearch
from placer.search.options import Engine, SolveOptions
from placer.search.solver import solve
from placer_models.cluster import RunningPod
from placer_models.goals import MOVES, OPENED
from placer_models.moves import with_movable_pods_as_waiting
from placer_models.placement import GaveUp, Infeasible, Placed
from search.by_parts import answer


@pytest.mark.check
@pytest.mark.usefixtures("parts_only")
@pytest.mark.parametrize(
    ("drawn", "count"), [(moving_instance, 25), (tied_instance, 40), (offered_moving_world, 25)]
)
def test_parts_are_never_worse_than_nobody_moving(drawn: MakeWorld, count: int) -> None:
    """
    And within the budget, as the judge sees it whole, and no better than the best there is:
    for pods by themselves, and for members of running gangs, of whom some are beyond a part.
    """
    for instance, best in worlds(drawn, 0, 1, count):
        found = answer(instance, Engine.AUTO)
        greedy = answer(instance, Engine.GREEDY)

        assert breaches(instance, found) == ()
        assert not are_tier_values_better(measure(instance, greedy), measure(instance, found))
        assert not are_tier_values_better(measure(instance, found), best.vector)


@pytest.mark.usefixtures("parts_only")
def test_parts_share_one_budget() -> None:
    """
    Six nodes with a small pod each, and three that want a node: two moves make room for one.
    """
    nodes = [node(f"n{i}") for i in range(6)]
    running = tuple(RunningPod(pod(f"r{i}", 4), put(f"r{i}", "0-3", on=f"n{i}")) for i in range(6))
    waiting = [pod(f"large-{i}", 9) for i in range(3)]
    instance = replace(world(*waiting, nodes=nodes), running=running, move_budget=2)

    found = solve(instance, SolveOptions(workers=1, seed=1, work_limit=60))

    assert not isinstance(found, Placed | Infeasible | GaveUp)
    assert breaches(instance, found.placement) == ()
    values = {t.tier: t.value for t in found.tiers}
    assert values[MOVES] == 2
    assert sum(place.name.startswith("large") for place in found.placement.pods) == 2


@pytest.mark.usefixtures("parts_only")
def test_a_part_knows_that_a_node_is_open_whose_pod_is_elsewhere() -> None:
    """
    Who came to an offered node after its pod had left opened nothing, and saves nothing by leaving.
    """
    nodes = [node("old"), *(replace(node(name), offered=True) for name in ("left", "other"))]
    running = tuple(RunningPod(pod(n, 2), put(n, "0-1", on=n)) for n in ("left", "other"))
    instance = replace(world(pod("a", 4), nodes=nodes), running=running, move_budget=1)
    asked = with_movable_pods_as_waiting(instance, breaches_of_complete_placement)
    start = placed(
        put("a", "0-3", on="left"), put("left", "2-3", on="other"), put("other", "0-1", on="other")
    )
    worth = measure(asked, start)
    search = NeighbourhoodSearch(
        instance=asked,
        placement=start,
        tiers=[tier for tier, _ in worth],
        values=[value for _, value in worth],
        limits=[None] * len(worth),
        budget=SolveBudget(SolveOptions(workers=1, seed=1, work_limit=20)),
        rng=Random(1),
    )
    assert dict(worth)[OPENED] == 0

    search.solve_part({"left", "old"}, [])

    assert tuple(search.values) == tuple(v for _, v in measure(asked, search.placement))
    assert dict(measure(asked, search.placement))[OPENED] == 0
