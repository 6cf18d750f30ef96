"""Running pods in breach of a policy: the rest is placed around them, as by brute force."""

from collections.abc import Callable
from random import Random

import pytest

from exact_checks import check_worlds
from features.misfits import with_breaches, with_misfits
from moving_worlds import crowded_instance, mixed_moving_instance, tied_instance
from placer.judge.misfits import misfits_of
from placer_models.cluster import Instance


def misfit_instance(seed: int) -> Instance:
    """Draw a world with moves, in which CPUs of owners are reserved and pools too full."""
    return with_misfits(Random(f"misfits-{seed}"), tied_instance(seed))


@pytest.mark.parametrize("batch", range(10))
def test_worlds_with_misfits_are_solved_as_by_brute_force(batch: int) -> None:
    """
    On 100 worlds, most of them with running pods that could not come to where they are.
    """
    assert any(misfits_of(misfit_instance(seed)) for seed in range(batch, batch + 100, 10))
    check_worlds(misfit_instance, batch, 10, 10)


def leaving_instance(seed: int) -> Instance:
    """Draw a world with moves, in which running pods are in breach of any rule."""
    instance = (crowded_instance if seed % 2 else tied_instance)(seed)
    return with_breaches(Random(f"leaving-{seed}"), instance)


def mixed_leaving_instance(seed: int) -> Instance:
    """Draw the same among the words of all families."""
    return with_breaches(Random(f"mixed-leaving-{seed}"), mixed_moving_instance(seed))


@pytest.mark.parametrize("batch", range(10))
def test_worlds_in_which_misfits_may_move(batch: int) -> None:
    """
    On 20 worlds, most of them with running pods that break a rule where they are.
    """
    assert any(misfits_of(leaving_instance(seed)) for seed in range(batch, batch + 20))
    check_worlds(leaving_instance, batch, 10, 2)


@pytest.mark.check
@pytest.mark.parametrize("batch", range(10))
def test_more_worlds_in_which_misfits_may_move(batch: int) -> None:
    """
    The same on 60 others.
    """
    check_worlds(leaving_instance, 5_000 + batch, 10, 6)


@pytest.mark.slow
@pytest.mark.parametrize("make", [leaving_instance, mixed_leaving_instance])
@pytest.mark.parametrize("batch", range(10))
def test_many_worlds_in_which_misfits_may_move(make: Callable[[int], Instance], batch: int) -> None:
    """
    The same on 600 others, half of them with the words of all families.
    """
    check_worlds(make, 10_000 + batch, 10, 30)
