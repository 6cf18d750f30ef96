"""Tiny instances in which the rules of all families mix."""

from random import Random

from features import (
    affinity,
    amplification,
    burst,
    core_kinds,
    defaults,
    device_choice,
    device_strategy,
    exclusivity,
    extended,
    functions,
    host_ports,
    in_node_affinity,
    joint,
    localities,
    max_pods,
    mig,
    moves,
    network,
    node_affinity,
    node_binds,
    numa,
    numa_strategy,
    opened,
    partitions,
    shares,
    taints,
    topology_spread,
    unpooled,
    variants,
)
from features.feature import Feature
from placer_models.cluster import Instance
from worlds import tiny_instance

FEATURES: tuple[Feature, ...] = (
    network.FEATURE,
    affinity.FEATURE,
    topology_spread.FEATURE,
    node_binds.FEATURE,
    localities.FEATURE,
    numa_strategy.FEATURE,
    core_kinds.FEATURE,
    joint.FEATURE,
    numa.FEATURE,
    partitions.FEATURE,
    shares.FEATURE,
    extended.FEATURE,
    max_pods.FEATURE,
    node_affinity.FEATURE,
    taints.FEATURE,
    exclusivity.FEATURE,
    opened.FEATURE,
    mig.FEATURE,
    functions.FEATURE,
    burst.FEATURE,
    device_strategy.FEATURE,
    in_node_affinity.FEATURE,
    moves.FEATURE,
    device_choice.FEATURE,
    amplification.FEATURE,
    unpooled.FEATURE,
    defaults.FEATURE,
    host_ports.FEATURE,
    variants.FEATURE,
)
"""In the order in which worlds are dressed; another order would give other worlds for a seed."""


def mixed_instance(seed: int) -> Instance:
    """Draw a tiny instance and some families whose words it gets."""
    return mixed(Random(f"mixed-{seed}"), tiny_instance(seed))


def mixed(rng: Random, instance: Instance) -> Instance:
    """Dress an instance with the words of some families."""
    for feature in FEATURES:
        if rng.random() < 0.4:
            instance = feature.dress(rng, instance)
    return instance
