"""The engines held against brute force, on worlds of any generator."""

from collections.abc import Callable, Iterable, Iterator
from itertools import count

import pytest

from brute_force import Best, best_placement
from leaves import TooManyLeavesError
from placer.judge.breaches import breaches
from placer.judge.measure import are_tier_values_better, measure
from placer.search.options import Engine, SolveOptions
from placer.search.solver import solve
from placer_models.cluster import Instance
from placer_models.goals import EXPECTED, UNBOUNDED
from placer_models.placement import GaveUp, Infeasible, PartlyPlaced, Placed
from plain_enumeration import best_vector_plainly

MakeWorld = Callable[[int], Instance]
"""Seed -> a tiny instance."""


def check_worlds(make: MakeWorld, start: int, step: int, number: int) -> None:
    """Both engines, on so many worlds that brute force can do."""
    for instance, best in worlds(make, start, step, number):
        check_exact(instance, best)
        check_greedy(instance, best)


def worlds(make: MakeWorld, start: int, step: int, number: int) -> Iterator[tuple[Instance, Best]]:
    """Yield so many worlds with their best; one too large to try everything is skipped."""
    found = 0
    for seed in count(start, step):
        instance = make(seed)
        try:
            best = best_placement(instance)
        except TooManyLeavesError:
            continue
        yield instance, best
        found += 1
        if found == number:
            return


def brute_force_is_right(instances: Iterable[Instance], most_leaves: int) -> int:
    """Hold brute force against the plainest enumeration; return how often that can be done."""
    compared = 0
    for instance in instances:
        plainly = best_vector_plainly(instance, most_leaves)
        if plainly is not None:
            assert best_placement(instance).vector == plainly, instance.name
            compared += 1
    return compared


def check_exact(instance: Instance, best: Best) -> None:
    """The status, the tiers and the proof are those of brute force."""
    options = SolveOptions(engine=Engine.EXACT, workers=1, seed=1, time_limit_s=120)
    answer = solve(instance, options)
    waiting = {pod.key for gang in instance.gangs for pod in gang.pods}
    placed = {place.key for place in best.placement.pods} & waiting
    match answer:
        case Placed() | PartlyPlaced():
            assert breaches(instance, answer.placement) == (), instance.name
            vector = measure(instance, answer.placement)
            assert tuple((t.tier, t.value) for t in answer.tiers) == vector, instance.name
            if vector[-1][0] == EXPECTED:
                # Improved in parts only: all before it is as good as can be, and it is no better.
                assert vector[:-1] == best.vector[:-1], instance.name
                assert not are_tier_values_better(vector, best.vector), instance.name
            else:
                assert vector == best.vector, instance.name
            for value in answer.tiers:
                bound = None if value.tier in UNBOUNDED else value.value
                known = (bound, bound is not None)
                assert (value.bound, value.proven) == known, instance.name
            assert isinstance(answer, Placed) == (placed == waiting)
        case Infeasible():
            assert not placed, instance.name
        case GaveUp():
            pytest.fail(f"{instance.name}: gave up")


def check_greedy(instance: Instance, best: Best) -> None:
    """The answer keeps every rule, and is at most as good as the best."""
    match answer := solve(instance, SolveOptions(engine=Engine.GREEDY, workers=1, seed=1)):
        case Placed() | PartlyPlaced():
            assert breaches(instance, answer.placement) == (), instance.name
            vector = measure(instance, answer.placement)
            assert tuple((t.tier, t.value) for t in answer.tiers) == vector, instance.name
            assert not are_tier_values_better(vector, best.vector), instance.name
        case Infeasible():
            waiting = {pod.key for gang in instance.gangs for pod in gang.pods}
            assert waiting.isdisjoint(p.key for p in best.placement.pods), instance.name
        case GaveUp():
            pass  # greedy proves nothing
