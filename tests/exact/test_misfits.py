"""Running pods in breach of a policy: the rest is placed around them, as by brute force."""

from random import Random

import pytest

from exact.family_worlds import leaving_instance
from exact_checks import check_worlds
from features.misfits import with_misfits
from moving_worlds import tied_instance
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


@pytest.mark.parametrize("batch", range(10))
def test_worlds_in_which_misfits_may_move(batch: int) -> None:
    """
    On 20 worlds, most of them with running pods that break a rule where they are.
    """
    assert any(misfits_of(leaving_instance(seed)) for seed in range(batch, batch + 20))
    check_worlds(leaving_instance, batch, 10, 2)
