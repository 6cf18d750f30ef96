"""What the relaxed model says of moves: how few do, and who makes room for whom."""

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from random import Random

import pytest

from answers import expect
from exact_checks import worlds
from judge.hand import node, pod, put, world
from mixed_worlds import mixed
from moving_worlds import moving_instance
from placer.judge.breaches import breaches, breaches_of_complete_placement
from placer.search import joint_search
from placer.search.budget import SolveBudget
from placer.search.exact import trivial_tier_bounds
from placer.search.first_tier_bounds import bound_first_tiers, relaxed_tier_count
from placer.search.options import Engine, SolveOptions
from placer.search.relaxed_moves import MovePart, suggest_moves_by_relaxation
from placer.search.solver import solve
from placer.state.batch import build_problem
from placer_models.cluster import Instance, Node, RunningPod
from placer_models.goals import MOVES, OPENED
from placer_models.moves import with_movable_pods_as_waiting, with_unplaced_at_home
from placer_models.placement import GaveUp, Infeasible, PartlyPlaced, Placed, Placement
from placer_models.pod import Pod


def budget() -> SolveBudget:
    return SolveBudget(SolveOptions(workers=1, seed=1, work_limit=60))


def bounds(instance: Instance, values: list[int]) -> list[int | None]:
    """Return the bounds of what is placed, of new nodes and of moves."""
    asked = with_movable_pods_as_waiting(instance, breaches_of_complete_placement)
    problem = build_problem(asked)
    return bound_first_tiers(problem, values, trivial_tier_bounds(problem), budget())


def parts_of(instance: Instance) -> list[MovePart]:
    asked = with_movable_pods_as_waiting(instance, breaches_of_complete_placement)
    return suggest_moves_by_relaxation(asked, with_unplaced_at_home(asked, Placement()), budget())


def dressed(seed: int) -> Instance:
    return mixed(Random(f"bounded-{seed}"), moving_instance(seed))


def running(name: str, cpus: str, on: str, *, movable: bool = True) -> RunningPod:
    owned = 2 if "-" in cpus else 1
    return RunningPod(pod(name, owned), put(name, cpus, on=on), movable=movable)


def row(count: int, *, alike: bool = True) -> Instance:
    """Return so many nodes with a small pod each, and as many pods that want a node.

    Nodes that are not alike run another small pod, each its own size.
    """
    nodes: list[Node] = [node(f"n{i}") for i in range(count)]
    runners = [running(f"r{i}", "0-1", f"n{i}") for i in range(count)]
    if not alike:
        runners += [running(f"s{i}", "4", f"n{i}") for i in range(0, count, 2)]
    large = [pod(f"large-{i}", 9) for i in range(count)]
    return replace(world(*large, nodes=nodes), running=tuple(runners))


@pytest.mark.check
@pytest.mark.parametrize(
    ("make", "first", "number"),
    [
        (moving_instance, 0, 60),
        (dressed, 400, 40),  # a bound on moves is rare where words of all families meet
        pytest.param(moving_instance, 0, 500, marks=pytest.mark.slow),
        pytest.param(dressed, 0, 500, marks=pytest.mark.slow),
    ],
)
def test_no_world_with_moves_beats_its_relaxed_bound(
    make: Callable[[int], Instance], first: int, number: int
) -> None:
    """
    Nor opens fewer new nodes or moves fewer pods, among placements that place as much.
    """
    moves = 0
    for instance, best in worlds(make, first, 1, number):
        asked = with_movable_pods_as_waiting(instance, breaches_of_complete_placement)
        tiers = best.vector[: relaxed_tier_count(build_problem(asked))]

        found = bounds(instance, [value for _, value in tiers])

        for (tier, value), bound in zip(tiers, found, strict=True):
            assert bound is not None
            assert not tier.better(value, bound), instance.name
            moves += tier == MOVES and bound > 0
    assert moves


@pytest.mark.parametrize("alike", [True, False])
def test_the_budget_bounds_what_is_placed(alike: bool) -> None:  # a parameter
    """
    Each pod that wants a node costs a move where one runs, so a budget of two makes two places.
    """
    for moves, most in ((1, 1), (2, 2), (3, 3)):
        instance = replace(row(6, alike=alike), move_budget=moves)

        assert bounds(instance, [0, 0])[0] == 2 * most


@pytest.mark.parametrize("alike", [True, False])
def test_moves_have_a_bound_for_what_is_placed(alike: bool) -> None:  # a parameter
    """
    So many places cost so many moves at least, however large the budget; where every other
    node runs two pods the fourth place costs two.
    """
    for places, least in ((1, 1), (2, 2), (3, 3)):
        found = bounds(replace(row(6, alike=alike), move_budget=9), [2 * places, 9])

        assert found[1] == least
    assert bounds(replace(row(6, alike=alike), move_budget=9), [8, 9])[1] == (4 if alike else 5)


def test_who_stays_needs_its_room() -> None:
    """
    Two halves of a node that are full move nowhere; one that may not move is not asked.
    """
    full = [
        running(f"r{i}", cpus, on)
        for i, (cpus, on) in enumerate(
            (cpus, on) for on in ("n", "m") for cpus in ("0-1", "2-3", "4-5", "6-7", "8")
        )
    ]
    instance = replace(
        world(pod("a", 1), nodes=[node("n"), node("m")]), running=tuple(full), move_budget=9
    )

    assert bounds(instance, [0, 0])[0] == 0


