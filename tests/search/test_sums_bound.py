"""Bounds by sums over all nodes: never below what can be reached."""

import pytest

from brute_force import best_vector
from leaves import TooManyLeavesError
from placer.greedy.place import place_greedily
from placer.search.budget import SolveBudget
from placer.search.options import SolveOptions
from placer.search.sums_bound import bound_by_sums
from placer.state.batch import build_problem
from placer_models.cluster import Instance, Node
from placer_models.pod import Resources
from search.exchange_worlds import asking, gpu_machine, placed_points, share_of_gpu, some_world

WORK = SolveOptions(workers=1, seed=1, work_limit=5)


@pytest.mark.parametrize(
    "seeds",
    [
        range(25),
        pytest.param(range(25, 150), marks=pytest.mark.check),
        pytest.param(range(150, 1500), marks=pytest.mark.slow),
    ],
)
def test_nothing_beats_the_bound(seeds: range) -> None:
    """
    Not what brute force finds, level by level, in worlds with words of all families.
    """
    tried = tight = 0
    for seed in seeds:
        world = some_world(seed)
        problem = build_problem(world)
        levels = len(problem.priorities)
        try:
            best = best_vector(world)[:levels]
        except TooManyLeavesError:
            continue
        bounds = bound_by_sums(problem, best, [None] * levels, SolveBudget(WORK)).bounds
        if None in bounds:
            continue  # The pods ask for nothing that could be short.
        greedy = tuple(placed_points(problem, place_greedily(problem)))
        first = bound_by_sums(problem, greedy, [None] * levels, SolveBudget(WORK)).bounds

        assert all(b is not None and b >= v for b, v in zip(bounds, best, strict=True)), seed
        assert first[0] is not None
        assert first[0] >= best[0], seed
        tried += 1
        tight += tuple(bounds) == best

    assert tried > len(seeds) / 2
    assert tight


def test_large_shares_are_counted_as_devices() -> None:
    """
    Four shares of 60 % on three GPUs: 240 % of 300 %, but a GPU has room for one of them.
    """
    gangs = tuple(asking(f"p{i}", Resources(1000, devices=share_of_gpu(60))) for i in range(4))
    problem = build_problem(Instance((Node("n", gpu_machine(3)),), gangs))

    assert bound_by_sums(problem, [6], [None], SolveBudget(WORK)).bounds == [6]
    assert bound_by_sums(problem, [4], [5], SolveBudget(WORK)).bounds == [5]
