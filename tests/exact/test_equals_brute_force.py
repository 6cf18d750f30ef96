"""The exact engine finds what trying everything finds, and greedy never more."""

from collections.abc import Iterator
from itertools import count

import pytest

from brute_force import Best, best_placement
from insides import TooManyLeavesError
from placer.judge.breaches import breaches
from placer.judge.measure import better, measure
from placer.search.options import Engine, SolveOptions
from placer.search.solver import solve
from placer_models.cluster import Instance
from placer_models.placement import GaveUp, Infeasible, PartlyPlaced, Placed, Placement
from plain_enumeration import best_vector_plainly
from worlds import tiny_instance

GATE_BATCHES, GATE_WORLDS = 10, 30
SLOW_BATCHES, SLOW_WORLDS = 20, 100
SLOW_START = 10_000
"""The slow suite looks at other worlds than the gate."""


def worlds(start: int, step: int, number: int) -> Iterator[tuple[Instance, Best]]:
    """Yield so many worlds with their best; one too large to try everything is skipped."""
    found = 0
    for seed in count(start, step):
        instance = tiny_instance(seed)
        try:
            best = best_placement(instance)
        except TooManyLeavesError:
            continue
        yield instance, best
        found += 1
        if found == number:
            return


def check_exact(instance: Instance, best: Best) -> None:
    """The status, the tiers and the proof are those of brute force."""
    options = SolveOptions(engine=Engine.EXACT, workers=1, seed=1, time_limit_s=120)
    answer = solve(instance, options)
    waiting = sum(len(gang.pods) for gang in instance.gangs)
    match answer:
        case Placed() | PartlyPlaced():
            assert breaches(instance, answer.placement) == (), instance.name
            assert measure(instance, answer.placement) == best.vector, instance.name
            assert tuple((t.tier, t.value) for t in answer.tiers) == best.vector, instance.name
            assert all(t.proven and t.bound == t.value for t in answer.tiers), instance.name
            assert isinstance(answer, Placed) == (len(best.placement.pods) == waiting)
        case Infeasible():
            assert best.placement == Placement(), instance.name
        case GaveUp():
            pytest.fail(f"{instance.name}: gave up")


def check_greedy(instance: Instance, best: Best) -> None:
    """The answer keeps every rule, and is at most as good as the best."""
    match answer := solve(instance, SolveOptions(engine=Engine.GREEDY, workers=1, seed=1)):
        case Placed() | PartlyPlaced():
            assert breaches(instance, answer.placement) == (), instance.name
            vector = measure(instance, answer.placement)
            assert tuple((t.tier, t.value) for t in answer.tiers) == vector, instance.name
            assert not better(vector, best.vector), instance.name
        case Infeasible():
            assert best.placement == Placement(), instance.name
        case GaveUp():
            pass  # greedy proves nothing


@pytest.mark.parametrize("batch", range(GATE_BATCHES))
def test_tiny_worlds_are_solved_as_by_brute_force(batch: int) -> None:
    """
    On 300 worlds the exact tiers are those of brute force, each one proven; greedy's are
    clean and no better.
    """
    for instance, best in worlds(batch, GATE_BATCHES, GATE_WORLDS):
        check_exact(instance, best)
        check_greedy(instance, best)


@pytest.mark.slow
@pytest.mark.parametrize("batch", range(SLOW_BATCHES))
def test_many_tiny_worlds_are_solved_as_by_brute_force(batch: int) -> None:
    """
    The same on 2,000 other worlds.
    """
    for instance, best in worlds(SLOW_START + batch, SLOW_BATCHES, SLOW_WORLDS):
        check_exact(instance, best)
        check_greedy(instance, best)


def check_brute_force(seeds: range, most_leaves: int) -> int:
    """Compare brute force with the plainest enumeration; return how many worlds it could."""
    compared = 0
    for seed in seeds:
        instance = tiny_instance(seed)
        plainly = best_vector_plainly(instance, most_leaves)
        if plainly is not None:
            assert best_placement(instance).vector == plainly, instance.name
            compared += 1
    return compared


def test_brute_force_is_right() -> None:
    """
    Where the plainest enumeration can be done, its shortcuts change nothing.
    """
    assert check_brute_force(range(200), most_leaves=500) > 30


@pytest.mark.slow
def test_brute_force_is_right_on_larger_worlds() -> None:
    """
    The same with more leaves.
    """
    assert check_brute_force(range(600), most_leaves=10_000) > 200
