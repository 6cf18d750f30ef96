"""Node strategies (B12, B13): the exact engine finds what trying everything finds."""

from dataclasses import replace

import pytest

import brute_force
import insides
from answers import expect
from brute_force import best_placement
from exact.room_worlds import room_instance
from exact_checks import check_worlds, worlds
from judge.hand import pod, world
from mixed_worlds import mixed_instance
from placer.judge.measure import Worth, measure
from placer.search.options import Engine, SolveOptions
from placer.search.solver import solve
from placer_models.cluster import Instance
from placer_models.forecast import given_or_learned_demand
from placer_models.goals import LEAST_REQUESTED, SPREAD_PAIRS, USABLE, Tier
from placer_models.node_strategy import NodeStrategy
from placer_models.placement import Placed, Placement
from placer_models.pod import pods_of_gangs
from placer_models.policy import QosClass
from worlds import tiny_instance

GATE_WORLDS = 4
CHECK_BATCHES, CHECK_WORLDS = 2, 30
SLOW_BATCHES, SLOW_WORLDS = 10, 30
SLOW_START = 10_000
"""The slow suite looks at other worlds than the others."""

KINDS = {
    strategy: (room_instance,)
    if strategy is NodeStrategy.USABLE
    else (mixed_instance, tiny_instance, room_instance)
    for strategy in NodeStrategy
}
"""What worlds a strategy meets; those of every other test of the exact engine are ``usable``."""


SUMMED = [strategy for strategy in NodeStrategy if strategy is not NodeStrategy.EXPECTED]
"""The strategies whose tiers follow from sums, so that a model states them."""


def check(strategy: NodeStrategy, start: int, step: int, number: int) -> None:
    """Hold both engines against brute force, on worlds of each kind in turn."""
    kinds = KINDS[strategy]

    def of_each_kind(seed: int) -> Instance:
        return replace(kinds[seed // step % len(kinds)](seed), strategy=strategy)

    check_worlds(of_each_kind, start, step, number)


@pytest.mark.parametrize("strategy", SUMMED)
def test_strategies_equal_brute_force(strategy: NodeStrategy) -> None:
    """
    On a few worlds; each tier is proven, but for the variance, which has no bound.
    """
    check(strategy, 5_000, 1, GATE_WORLDS)


@pytest.mark.check
@pytest.mark.parametrize("batch", range(CHECK_BATCHES))
@pytest.mark.parametrize("strategy", SUMMED)
def test_strategies_equal_brute_force_on_more_worlds(strategy: NodeStrategy, batch: int) -> None:
    """
    The same on 60 worlds each.
    """
    check(strategy, batch, CHECK_BATCHES, CHECK_WORLDS)


@pytest.mark.check
def test_expected_pods_cost_no_tier_before_theirs() -> None:
    """
    These are as good as trying everything finds, and theirs is no better than that.
    """

    def world(seed: int) -> Instance:
        instance = replace(tiny_instance(seed), strategy=NodeStrategy.EXPECTED)
        demand = given_or_learned_demand(instance)
        prices = tuple(40_000 * (k % 3) for k in range(len(demand.shapes)))
        return replace(instance, demand=replace(demand, prices=prices, streams=3, length=6))

    check_worlds(world, 5_000, 1, GATE_WORLDS)


@pytest.mark.slow
@pytest.mark.parametrize("batch", range(SLOW_BATCHES))
@pytest.mark.parametrize("strategy", SUMMED)
def test_strategies_equal_brute_force_on_many_worlds(strategy: NodeStrategy, batch: int) -> None:
    """
    The same on 300 other worlds each.
    """
    check(strategy, SLOW_START + batch, SLOW_BATCHES, SLOW_WORLDS)


@pytest.mark.parametrize(
    ("strategy", "tier", "pairs"),
    [(NodeStrategy.SPREAD, SPREAD_PAIRS, 210), (NodeStrategy.LEAST_REQUESTED, LEAST_REQUESTED, 0)],
)
def test_pairs_of_many_pods_are_counted_exactly(
    strategy: NodeStrategy, tier: Tier, pairs: int
) -> None:
    """
    More pods of a node than there are lines below the square of their number: the value is proven.
    """
    pods = [pod(f"p{i}", 0.1 if i else 0.2, qos=QosClass.LS) for i in range(21)]
    instance = replace(world(*pods), strategy=strategy)

    answer = expect(Placed, solve(instance, SolveOptions(engine=Engine.EXACT, workers=1, seed=1)))

    (found,) = (one for one in answer.tiers if one.tier == tier)
    assert found.proven
    assert found.value == (pairs or dict(measure(instance, answer.placement))[tier])


@pytest.mark.check
def test_rooms_decide_many_worlds(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Nobody owns a CPU in them, so rooms are all that is left usable: who would rather have
    less of that places a third of them worse, at least.
    """

    def contrary(instance: Instance, placement: Placement) -> Worth:
        vector = measure(instance, placement)
        return tuple((t, -value if t == USABLE else value) for t, value in vector)

    compared = decided = 0
    for instance, best in worlds(room_instance, 0, 1, 40):
        if any(pod.spec.qos.owns_cpus for pod in pods_of_gangs(instance.gangs)):
            continue
        with monkeypatch.context() as patch:
            patch.setattr(brute_force, "measure", contrary)
            patch.setattr(insides, "measure", contrary)
            placement = best_placement(instance).placement
        compared += 1
        decided += measure(instance, placement) != best.vector

    assert compared > 20
    assert decided > compared / 3
