"""Offered nodes: as few of them are opened as can be, right after all that is placed."""

from dataclasses import replace

import pytest

from answers import expect
from exact.test_moves import exactly
from judge.hand import ALL_CPUS, node, placed, pod, put, world
from placer.judge.measure import measure
from placer.search.options import Engine, SolveOptions
from placer.search.solver import solve
from placer_models.cluster import RunningPod
from placer_models.goals import MOVES, OPENED
from placer_models.placement import Placed
from placer_models.policy import QosClass

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

    answer = expect(Placed, solve(instance, SolveOptions(engine=engine, workers=1)))

    assert sum(place.node == "old" for place in answer.placement.pods) == 2
    assert {t.tier: t.value for t in answer.tiers}[OPENED] == 1


def test_all_that_can_be_placed_is_worth_any_number_of_nodes() -> None:
    """
    Four pods of which no two share a node open four nodes; fewer are proven impossible.
    """
    instance = world(*(pod(name, 5) for name in "abcd"), nodes=OFFERS)

    answer = expect(Placed, solve(instance, SolveOptions(workers=1)))

    opened = next(t for t in answer.tiers if t.tier == OPENED)
    assert (opened.value, opened.bound, opened.proven) == (4, 4, True)


def runs(name: str, cpus: str, on: str) -> RunningPod:
    """Return a running pod that owns CPUs and may move."""
    place = put(name, cpus, on=on)
    return RunningPod(pod(name, len(place.cpuset)), place)


def test_nobody_leaves_a_node_that_it_has_opened() -> None:
    """
    A pod runs on an offered node and may move. The node is open, so leaving it saves nothing.
    """
    instance = replace(
        world(pod("a", 2), nodes=[node("old"), OFFERS[0]]),
        running=(runs("r", "0-1", "new-0"),),
        move_budget=1,
    )

    answer = expect(Placed, exactly(instance))

    values = {t.tier: (t.value, t.bound, t.proven) for t in answer.tiers}
    assert (values[OPENED], values[MOVES]) == ((0, 0, True), (0, 0, True))
    assert answer.moves == ()


def test_a_node_that_its_pod_leaves_is_open_to_others() -> None:
    """
    A large pod has room only where a small one runs, on an offered node; the small one moves to
    another such node. Both are open. A third that nobody was on would be opened.
    """
    instance = replace(
        world(pod("large", 9), nodes=OFFERS[:2]),
        running=(runs("r", "0-1", "new-0"), runs("s", "0-1", "new-1")),
        move_budget=1,
    )

    answer = expect(Placed, exactly(instance))

    values = {t.tier: t.value for t in answer.tiers}
    assert (values[OPENED], values[MOVES]) == (0, 1)

    alone = replace(instance, running=instance.running[:1], nodes=OFFERS[:2])
    answer = expect(Placed, exactly(alone))
    values = {t.tier: t.value for t in answer.tiers}
    assert (values[OPENED], values[MOVES]) == (1, 0)


def test_who_leaves_a_node_in_breach_of_a_rule_had_opened_it() -> None:
    """
    The pod ran on CPUs that are reserved by now, and goes; who comes in its place opens nothing.
    """
    worn = replace(OFFERS[0], reserved_cpus=frozenset({0}))
    full = RunningPod(pod("s", 6), put("s", "0-5", on="old"), movable=False)
    instance = replace(
        world(pod("large", 8), nodes=[node("old"), worn]),
        running=(runs("r", "0-1", "new-0"), full),
        move_budget=1,
    )

    answer = expect(Placed, exactly(instance))

    ((home, to, mends),) = answer.moves
    assert (home.name, to.node, mends) == ("r", "old", ("cpu-allocatable",))
    assert {t.tier: t.value for t in answer.tiers}[OPENED] == 0


def test_the_greedy_answer_counts_the_nodes_of_running_pods_as_open() -> None:
    """
    With a budget of moves as without one.
    """
    instance = replace(
        world(pod("a", 2), nodes=[node("old"), OFFERS[0]]),
        running=(runs("r", "0-1", "new-0"),),
    )
    for budget in (0, 1):
        answer = solve(
            replace(instance, move_budget=budget), SolveOptions(engine=Engine.GREEDY, workers=1)
        )
        assert isinstance(answer, Placed)
        assert {t.tier: t.value for t in answer.tiers}[OPENED] == 0
