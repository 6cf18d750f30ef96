"""Tiny instances in which the rules of all families mix."""

from collections.abc import Callable
from random import Random

from placer_models.cluster import Instance
from spices_affinity import with_company_inside, with_some_affinity
from spices_amplification import with_amplification
from spices_burst import spice_burst
from spices_defaults import with_defaults
from spices_device_choice import spice_device_choice
from spices_exclusivity import spice_apart
from spices_extended import with_extended
from spices_functions import spice_functions
from spices_host_ports import with_host_ports
from spices_joint import spice_joint
from spices_max_pods import with_max_pods
from spices_mig import mig_spice
from spices_moves import spice_moves
from spices_network import with_levels
from spices_node_affinity import with_node_affinity
from spices_node_cpus import spice_kinds, spice_localities, spice_node_binds, spice_strategies
from spices_numa import numa_spice
from spices_opened import with_offers
from spices_partitions import partitions
from spices_shares import spice as spice_shares
from spices_strategies import spice_device_strategies
from spices_taints import with_taints
from spices_topology_spread import with_spread
from spices_unpooled import with_unpooled
from worlds import tiny_instance

Spice = Callable[[Random, Instance], Instance]
"""Dresses an instance with the words of one family of rules; may change anything."""

SPICES: tuple[Spice, ...] = (
    with_levels,
    with_some_affinity,
    with_spread,
    spice_node_binds,
    spice_localities,
    spice_strategies,
    spice_kinds,
    spice_joint,
    numa_spice,
    partitions,
    spice_shares,
    with_extended,
    with_max_pods,
    with_node_affinity,
    with_taints,
    spice_apart,
    with_offers,
    mig_spice,
    spice_functions,
    spice_burst,
    spice_device_strategies,
    with_company_inside,
    spice_moves,
    spice_device_choice,
    with_amplification,
    with_unpooled,
    with_defaults,
    with_host_ports,
)
"""One a family."""


def mixed_instance(seed: int) -> Instance:
    """Draw a tiny instance and some families whose words it gets."""
    return mixed(Random(f"mixed-{seed}"), tiny_instance(seed))


def mixed(rng: Random, instance: Instance) -> Instance:
    """Dress an instance with the words of some families."""
    for spice in SPICES:
        if rng.random() < 0.4:
            instance = spice(rng, instance)
    return instance
