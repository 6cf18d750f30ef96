"""Tiny instances whose machines have PCIe switches with GPUs, NICs and virtual functions below."""

from random import Random

from placer_models.cluster import Instance
from spices_functions import spice_functions
from spices_joint import spice_joint
from spices_mig import mig_spice
from spices_moves import spice_moves
from spices_shares import spice as spice_shares
from worlds import tiny_instance


def switch_instance(seed: int) -> Instance:
    """Draw a tiny instance with switches, on which pods want whole devices and shares."""
    rng = Random(f"switches-{seed}")
    instance = spice_joint(rng, tiny_instance(seed))
    for spice, odds in (
        (spice_functions, 0.5),
        (spice_shares, 0.4),
        (mig_spice, 0.15),
        (spice_moves, 0.2),
    ):
        if rng.random() < odds:
            instance = spice(rng, instance)
    return instance
