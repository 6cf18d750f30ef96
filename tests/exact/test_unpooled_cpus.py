"""CPUs in no pool: the system's alone, and those that a kubelet has pinned (C5, C6)."""

from random import Random

import pytest

from exact_checks import check_worlds
from features.amplification import amplified
from features.unpooled import with_unpooled
from placer_models.cluster import Instance
from worlds import tiny_instance

BATCHES = 10


def unpooled_world(seed: int) -> Instance:
    """Draw a tiny instance with CPUs that are in no pool."""
    rng = Random(f"unpooled-{seed}")
    instance = tiny_instance(seed)
    return with_unpooled(rng, amplified(rng, instance) if rng.random() < 0.5 else instance)


@pytest.mark.parametrize("batch", range(BATCHES))
def test_worlds_with_unpooled_cpus_are_solved_as_by_brute_force(batch: int) -> None:
    """
    On 50 worlds no pod of a pool has them, and the exact search proves the best.
    """
    check_worlds(unpooled_world, batch, BATCHES, 5)
