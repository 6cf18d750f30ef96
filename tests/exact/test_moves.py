"""Running pods that may move: as few as can be, for as much as can be placed."""

from dataclasses import replace

import pytest

from answers import expect
from judge.hand import node, pod, put, world
from moving_worlds import crowded, memory_in_the_way, pinned_crowd, tied_crowd
from placer.search.options import Engine, SolveOptions
from placer.search.solver import solve
from placer_models.cluster import Instance, RunningPod
from placer_models.goals import GATHERING, MOVES, OPENED
from placer_models.network import GangNetworkLevelRule, GangNetworkLevelRuleKind
from placer_models.placement import Infeasible, PartlyPlaced, Placed
from placer_models.policy import RequiredOrPreferred


def exactly(instance: Instance) -> Placed | PartlyPlaced | Infeasible:
    answer = solve(instance, SolveOptions(engine=Engine.EXACT, workers=1, seed=1))
    assert isinstance(answer, Placed | PartlyPlaced | Infeasible)
    return answer


def test_as_many_moves_as_make_room_and_no_more() -> None:
    """
    One move empties the second node: the least, though the budget has three.
    """
    instance = crowded(3)

    answer = expect(Placed, exactly(instance))

    assert {t.tier: t.value for t in answer.tiers}[MOVES] == 1
    ((home, to, mends),) = answer.moves
    assert (home.name, home.node, to.node, mends) == ("c", "m", "n", ())
    assert all(value.proven for value in answer.tiers)


def test_without_a_budget_nobody_moves() -> None:
    """
    The same pod then has no place, and that is proven (G5).
    """
    assert isinstance(exactly(crowded(0)), Infeasible)


def test_who_is_left_out_hears_of_the_budget() -> None:
    """
    Two of the running pods could move and one may; where none can, nothing is said of moves.
    """
    answer = expect(Infeasible, exactly(pinned_crowd(1)))
    (left,) = answer.unplaced
    assert left.reasons[0].startswith("not now")
    assert left.reasons[1] == "moves: of 2 running pods that could move, 1 may"

    answer = expect(Infeasible, exactly(pinned_crowd(0)))
    assert not any("moves" in reason for reason in answer.unplaced[0].reasons)


def test_who_may_not_move_stays() -> None:
    """
    With the one of the second node pinned, two have to leave the first: a budget of one fails.
    """
    assert isinstance(exactly(pinned_crowd(1)), Infeasible)
    answer = expect(Placed, exactly(pinned_crowd(2)))
    assert {t.tier: t.value for t in answer.tiers}[MOVES] == 2


@pytest.mark.parametrize(("most", "placed"), [(3, True), (2, False)])
def test_a_running_gang_spreads_after_the_moves(most: int, placed: bool) -> None:  # a parameter
    """
    The one of the second node joins the two of the first, if three may be there.
    """
    instance = tied_crowd(
        "abc", crowded(3), GangNetworkLevelRule("node", GangNetworkLevelRuleKind.SPREAD, count=most)
    )

    assert isinstance(exactly(instance), Placed) is placed


@pytest.mark.parametrize(("tied", "placed"), [("ab", True), ("bc", False)])
def test_a_running_gang_gathers_after_the_moves(tied: str, placed: bool) -> None:  # a parameter
    """
    The two of the first node come to the second together, where a third may not move; two
    that are not gathered now, though they should be, stay.
    """
    asked = GangNetworkLevelRule("node", GangNetworkLevelRuleKind.GATHER)
    answer = exactly(tied_crowd(tied, pinned_crowd(2), asked))

    assert isinstance(answer, Placed) is placed
    if isinstance(answer, Placed):
        assert {place.node for place in answer.placement.pods if place.gang == "tied"} == {"m"}
        assert {t.tier: t.value for t in answer.tiers}[MOVES] == 2


def test_wishes_of_a_running_gang_count_where_it_may_move() -> None:
    """
    To be gathered would be nice, and is no reason to move.
    """
    wish = GangNetworkLevelRule(
        "node", GangNetworkLevelRuleKind.GATHER, RequiredOrPreferred.PREFERRED
    )
    instance = replace(crowded(3), gangs=world(pod("small", 1)).gangs)

    answer = expect(Placed, exactly(tied_crowd("bc", instance, wish)))

    values = {t.tier: t.value for t in answer.tiers}
    assert (values[MOVES], values[GATHERING]) == (0, 1)


def test_memory_of_who_stays_stays() -> None:
    """
    It fills a NUMA node though no policy pins it there; making room is a move.
    """
    answer = expect(Placed, exactly(memory_in_the_way()))

    assert {t.tier: t.value for t in answer.tiers}[MOVES] == 1


def test_a_move_saves_a_new_node() -> None:
    """
    A pod that wants a whole node goes to an offered one, or, if one may move, where that was.
    """
    nodes = [node("old-0"), node("old-1"), replace(node("new"), offered=True)]
    running = tuple(
        RunningPod(pod(f"r{i}", 4), put(f"r{i}", "0-3", on=f"old-{i}")) for i in range(2)
    )
    instance = replace(world(pod("a", 9), nodes=nodes), running=running)

    for budget, opened, moves in ((0, 1, 0), (2, 0, 1)):
        answer = expect(Placed, exactly(replace(instance, move_budget=budget)))
        values = {t.tier: t.value for t in answer.tiers}
        assert (values[OPENED], values.get(MOVES, 0)) == (opened, moves)


def test_nobody_moves_for_a_tier_below() -> None:
    """
    A pod on the slow side of a split pair stays there: moves come before links and alignment.
    """
    split = RunningPod(pod("r", 2, gpus=2), put("r", "0-1", gpus=[0, 2]))
    instance = replace(world(pod("a", 1)), running=(split,), move_budget=1)

    answer = expect(Placed, exactly(instance))

    assert {t.tier: t.value for t in answer.tiers}[MOVES] == 0


def test_greedy_moves_nobody() -> None:
    """
    It takes the running pods as they are.
    """
    instance = crowded(3)
    answer = solve(instance, SolveOptions(engine=Engine.GREEDY, workers=1))
    assert not isinstance(answer, Placed)


def test_a_cpu_that_stays_keeps_its_very_thread() -> None:
    """
    Of a core whose second thread a running pod owns, a newcomer gets the first.
    """
    runner = RunningPod(pod("r", 1), put("r", "1"))
    instance = replace(world(pod("a", 8)), running=(runner,), move_budget=1)

    answer = expect(Placed, exactly(instance))

    (place,) = answer.placement.pods
    assert place.cpuset == frozenset({0, 2, 3, 4, 5, 6, 7, 8})
