"""The tiers: what a placement should be good at, most important first."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple

from placer_models.node_strategy import (
    NodeLoad,
    NodeStrategy,
    in_use,
    mean_scores,
    own_scores,
    pairs,
    variance_scores,
)


class Sense(StrEnum):
    """Which direction is better."""

    MAXIMISE = "maximise"
    MINIMISE = "minimise"


class Tier(NamedTuple):
    """One goal. Tiers are compared in order: a later one never outweighs an earlier."""

    name: str
    unit: str
    sense: Sense

    def better(self, a: int, b: int) -> bool:
        """Return whether value a is strictly better than value b."""
        return a > b if self.sense is Sense.MAXIMISE else a < b


MEMBER_OF_MINIMUM_POINTS = 2
"""Points of each pod of a gang's minimum, given once the minimum is reached."""

MEMBER_ABOVE_POINTS = 1
"""Points of each member above the minimum: fewer, so that other gangs' minimums count more."""

WHOLE_CORE_POINTS = 1
"""Points in ``usable`` of a core of which every thread is free."""

GPU_POINTS = 16
"""Points in ``usable`` of one GPU in one free set; sets of 1, 2, 4 and 8 add up."""

MIG_POINTS = 2
"""Points in ``usable`` of each compute slice of an instance that a GPU in MIG mode could
still be cut into; every usual profile at every start counts by itself."""

SWITCH_POINTS = 8
"""Points in ``usable`` of a PCIe switch with a GPU and another device below it, of which all are
free, or taken by new pods of which one has several devices of a type. Less than a free GPU, so
that fast sets of GPUs say more; more than a core or a room."""

USABLE_SET_SIZES = (1, 2, 4, 8)
"""Sizes of GPU sets that jobs ask for; ``usable`` counts how many are left."""

ROOM_POINTS = 1
"""Points in ``usable`` of each quarter of its node in a free room; rooms of each of
ROOM_QUARTERS add up."""

ROOM_QUARTERS = (1, 2, 4)
"""Sizes of rooms, in quarters of a node's CPUs and memory; ``usable`` counts how many are
left of each."""

OPENED = Tier("opened", "new nodes opened", Sense.MINIMISE)
"""Offered nodes that pods come to: these have to be bought or started (F27)."""

MOVES = Tier("moves", "running pods moved", Sense.MINIMISE)
"""Running pods that get another place, where there is a budget for that (G5)."""

SHARED_CORES = Tier("exclusivity.cores", "shared cores", Sense.MINIMISE)
"""Over cores: new pods on it that count as PCPULevel, less one if no running pod on it
does (C9). A pod that requires the policy is alone there, so only wishes count."""

SHARED_NUMA_NODES = Tier("exclusivity.numa-nodes", "shared NUMA nodes", Sense.MINIMISE)
"""Over NUMA nodes: new pods under NUMANodeLevel with CPUs on it, less one if no running
pod under NUMANodeLevel has CPUs on it (C9)."""

AFFINITY = Tier("affinity", "weight not met", Sense.MINIMISE)
"""Weights of preferred affinities without company, and of each pod that a preferred
anti-affinity meets (C18)."""

TOPOLOGY_SPREAD = Tier("topology-spread", "pods beyond the skew", Sense.MINIMISE)
"""Over preferred constraints, and domains with a new pod that asks for them: pods beyond the
skew. A constraint counts once, however many pods ask for it."""

ALIGNMENT = Tier("alignment", "NUMA nodes beyond the fewest", Sense.MINIMISE)
"""Over pods under BestEffort: NUMA nodes used beyond the fewest that an empty node needs."""

NODE_PREFERENCE = Tier("node-preference", "weight not met", Sense.MINIMISE)
"""Over pods that would like something of their node: the weights of the wishes that it does not
meet, and of its taints that would rather keep them off."""

BIND = Tier("bind", "CPUs against the policy", Sense.MINIMISE)
"""Over pods that own CPUs with a preferred bind policy: CPUs on cores taken against it, beyond
the remainder that cannot be avoided even on the empty node, or of Default with even shares."""

