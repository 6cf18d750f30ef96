"""Tiny instances whose machines have PCIe switches with GPUs, NICs and virtual functions below."""

from random import Random

from features.functions import with_functions
from features.joint import with_joint
from features.mig import with_mig
from features.moves import with_moves
from features.shares import with_shares
from placer_models.cluster import Instance
from worlds import tiny_instance


def switch_instance(seed: int) -> Instance:
    """Draw a tiny instance with switches, on which pods want whole devices and shares."""
    rng = Random(f"switches-{seed}")
    instance = with_joint(rng, tiny_instance(seed))
    for dress, odds in (
        (with_functions, 0.5),
        (with_shares, 0.4),
        (with_mig, 0.15),
        (with_moves, 0.2),
    ):
        if rng.random() < odds:
            instance = dress(rng, instance)
    return instance