def test_a_new_node_where_a_pod_runs_is_open_already() -> None:
    """
    Whether the pod stays or leaves, the node is no further one.
    """
    nodes = [node("old"), replace(node("new"), offered=True)]
    instance = replace(
        world(pod("a", 2), nodes=nodes), running=(running("r", "0-1", "new"),), move_budget=1
    )
    asked = with_movable_pods_as_waiting(instance, breaches_of_complete_placement)

    assert build_problem(asked).tiers[1:3] == (OPENED, MOVES)
    assert bounds(instance, [2, 0, 1]) == [2, 0, 0]


def test_parts_exchange_pods() -> None:
    """
    Each part is a node that is emptied, the one that takes what was there, and who waits.
    """
    nodes = [node(f"n{i}") for i in range(4)]
    runners = [running(f"r{i}", "0-1", f"n{i}") for i in range(4)]
    large = [pod(f"large-{i}", 9) for i in range(2)]
    instance = replace(world(*large, nodes=nodes), running=tuple(runners), move_budget=3)

    parts = parts_of(instance)

    assert sorted(gang.name for _, gangs in parts for gang in gangs) == ["large-0", "large-1"]
    assert all(len(names) >= 2 for names, _ in parts)
    for (names, _), (others, _) in pairwise(parts):
        assert names.isdisjoint(others)


def test_members_of_a_gang_are_one_part() -> None:
    """
    So that it is seen whole, wherever its members could go.
    """
    instance = row(5)
    gangs = [replace(instance.gangs[0], name="both", pods=_pair(), minimum=2, lone=False)]

    ((names, (gang,)),) = parts_of(replace(instance, gangs=tuple(gangs), move_budget=4))

    assert gang.name == "both"
    assert len(names) >= 3


def _pair() -> tuple[Pod, ...]:
    return tuple(pod(f"both-{i}", 9) for i in range(2))


@pytest.mark.usefixtures("parts_only")
def test_fewest_moves_are_proven_part_by_part() -> None:
    """
    No two nodes show that three moves are the fewest for three places; the relaxed model does.
    """
    instance = replace(row(7), gangs=row(7).gangs[:3], move_budget=9)

    answer = expect(Placed, solve(instance, SolveOptions(workers=1, seed=1, work_limit=60)))

    assert breaches(instance, answer.placement) == ()
    placed, moves = answer.tiers[:2]
    assert (placed.value, moves.tier, moves.value) == (6, MOVES, 3)
    assert placed.proven
    assert moves.proven


@pytest.mark.usefixtures("parts_only")
def test_a_budget_that_is_spent_is_proven_to_be() -> None:
    """
    Of seven that wait two find a place: as many as two moves can do for.
    """
    answer = solve(replace(row(7), move_budget=2), SolveOptions(workers=1, seed=1, work_limit=60))

    assert isinstance(answer, PartlyPlaced)
    assert [(t.value, t.bound) for t in answer.tiers[:2]] == [(4, 4), (2, 2)]


def scattered_row(seed: int) -> Instance:
    """Draw three to six nodes with pods of a core on some of them, some with a GPU or memory."""
    rng = Random(f"row-{seed}")
    nodes, runners = [], []
    for i in range(rng.randint(3, 6)):
        nodes.append(replace(node(f"n{i}"), offered=rng.random() < 0.15))
        cores = rng.sample([0, 2, 4, 6], 4)
        gpus = rng.sample(range(4), 4)
        for core in cores[: rng.choice((0, 1, 1, 1, 2, 2))]:
            gpu, memory = rng.choice((0, 0, 1)), rng.choice((0, 0, 1))
            place = put(
                f"r{i}-{core}",
                f"{core}-{core + 1}",
                on=f"n{i}",
                gpus=[gpus.pop()] * gpu,
                memory={core // 4: 1} if memory else None,
            )
            asked = pod(place.name, 2, gpus=gpu, memory=memory)
            runners.append(RunningPod(asked, place, movable=rng.random() < 0.9))
    waiting = [
        pod(f"w{i}", rng.choice((4, 6, 8, 9)), gpus=rng.choice((0, 0, 2, 4)))
        for i in range(rng.randint(1, 3))
    ]
    instance = world(*waiting, nodes=nodes)
    return replace(instance, running=tuple(runners), move_budget=rng.randint(1, 4))


@pytest.mark.check
@pytest.mark.parametrize("number", [5, pytest.param(100, marks=pytest.mark.slow)])
def test_what_parts_claim_is_what_one_model_finds(
    number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    What is placed, new nodes, and moves, on rows of nodes that brute force cannot do: no bound
    is beaten, and most of the best are found and proven.
    """
    proven = 0
    for seed in range(number):
        instance = scattered_row(seed)
        best = solve(instance, SolveOptions(engine=Engine.EXACT, workers=1, seed=1))
        with monkeypatch.context() as large:
            for limit in ("FEW_ASSIGNMENTS", "MOST_LINKED_ASSIGNMENTS", "MOST_ASSIGNMENTS"):
                large.setattr(joint_search, limit, 0)
            found = solve(instance, SolveOptions(workers=1, seed=1, work_limit=20))

        if isinstance(best, Infeasible):
            assert isinstance(found, Infeasible | GaveUp)
            continue
        assert isinstance(best, Placed | PartlyPlaced)
        assert isinstance(found, Placed | PartlyPlaced)
        assert breaches(instance, found.placement) == ()
        for claimed, value in zip(found.tiers, best.tiers, strict=True):
            assert claimed.bound is None or not claimed.tier.better(value.value, claimed.bound)
            if claimed.value != value.value:
                assert claimed.tier.better(value.value, claimed.value)
                break
            proven += claimed.tier == MOVES and claimed.proven
    assert proven > number / 2