GATHERING = Tier("gathering", "domains and members too many", Sense.MINIMISE)
"""Over gangs that would like to gather or to spread: domains of the level beyond one, and
members of a domain beyond the most. A node without a domain counts as its own domain (G4)."""

PACKAGES = Tier("packages", "packages beyond the fewest", Sense.MINIMISE)
"""Over pods that would like to stay within packages: packages beyond the fewest."""

CACHES = Tier("caches", "caches beyond the fewest", Sense.MINIMISE)
"""Over pods that would like to stay within last-level caches: caches beyond the fewest."""

JOINT = Tier("joint", "groups without every type", Sense.MINIMISE)
"""Over pods that would like devices of several types side by side: PCIe switches or NUMA
nodes that give the pod only some of the types, and devices that are in no such group (D9)."""

PARTITIONS = Tier("partitions", "GPU sets outside partitions", Sense.MINIMISE)
"""Over pods that would like their GPUs to be a partition: those whose GPUs are not (D10)."""

POD_PAIR_MINIMUM = Tier("links.pod-minimum", "0.01 GB/s", Sense.MINIMISE)
"""Tier 4a. Over pods with two or more GPUs: how far the slowest pair of the pod's GPUs falls
short of the slowest pair of the best equal-sized set on the best empty machine for it."""

POD_PAIR_SUM = Tier("links.pod-sum", "0.01 GB/s", Sense.MINIMISE)
"""Tier 4b. The same for the sum over the pairs, compared with the best equal-sized set of the
pod's own machine: an NVSwitch shares its egress, so sums of two kinds of machine differ."""

GANG_PAIR_SUM = Tier("links.gang-sum", "0.01 GB/s", Sense.MINIMISE)
"""Tier 4c. Tier 4b over the GPUs of all placed members of each gang gathered on one node."""

NUMA_STRATEGY = Tier("numa-strategy", "points against the strategy", Sense.MINIMISE)
"""Over nodes with a NUMA allocate strategy: NUMA nodes of pods beyond the fewest, which weigh
more than everything else, and how far the CPUs taken depart from the strategy (C11)."""

LOCALITY_NUMA_NODES = Tier("locality.numa-nodes", "NUMA nodes beyond the fewest", Sense.MINIMISE)
"""Over pods that own CPUs or hold devices and are under no NUMA policy: NUMA nodes of all
that they hold by place, beyond the fewest that the empty node needs."""

LOCALITY_PACKAGES = Tier("locality.packages", "packages beyond the fewest", Sense.MINIMISE)
"""The same for packages; pods under a NUMA policy count too."""

DEVICE_CHOICE = Tier("device-choice", "millionths of use off the choice", Sense.MINIMISE)
"""Over shares of pods with a device choice: how much more (or less) others use of the share's
device than of the best device of the node that could give it as all else stands (B14)."""

USABLE = Tier("usable", "points", Sense.MAXIMISE)
"""Tier 5. What later pods can still have. Over nodes: GPU_POINTS for each GPU of the disjoint
free sets of each of USABLE_SET_SIZES, if the slowest pair of the set is as fast as that of the
best set of the size on the empty machine; SWITCH_POINTS for each whole PCIe switch;
WHOLE_CORE_POINTS for each wholly free core; MIG_POINTS for what GPUs in MIG mode can still be cut
into; and ROOM_POINTS for each quarter of the node in the free rooms of each of ROOM_QUARTERS."""

PACK_NODES = Tier("pack.nodes", "nodes in use", Sense.MINIMISE)
"""Nodes with any pod, running or new."""

PACK_USED = Tier("pack.used", "millionths requested", Sense.MAXIMISE)
"""Over new pods: the mean requested share of the node's classes that the pod asks for, as if
the pod came alone."""

SPREAD_PAIRS = Tier("spread.pairs", "pairs of pods", Sense.MINIMISE)
"""Pairs of pods on the same node of which at least one is new."""

SPREAD_USED = Tier("spread.used", "millionths requested", Sense.MINIMISE)
"""What PACK_USED counts, the other way round."""

LEAST_REQUESTED = Tier("least-requested", "millionths requested", Sense.MINIMISE)
"""Over new pods: the mean requested share of the node's classes that the pod asks for, with
all new pods there (B12)."""

