"""Node strategies (B12, B13): the exact engine finds what trying everything finds."""

from dataclasses import replace

import pytest

from exact_checks import check_worlds
from mixed_worlds import mixed_instance
from placer_models.cluster import Instance
from placer_models.node_strategy import NodeStrategy
from worlds import tiny_instance

GATE_WORLDS = 4
CHECK_BATCHES, CHECK_WORLDS = 2, 30
SLOW_BATCHES, SLOW_WORLDS = 10, 30
SLOW_START = 10_000
"""The slow suite looks at other worlds than the others."""

OTHERS = [strategy for strategy in NodeStrategy if strategy is not NodeStrategy.USABLE]
"""All but the one that every other test of the exact engine has."""


def check(strategy: NodeStrategy, start: int, step: int, number: int) -> None:
    """Hold both engines against brute force, on plain worlds and on those of all rules mixed."""

    def of_two_kinds(seed: int) -> Instance:
        make = tiny_instance if seed // step % 2 else mixed_instance
        return replace(make(seed), strategy=strategy)

    check_worlds(of_two_kinds, start, step, number)


@pytest.mark.parametrize("strategy", OTHERS)
def test_strategies_equal_brute_force(strategy: NodeStrategy) -> None:
    """
    On a few worlds; each tier is proven, but for the variance, which has no bound.
    """
    check(strategy, 5_000, 1, GATE_WORLDS)


@pytest.mark.check
@pytest.mark.parametrize("batch", range(CHECK_BATCHES))
@pytest.mark.parametrize("strategy", OTHERS)
def test_strategies_equal_brute_force_on_more_worlds(strategy: NodeStrategy, batch: int) -> None:
    """
    The same on 60 worlds each.
    """
    check(strategy, batch, CHECK_BATCHES, CHECK_WORLDS)


@pytest.mark.slow
@pytest.mark.parametrize("batch", range(SLOW_BATCHES))
@pytest.mark.parametrize("strategy", OTHERS)
def test_strategies_equal_brute_force_on_many_worlds(strategy: NodeStrategy, batch: int) -> None:
    """
    The same on 300 other worlds each.
    """
    check(strategy, SLOW_START + batch, SLOW_BATCHES, SLOW_WORLDS)
