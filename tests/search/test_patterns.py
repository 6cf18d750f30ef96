"""Pods placed by patterns of whole nodes, and what the patterns prove."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from random import Random

import numpy as np
import pytest

from brute_force import best_vector
from placer.counting.account import accounts_of
from placer.counting.placements import NodeIdAssignmentFailure, realise_choices
from placer.greedy.place import place_greedily
from placer.judge.breaches import breaches
from placer.search import joint_search
from placer.search.budget import SolveBudget
from placer.search.exact import trivial_tier_bounds
from placer.search.options import SolveOptions
from placer.search.patterns.dearest import NodeKnapsackProblem, most_valuable_node_patterns
from placer.search.patterns.placed import PlacedTierChoicesAndBounds, place_by_patterns
from placer.search.solver import solve
from placer.search.sums_bound import bound_by_sums
from placer.state.batch import build_problem
from placer_models.cluster import Instance, Node
from placer_models.placement import PartlyPlaced
from placer_models.pod import Resources
from placer_models.problem.problem import Choices, Problem
from search.exchange_worlds import GIB, asking, gpu_machine, placed_points, share_of_gpu, some_world

WORK = SolveOptions(workers=1, seed=1, work_limit=20)


def never() -> bool:
    return False


def fillings(room: list[int], sizes: list[list[int]], counts: list[int]) -> Iterator[Counter[int]]:
    """Yield every choice of shapes that fits the room."""
    if not counts:
        yield Counter()
        return
    last = len(counts) - 1
    for times in range(counts[last] + 1):
        left = [a - times * b for a, b in zip(room, sizes[last], strict=True)]
        if min(left) < 0:
            return
        for rest in fillings(left, sizes[:last], counts[:last]):
            yield rest + Counter({last: times})


def worth(prices: list[int], pattern: Iterable[int]) -> int:
    return sum(prices[kind] for kind in pattern)


@pytest.mark.parametrize("most", [1, 4, 1000])
@pytest.mark.parametrize("seed", range(60))
def test_dearest_patterns_are_those_that_trying_every_choice_finds(seed: int, most: int) -> None:
    """
    They fit, none beats the bound, and where none had to be dropped the dearest is among them.
    """
    rng = Random(seed)
    room = [rng.randint(0, 12), rng.randint(4, 12)]
    sizes = [[rng.randint(0, 7), rng.randint(1, 7)] for _ in range(rng.randint(1, 6))]
    counts = [rng.randint(0, 3) for _ in sizes]
    prices = [rng.choice((0, rng.randint(1, 900_000))) for _ in sizes]
    choices = list(fillings(room, sizes, counts))
    best = max(worth(prices, one.elements()) for one in choices)
    least = rng.choice((0, best // 2, best, best + 5))
    found = most_valuable_node_patterns(
        NodeKnapsackProblem(np.array(room, float), np.array(sizes, float), np.array(counts)),
        np.array(prices),
        least,
        5,
        most,
        never,
    )
    values = [worth(prices, pattern) for pattern in found.found]

    assert found.bound >= best
    assert values == sorted(values, reverse=True)
    assert all(value > least for value in values)
    assert all(Counter(pattern) in choices for pattern in found.found)
    assert len(set(found.found)) == len(found.found) <= 5
    if most == 1000:
        assert values[:1] == [best] * (best > least)
        # One part of a point more for what is rounded.
        assert found.bound <= max(best, least) + 1


def test_a_bound_holds_where_the_time_ends_at_once() -> None:
    """
    Of 30 shapes five fit a node in any way: what they are worth is known before they are found.
    """
    room = NodeKnapsackProblem(np.array([5.0]), np.ones((30, 1)), np.full(30, 5))
    found = most_valuable_node_patterns(room, np.full(30, 7), 0, 3, 10, lambda: True)

    assert found.bound >= 35
    assert len(found.found) <= 3


def of_few(seed: int, nodes: int, load: float = 1.2) -> Instance:
    """Return nodes that hold about three pods each, of two priorities, and too many pods."""
    rng = Random(seed)
    machine = gpu_machine(2, cpus=16)
    gangs, asked = [], 0
    while asked < load * 16_000 * nodes:
        milli = rng.randint(3_500, 9_000)
        devices = share_of_gpu(rng.choice((100, 60, 30))) if rng.random() < 0.3 else ()
        resources = Resources(milli, rng.randint(10, 40) * GIB, devices=devices)
        priority = 5 if rng.random() < 0.7 else 0
        gangs.append(asking(f"p{len(gangs):03}", resources, priority=priority))
        asked += milli
    return Instance(tuple(Node(f"n{i:02}", machine) for i in range(nodes)), tuple(gangs))


def answered(problem: Problem, start: Choices) -> PlacedTierChoicesAndBounds:
    values = placed_points(problem, start)
    bounds = bound_by_sums(problem, values, trivial_tier_bounds(problem), SolveBudget(WORK)).bounds
    return place_by_patterns(problem, start, values, bounds, SolveBudget(WORK), 1)


def most_points(problem: Problem) -> list[int]:
    """Return what is reached by trying every place of every pod: plain lone pods on few nodes."""
    rooms = [node.amounts for node in problem.nodes]
    asked = [problem.shapes[shape].amounts for shape in problem.pods]
    best = [0] * len(problem.priorities)
    seen = set()

    def place(gang: int, left: tuple[tuple[int, ...], ...], worth: tuple[int, ...]) -> None:
        nonlocal best
        if (gang, left, worth) in seen:
            return
        seen.add((gang, left, worth))
        if gang == len(problem.gangs):
            best = max(best, list(worth))
            return
        of = problem.gangs[gang]
        for i, room in enumerate(left):
            rest = tuple(a - b for a, b in zip(room, asked[of.pods[0]], strict=True))
            if min(rest) >= 0:
                more = tuple(w + 2 * (of.level == at) for at, w in enumerate(worth))
                place(gang + 1, tuple(sorted((*left[:i], rest, *left[i + 1 :]))), more)
        place(gang + 1, left, worth)

    place(0, tuple(sorted(rooms)), tuple(best))
    return best


def tiny(seed: int) -> Instance:
    """Return two nodes, and nine plain pods, of which few go together."""
    rng = Random(seed)
    machine = gpu_machine(0, cpus=16)
    gangs = tuple(
        asking(
            f"p{i}",
            Resources(rng.randint(3_000, 9_000), rng.randint(8, 40) * GIB),
            priority=rng.choice((0, 5)),
        )
        for i in range(9)
    )
    return Instance((Node("a", machine), Node("b", machine)), gangs)


@pytest.mark.parametrize("seeds", [range(12), pytest.param(range(12, 300), marks=pytest.mark.slow)])
def test_patterns_reach_what_trying_everything_does(seeds: range) -> None:
    """
    No bound is below it, and what is proposed reaches it; so nearly all is proven.
    """
    proven = 0
    for seed in seeds:
        problem = build_problem(tiny(seed))
        start = place_greedily(problem)
        found = answered(problem, start)
        best = most_points(problem)
        reached = placed_points(problem, found.choices or start)

        assert found.bounds[0] is not None
        assert found.bounds[0] >= best[0]
        assert reached == best, seed
        assert placed_points(problem, start) <= reached
        proven += found.bounds == best

    assert proven > 0.6 * len(seeds)


def asking_no(resource: str, instance: Instance) -> Instance:
    """Return the instance with pods that ask for nothing of CPUs or memory."""
    words = {"cpu": "cpu_milli", "memory": "memory_bytes"}
    gangs = []
    for gang in instance.gangs:
        (pod,) = gang.pods
        (container,) = pod.spec.containers
        requests = replace(container.requests, **{words[resource]: 0})
        spec = replace(pod.spec, containers=(replace(container, requests=requests),))
        gangs.append(replace(gang, pods=(replace(pod, spec=spec),)))
    return replace(instance, gangs=tuple(gangs))


def test_what_binds_gives_the_bound_alone_and_nothing_of_it_can_go() -> None:
    """
    With pods that ask for nothing else, trying everything finds no more; without what
    binds, patterns promise more.
    """
    named = []
    for seed in range(60):
        world = tiny(seed)
        problem = build_problem(world)
        found = answered(problem, place_greedily(problem))
        bound, binds = found.bounds[0], {one.resource for one in found.binds[0]}
        assert bound is not None
        if not binds:
            continue  # Sums say as much.
        named.append(binds)
        for resource in ("cpu", "memory"):
            fewer = build_problem(asking_no(resource, world))
            if resource in binds:
                more = answered(fewer, place_greedily(fewer)).bounds[0]
                assert more is not None
                assert more > bound, seed
            else:
                assert most_points(fewer)[0] <= bound, seed

    assert {"cpu", "memory"} in named
    assert any(len(binds) == 1 for binds in named)


@pytest.mark.parametrize(
    "seeds", [range(30), pytest.param(range(30, 1000), marks=pytest.mark.slow)]
)
def test_what_patterns_propose_keeps_the_rules_of_all_families(seeds: range) -> None:
    """
    In worlds where all rules mix, from nothing placed.
    """
    legal = 0
    for seed in seeds:
        world = some_world(seed)
        problem = build_problem(world)
        found = answered(problem, {})
        if found.choices is not None:
            placement = realise_choices(world, accounts_of(world), problem, found.choices)

            assert not isinstance(placement, NodeIdAssignmentFailure), seed
            assert not breaches(world, placement), seed
            assert placed_points(problem, found.choices) > [0] * len(problem.priorities)
            legal += 1

    assert legal > len(seeds) / 6


PATTERNS_SAY_MORE = (30, 47, 54, 82, 110, 118, 145, 206, 218, 225, 229, 231, 245, 262, 270)
"""Worlds whose pods are counted by patterns."""


@pytest.mark.parametrize("seed", PATTERNS_SAY_MORE)
def test_nothing_beats_the_bound_of_patterns(seed: int) -> None:
    """
    Not what brute force finds, level by level, in worlds with words of all families.
    """
    world = some_world(seed)
    problem = build_problem(world)
    levels = len(problem.priorities)
    start = place_greedily(problem)
    # One pod more than there is.
    wide = [value + 2 for value in trivial_tier_bounds(problem)[:levels] if value is not None]
    found = place_by_patterns(
        problem, start, placed_points(problem, start), wide, SolveBudget(WORK), 1
    )

    assert found.bounds != wide
    reached = placed_points(problem, found.choices or start)
    for bound, at, most in zip(found.bounds, reached, best_vector(world), strict=False):
        assert bound is not None
        assert bound >= most
        if at < most:
            break  # Later bounds are for those that are as good here.


def test_where_few_pods_share_a_node_patterns_prove_what_sums_cannot() -> None:
    """
    Twelve nodes, three pods each: sums promise more than patterns do, and that is reached.
    """
    for seed in range(6):
        problem = build_problem(of_few(seed, nodes=12))
        start = place_greedily(problem)
        values = placed_points(problem, start)
        sums = bound_by_sums(
            problem, values, trivial_tier_bounds(problem), SolveBudget(WORK)
        ).bounds
        found = place_by_patterns(problem, start, values, sums, SolveBudget(WORK), 1)
        reached = placed_points(problem, found.choices or start)

        assert values < reached == found.bounds
        assert found.bounds < sums


def test_equal_seeds_propose_equal_places() -> None:
    """
    Under a work limit nothing depends on how fast the machine is.
    """
    problem = build_problem(of_few(3, nodes=8))
    start = place_greedily(problem)

    assert answered(problem, start) == answered(problem, start)


def test_a_proposal_that_is_rejected_proves_nothing_of_later_levels(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """
    The bound of the low priority holds for as many high pods as were proposed, not for fewer.
    """
    world = of_few(1, nodes=4)
    monkeypatch.setattr(joint_search.JointSearch, "_propose", lambda self, choices: False)
    answer = solve(world, SolveOptions(workers=1, seed=1, work_limit=1))
    monkeypatch.undo()
    best = solve(world, SolveOptions(workers=1, seed=1, work_limit=20))

    assert isinstance(answer, PartlyPlaced)
    assert isinstance(best, PartlyPlaced)
    for mine, true in zip(answer.tiers[:2], best.tiers[:2], strict=True):
        assert mine.bound is None or mine.bound >= true.value
        if mine.value != true.value:
            break
