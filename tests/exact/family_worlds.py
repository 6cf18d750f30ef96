"""The worlds of each family that are held against brute force: its words are always on in them."""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from exact_checks import MakeWorld
from features.affinity import affinity_instance, wide_instance
from features.amplification import amplified
from features.bound import bound_instance
from features.burst import burst_instance
from features.core_kinds import kinds_instance
from features.defaults import defaults_instance
from features.device_choice import choosing_instance
from features.device_strategy import strategy_instance as device_strategy_instance
from features.emptied_pools import emptied_instance
from features.exclusivity import apart_instance
from features.extended import with_extended
from features.functions import function_instance
from features.host_ports import with_host_ports
from features.in_node_affinity import in_node_affinity_instance
from features.joint import joint_instance
from features.localities import locality_instance
from features.max_pods import with_max_pods
from features.mig import mig_instance
from features.misfits import with_breaches
from features.network import network_instance
from features.node_affinity import with_node_affinity
from features.node_binds import node_bind_instance
from features.numa import container_instance, paged_instance
from features.numa_strategy import even_instance
from features.numa_strategy import strategy_instance as numa_strategy_instance
from features.opened import with_offers
from features.partitions import partitioned
from features.quantities import quantity_instance
from features.shares import sharing_instance
from features.switches import switch_instance
from features.taints import with_taints
from features.topology_spread import spread_instance
from features.unpooled import with_unpooled
from features.variants import variants_instance
from mixed_worlds import mixed_instance
from moving_worlds import crowded_instance, mixed_moving_instance, moving_instance, tied_instance
from placer_models.cluster import Instance
from worlds import tiny_instance

SLOW_START = 10_000
"""The slow suite looks at other worlds than the gate."""


@dataclass(frozen=True, slots=True)
class FamilyWorlds:
    """Worlds of one kind, and how many of them.

    Attributes:
        make: Makes one.
        gate: How many batches of how many worlds the gate, with `check`, looks at.
        slow: The same of the slow suite.
        check: The same of others that `check` looks at, and the seed of the first one.
        start: The seed of the gate's first one.
        slow_start: The seed of the slow suite's first one.

    """

    make: MakeWorld
    gate: tuple[int, int] = (10, 10)
    slow: tuple[int, int] = (10, 100)
    check: tuple[int, int, int] = (0, 0, 0)
    start: int = 0
    slow_start: int = SLOW_START


def _dressed(dress: Callable[[Random, Instance], Instance], name: str) -> MakeWorld:
    """Return what draws a tiny instance and dresses it in the words of a family."""
    return lambda seed: dress(Random(f"{name}-{seed}"), tiny_instance(seed))


def offered_moving_world(seed: int) -> Instance:
    """Draw nodes, some of them offered, where small pods run in the way of large ones."""
    drawn = tied_instance if seed % 3 == 0 else moving_instance
    return with_offers(Random(f"offered-moves-{seed}"), drawn(seed))


def leaving_instance(seed: int) -> Instance:
    """Draw a world with moves, in which running pods are in breach of any rule."""
    instance = (crowded_instance if seed % 2 else tied_instance)(seed)
    return with_breaches(Random(f"leaving-{seed}"), instance)


def mixed_leaving_instance(seed: int) -> Instance:
    """Draw the same among the words of all families."""
    return with_breaches(Random(f"mixed-leaving-{seed}"), mixed_moving_instance(seed))


def _unpooled(rng: Random, instance: Instance) -> Instance:
    return with_unpooled(rng, amplified(rng, instance) if rng.random() < 0.5 else instance)


extended_world = _dressed(with_extended, "extended")
offered_world = _dressed(with_offers, "offers")

FAMILIES = {
    "tiny": FamilyWorlds(tiny_instance, (10, 30), (20, 100)),
    "all families mixed": FamilyWorlds(mixed_instance, (10, 30), (20, 100)),
    "affinity": FamilyWorlds(affinity_instance, (5, 20), (5, 200)),
    "affinity by zones": FamilyWorlds(wide_instance, (5, 20), (5, 200)),
    "amplified CPUs": FamilyWorlds(_dressed(amplified, "amplified")),
    "bound pods": FamilyWorlds(bound_instance, (6, 3)),
    "containers on NUMA nodes": FamilyWorlds(container_instance),
    "ConstrainedBurst": FamilyWorlds(burst_instance),
    "core kinds": FamilyWorlds(kinds_instance, slow=(20, 50)),
    "defaults": FamilyWorlds(defaults_instance, (20, 5)),
    "device strategies": FamilyWorlds(device_strategy_instance, start=100),
    "devices chosen": FamilyWorlds(
        choosing_instance, (4, 4), (4, 500), (4, 40, 1_000), slow_start=20_000
    ),
    "emptied pools": FamilyWorlds(emptied_instance, (10, 6)),
    "even NUMA nodes": FamilyWorlds(even_instance, slow=(20, 50)),
    "exclusivity": FamilyWorlds(apart_instance),
    "extended resources": FamilyWorlds(extended_world),
    "host ports": FamilyWorlds(_dressed(with_host_ports, "host-ports")),
    "hugepages": FamilyWorlds(paged_instance),
    "in-node affinity": FamilyWorlds(in_node_affinity_instance),
    "joint devices": FamilyWorlds(joint_instance),
    "localities": FamilyWorlds(locality_instance, slow=(20, 50)),
    "max-pods": FamilyWorlds(_dressed(with_max_pods, "max-pods")),
    "MIG": FamilyWorlds(mig_instance, (0, 0), check=(4, 25, 0)),
    "misfits that may move": FamilyWorlds(leaving_instance, (0, 0), (10, 30), (10, 6, 5_000)),
    "misfits, all families mixed": FamilyWorlds(mixed_leaving_instance, (0, 0), (10, 30)),
    "moves": FamilyWorlds(moving_instance),
    "moves of gangs": FamilyWorlds(tied_instance),
    "moves, all families mixed": FamilyWorlds(mixed_moving_instance, (5, 20), (10, 30)),
    "network": FamilyWorlds(network_instance, (5, 20), (5, 200)),
    "node affinity": FamilyWorlds(_dressed(with_node_affinity, "node-affinity")),
    "node binds": FamilyWorlds(node_bind_instance, slow=(20, 50)),
    "NUMA strategies": FamilyWorlds(numa_strategy_instance, slow=(20, 50)),
    "offers": FamilyWorlds(offered_world),
    "offers and moves": FamilyWorlds(offered_moving_world, (5, 20), (10, 50)),
    "partitions": FamilyWorlds(partitioned, (4, 25)),
    "quantities": FamilyWorlds(
        quantity_instance, (4, 10), (4, 500), (4, 40, 10_000), slow_start=20_000
    ),
    "shares": FamilyWorlds(sharing_instance, slow_start=20_000),
    "switches": FamilyWorlds(switch_instance, (20, 5)),
    "taints": FamilyWorlds(_dressed(with_taints, "taints"), (10, 6)),
    "topology spread": FamilyWorlds(spread_instance, (5, 12), (5, 200)),
    "unpooled CPUs": FamilyWorlds(_dressed(_unpooled, "unpooled"), (10, 5), (10, 50)),
    "variants": FamilyWorlds(variants_instance, start=100),
    "virtual functions": FamilyWorlds(function_instance, (4, 25)),
}
