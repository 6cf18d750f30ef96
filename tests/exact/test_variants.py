"""Variants: exact on tiny worlds, each pod with what it asks for on its node."""

from dataclasses import replace

import pytest

from brute_force import best_placement
from exact_checks import check_worlds
from features.variants import variants_instance
from placer import Infeasible, SolveOptions, solve
from plain_enumeration import best_vector_plainly

GATE_BATCHES, GATE_WORLDS = 10, 10
GATE_START = 100
SLOW_BATCHES, SLOW_WORLDS = 10, 100
SLOW_START = 10_000


@pytest.mark.parametrize("batch", range(GATE_BATCHES))
def test_tiny_worlds_are_solved_as_by_brute_force(batch: int) -> None:
    """
    On 100 worlds whose pods ask for other devices on other nodes.
    """
    check_worlds(variants_instance, GATE_START + batch, GATE_BATCHES, GATE_WORLDS)


@pytest.mark.slow
@pytest.mark.parametrize("batch", range(SLOW_BATCHES))
def test_many_tiny_worlds_are_solved_as_by_brute_force(batch: int) -> None:
    """
    The same on 1,000 others of them.
    """
    check_worlds(variants_instance, SLOW_START + batch, SLOW_BATCHES, SLOW_WORLDS)


@pytest.mark.check
def test_brute_force_is_right_about_variants() -> None:
    """
    The plainest enumeration finds the same.
    """
    compared = 0
    for seed in range(60):
        instance = variants_instance(seed)
        plainly = best_vector_plainly(instance, most_leaves=500)
        if plainly is not None:
            assert best_placement(instance).vector == plainly, instance.name
            compared += 1
    assert compared > 10


def test_without_nodes_nobody_has_a_place() -> None:
    """
    There is no node on which a variant could count.
    """
    drawn = (variants_instance(seed) for seed in range(20))
    instance = next(
        one for one in drawn if any(pod.spec.variants for gang in one.gangs for pod in gang.pods)
    )
    empty = replace(instance, nodes=(), running=())

    assert isinstance(solve(empty, SolveOptions(workers=1)), Infeasible)