MOST_BALANCED = Tier("most-balanced", "millionths of variance", Sense.MINIMISE)
"""Over new pods: the variance of these shares (B13)."""


PLACED = "placed."
"""What the names of all sub-tiers of tier 1 begin with."""


@lru_cache(maxsize=256)
def placed_tier(priority: int) -> Tier:
    """Return the sub-tier of tier 1 for one priority level."""
    return Tier(f"{PLACED}priority-{priority}", "points", Sense.MAXIMISE)


def tiers_for(priorities: Iterable[int], asked: Collection[Tier]) -> tuple[Tier, ...]:
    """Return all tiers, most important first.

    Args:
        priorities: Priorities of the gangs; each distinct one has a sub-tier of tier 1.
        asked: The tiers this instance has of those that only some instances have
            (`placer_models.optional_tiers`).

    """
    return (
        *(placed_tier(p) for p in sorted(set(priorities), reverse=True)),
        *_after_placed(tuple(asked)),
    )


@lru_cache(maxsize=256)
def _after_placed(asked: tuple[Tier, ...]) -> tuple[Tier, ...]:
    return tuple(tier for tier in _AFTER_PLACED if tier in ALWAYS or tier in asked)


def strategy_of(tiers: Sequence[Tier]) -> NodeStrategy | None:
    """Return the strategy that the last tier belongs to, or None if it belongs to none."""
    return next((s for s, own in TIERS_OF.items() if tiers[-1:] and tiers[-1] in own), None)


def before_links(tiers: Sequence[Tier]) -> int:
    """Return how many of an instance's tiers come before those that look at links."""
    return tiers.index(POD_PAIR_MINIMUM)


def before_locality(tiers: Sequence[Tier]) -> int:
    """Return how many of an instance's tiers come before those of ``DEFAULT_LOCALITY``."""
    return next((i for i, tier in enumerate(tiers) if tier in DEFAULT_LOCALITY), len(tiers))


DEFAULT_LOCALITY = (LOCALITY_NUMA_NODES, LOCALITY_PACKAGES)
"""Tiers that force pods which could be counted together to be told apart."""

ALWAYS = (ALIGNMENT, BIND, POD_PAIR_MINIMUM, POD_PAIR_SUM, GANG_PAIR_SUM)
"""Tiers of every instance; an instance has the others only if something asks for them."""

TIERS_OF: Mapping[NodeStrategy, tuple[Tier, ...]] = {
    NodeStrategy.USABLE: (USABLE,),
    NodeStrategy.PACK: (PACK_NODES, PACK_USED),
    NodeStrategy.SPREAD: (SPREAD_PAIRS, SPREAD_USED),
    NodeStrategy.LEAST_REQUESTED: (LEAST_REQUESTED,),
    NodeStrategy.MOST_BALANCED: (MOST_BALANCED,),
}
"""The tiers of each strategy; they come last, and an instance has those of one strategy."""

WORTH: Mapping[Tier, Callable[[NodeLoad], int]] = {
    PACK_NODES: in_use,
    PACK_USED: own_scores,
    SPREAD_PAIRS: pairs,
    SPREAD_USED: own_scores,
    LEAST_REQUESTED: mean_scores,
    MOST_BALANCED: variance_scores,
}
"""What a node counts in each tier that looks at who is on it; the tier's value is the sum."""

UNBOUNDED = frozenset({MOST_BALANCED})
"""Tiers that are improved, but for which no bound is sought."""

_AFTER_PLACED = (
    OPENED,
    MOVES,
    SHARED_CORES,
    SHARED_NUMA_NODES,
    AFFINITY,
    TOPOLOGY_SPREAD,
    ALIGNMENT,
    NODE_PREFERENCE,
    PACKAGES,
    BIND,
    GATHERING,
    CACHES,
    JOINT,
    PARTITIONS,
    POD_PAIR_MINIMUM,
    POD_PAIR_SUM,
    GANG_PAIR_SUM,
    NUMA_STRATEGY,
    LOCALITY_NUMA_NODES,
    LOCALITY_PACKAGES,
    DEVICE_CHOICE,
    *(tier for tiers in TIERS_OF.values() for tier in tiers),
)
"""All tiers after the first, most important first."""
