"""The tiers: what a placement should be good at, most important first.

A tier is told here, and in its family's file in each storey: how the judge measures it, what a
model counts for it, what it costs in the fast path.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple

from placer_models.device import GPU
from placer_models.node_strategy import (
    NodeStrategy,
    StrategyNodeLoad,
    count_pod_pairs_with_new,
    mean_share_score_sum,
    one_if_node_in_use,
    score_sum_if_each_came_alone,
    variance_score_sum,
)
from placer_models.pod import PodSpec
from placer_models.policy import CpuLocalityWish, ExclusivePolicy, RequiredOrPreferred
from placer_models.taints import Taint, untolerated_taints_of_strength


class ObjectiveSense(StrEnum):
    """Which direction is better."""

    MAXIMISE = "maximise"
    MINIMISE = "minimise"


class Tier(NamedTuple):
    """One goal. Tiers are compared in order: a later one never outweighs an earlier."""

    name: str
    unit: str
    sense: ObjectiveSense

    def better(self, a: int, b: int) -> bool:
        """Return whether value a is strictly better than value b."""
        return a > b if self.sense is ObjectiveSense.MAXIMISE else a < b


class InstanceFactsDecidingTiers(NamedTuple):
    """Facts of an instance, beside its pods, that decide which tiers it has.

    Attributes:
        strategy: The node strategy.
        offer: Whether some nodes are offered.
        may_move: Whether running pods may move.
        prefer_levels: Whether a gang would like something of a level of the network.
        have_cells: Whether some node has several NUMA nodes.
        have_packages: Whether some node has several packages.
        have_strategy: Whether some node has a NUMA allocate strategy.
        prefer_partitions: Whether some node would like its GPUs to be given by partitions.
        soft_taints: The taints that would rather keep pods off.
        localities: What nodes would like their pods to stay within.
        exclusive_defaults: The exclusive policies that nodes give to pods without one.

    """

    strategy: NodeStrategy
    offer: bool
    may_move: bool
    prefer_levels: bool
    have_cells: bool
    have_packages: bool
    have_strategy: bool
    prefer_partitions: bool
    soft_taints: frozenset[Taint]
    localities: frozenset[CpuLocalityWish]
    exclusive_defaults: frozenset[ExclusivePolicy]


class _Told(NamedTuple):
    """What is told of a tier beside its name.

    Attributes:
        by_pod: Returns whether a pod asks for it.
        by_fleet: Returns whether the fleet asks for it, whatever the pods.
        strategy: The node strategy that asks for it.
        in_node: Whether a place inside one node has a value of its own in it.
        of_pod: Whether it says how good a place is for its own pod, whatever else is on the node.

    """

    by_pod: Callable[[PodSpec, InstanceFactsDecidingTiers], bool] | None = None
    by_fleet: Callable[[InstanceFactsDecidingTiers], bool] | None = None
    strategy: NodeStrategy | None = None
    in_node: bool = True
    of_pod: bool = False

    @property
    def always(self) -> bool:
        """Whether every instance has the tier, whoever asks."""
        return self.by_pod is None and self.by_fleet is None and self.strategy is None


_TOLD: dict[Tier, _Told] = {}
"""Tier -> what is told of it, for all tiers after the first, most important first."""


def _tier(
    name: str,
    unit: str,
    *,
    sense: ObjectiveSense = ObjectiveSense.MINIMISE,
    by_pod: Callable[[PodSpec, InstanceFactsDecidingTiers], bool] | None = None,
    by_fleet: Callable[[InstanceFactsDecidingTiers], bool] | None = None,
    strategy: NodeStrategy | None = None,
    in_node: bool = True,
    of_pod: bool = False,
) -> Tier:
    """Return a tier less important than all before it; without a condition it is always asked.

    Less is better, unless told otherwise.
    """
    tier = Tier(name, unit, sense)
    _TOLD[tier] = _Told(by_pod, by_fleet, strategy, in_node, of_pod)
    return tier


def _exclusive(spec: PodSpec, fleet: InstanceFactsDecidingTiers) -> Collection[ExclusivePolicy]:
    """Return the exclusive policies that a pod prefers, on some node by default."""
    if not spec.qos.owns_cpus or spec.exclusive_required:
        return ()
    return fleet.exclusive_defaults if spec.exclusive is None else {spec.exclusive}


def _would_stay_within(
    locality: CpuLocalityWish,
) -> Callable[[PodSpec, InstanceFactsDecidingTiers], bool]:
    """Return whether a pod with CPUs of its own, or a node, would like it to stay within such."""
    return lambda spec, fleet: (
        spec.qos.owns_cpus and locality in (spec.locality or fleet.localities)
    )


def _minds_nodes(spec: PodSpec, fleet: InstanceFactsDecidingTiers) -> bool:
    """Return whether the pod would like something of its node, or not to meet some taints."""
    wished = spec.node_affinity is not None and bool(spec.node_affinity.preferred)
    return wished or any(
        untolerated_taints_of_strength(fleet.soft_taints, spec.tolerations, keep_off=False)
    )


def _would_like_to_be_joint(spec: PodSpec, _: InstanceFactsDecidingTiers) -> bool:
    return spec.joint is not None and spec.joint.strength is RequiredOrPreferred.PREFERRED


def _chooses_devices(spec: PodSpec, _: InstanceFactsDecidingTiers) -> bool:
    """Return whether the pod minds how much others use the devices that it has shares of."""
    return spec.device_choice is not None and any(d.share for d in spec.requests.devices)


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

OPENED = _tier("opened", "new nodes opened", by_fleet=lambda fleet: fleet.offer)
"""Offered nodes that pods come to: these have to be bought or started (F27)."""

MOVES = _tier("moves", "running pods moved", by_fleet=lambda fleet: fleet.may_move, in_node=False)
"""Running pods that get another place, where there is a budget for that (G5)."""

SHARED_CORES = _tier(
    "exclusivity.cores",
    "shared cores",
    by_pod=lambda spec, fleet: any(p is not ExclusivePolicy.NONE for p in _exclusive(spec, fleet)),
)
"""Over cores: new pods on it that count as PCPULevel, less one if no running pod on it
does (C9). A pod that requires the policy is alone there, so only wishes count."""

SHARED_NUMA_NODES = _tier(
    "exclusivity.numa-nodes",
    "shared NUMA nodes",
    by_pod=lambda spec, fleet: ExclusivePolicy.NUMA_NODE_LEVEL in _exclusive(spec, fleet),
)
"""Over NUMA nodes: new pods under NUMANodeLevel with CPUs on it, less one if no running
pod under NUMANodeLevel has CPUs on it (C9)."""

AFFINITY = _tier(
    "affinity",
    "weight not met",
    by_pod=lambda spec, _: any(not term.required for term in spec.affinity),
)
"""Weights of preferred affinities without company, and of each pod that a preferred
anti-affinity meets (C18)."""

TOPOLOGY_SPREAD = _tier(
    "topology-spread",
    "pods beyond the skew",
    by_pod=lambda spec, _: any(not constraint.required for constraint in spec.spread),
    in_node=False,
)
"""Over preferred constraints, and domains with a new pod that asks for them: pods beyond the
skew. A constraint counts once, however many pods ask for it."""

ALIGNMENT = _tier("alignment", "NUMA nodes beyond the fewest", of_pod=True)
"""Over pods under BestEffort: NUMA nodes used beyond the fewest that an empty node needs."""

NODE_PREFERENCE = _tier("node-preference", "weight not met", by_pod=_minds_nodes)
"""Over pods that would like something of their node: the weights of the wishes that it does not
meet, and of its taints that would rather keep them off."""

PACKAGES = _tier(
    "packages",
    "packages beyond the fewest",
    by_pod=_would_stay_within(CpuLocalityWish.PACKAGE),
    of_pod=True,
)
"""Over pods that would like to stay within packages: packages beyond the fewest."""

BIND = _tier("bind", "CPUs against the policy", of_pod=True)
"""Over pods that own CPUs with a preferred bind policy: CPUs on cores taken against it, beyond
the remainder that cannot be avoided even on the empty node, or of Default with even shares."""

GATHERING = _tier(
    "gathering",
    "domains and members too many",
    by_fleet=lambda fleet: fleet.prefer_levels,
    in_node=False,
)
"""Over gangs that would like to gather or to spread: domains of the level beyond one, and
members of a domain beyond the most. A node without a domain counts as its own domain (G4)."""

CACHES = _tier(
    "caches",
    "caches beyond the fewest",
    by_pod=_would_stay_within(CpuLocalityWish.LLC),
    of_pod=True,
)
"""Over pods that would like to stay within last-level caches: caches beyond the fewest."""

JOINT = _tier("joint", "groups without every type", by_pod=_would_like_to_be_joint, of_pod=True)
"""Over pods that would like devices of several types side by side: PCIe switches or NUMA
nodes that give the pod only some of the types, and devices that are in no such group (D9)."""

PARTITIONS = _tier(
    "partitions",
    "GPU sets outside partitions",
    by_pod=lambda spec, fleet: fleet.prefer_partitions and bool(spec.requests.count_of(GPU)),
    of_pod=True,
)
"""Over pods that would like their GPUs to be a partition: those whose GPUs are not (D10)."""

POD_PAIR_MINIMUM = _tier("links.pod-minimum", "0.01 GB/s", of_pod=True)
"""Tier 4a. Over pods with two or more GPUs: how far the slowest pair of the pod's GPUs falls
short of the slowest pair of the best equal-sized set on the best empty machine for it."""

POD_PAIR_SUM = _tier("links.pod-sum", "0.01 GB/s", of_pod=True)
"""Tier 4b. The same for the sum over the pairs, compared with the best equal-sized set of the
pod's own machine: an NVSwitch shares its egress, so sums of two kinds of machine differ."""

GANG_PAIR_SUM = _tier("links.gang-sum", "0.01 GB/s", in_node=False, of_pod=True)
"""Tier 4c. Tier 4b over the GPUs of all placed members of each gang gathered on one node."""

NUMA_STRATEGY = _tier(
    "numa-strategy",
    "points against the strategy",
    by_pod=lambda spec, fleet: fleet.have_strategy and spec.qos.owns_cpus,
)
"""Over nodes with a NUMA allocate strategy: NUMA nodes of pods beyond the fewest, which weigh
more than everything else, and how far the CPUs taken depart from the strategy (C11)."""

LOCALITY_NUMA_NODES = _tier(
    "locality.numa-nodes",
    "NUMA nodes beyond the fewest",
    by_pod=lambda spec, fleet: fleet.have_cells and spec.wants_locality,
    of_pod=True,
)
"""Over pods that own CPUs or hold devices and are under no NUMA policy: NUMA nodes of all
that they hold by place, beyond the fewest that the empty node needs."""

LOCALITY_PACKAGES = _tier(
    "locality.packages",
    "packages beyond the fewest",
    by_pod=lambda spec, fleet: fleet.have_packages and spec.wants_locality,
    of_pod=True,
)
"""The same for packages; pods under a NUMA policy count too."""

DEVICE_CHOICE = _tier("device-choice", "millionths of use off the choice", by_pod=_chooses_devices)
"""Over shares of pods with a device choice: how much more (or less) others use of the share's
device than of the best device of the node that could give it as all else stands (B14)."""

USABLE = _tier("usable", "points", sense=ObjectiveSense.MAXIMISE, strategy=NodeStrategy.USABLE)
"""Tier 5. What later pods can still have. Over nodes: GPU_POINTS for each GPU of the disjoint
free sets of each of USABLE_SET_SIZES, if the slowest pair of the set is as fast as that of the
best set of the size on the empty machine; SWITCH_POINTS for each whole PCIe switch;
WHOLE_CORE_POINTS for each wholly free core; MIG_POINTS for what GPUs in MIG mode can still be cut
into; and ROOM_POINTS for each quarter of the node in the free rooms of each of ROOM_QUARTERS."""

PACK_NODES = _tier("pack.nodes", "nodes in use", strategy=NodeStrategy.PACK)
"""Nodes with any pod, running or new."""

PACK_USED = _tier(
    "pack.used", "millionths requested", sense=ObjectiveSense.MAXIMISE, strategy=NodeStrategy.PACK
)
"""Over new pods: the mean requested share of the node's classes that the pod asks for, as if
the pod came alone."""

SPREAD_PAIRS = _tier("spread.pairs", "pairs of pods", strategy=NodeStrategy.SPREAD)
"""Pairs of pods on the same node of which at least one is new."""

SPREAD_USED = _tier("spread.used", "millionths requested", strategy=NodeStrategy.SPREAD)
"""What PACK_USED counts, the other way round."""

LEAST_REQUESTED = _tier(
    "least-requested", "millionths requested", strategy=NodeStrategy.LEAST_REQUESTED
)
"""Over new pods: the mean requested share of the node's classes that the pod asks for, with
all new pods there (B12)."""

MOST_BALANCED = _tier(
    "most-balanced", "millionths of variance", strategy=NodeStrategy.MOST_BALANCED
)
"""Over new pods: the variance of these shares (B13)."""

EXPECTED = _tier("expected", "millionths of a GPU lost", strategy=NodeStrategy.EXPECTED)
"""Over nodes with new pods: what they are worth to the expected pods, before less after."""


PLACED = "placed."
"""What the names of all sub-tiers of tier 1 begin with."""


@lru_cache(maxsize=256)
def placed_tier(priority: int) -> Tier:
    """Return the sub-tier of tier 1 for one priority level."""
    return Tier(f"{PLACED}priority-{priority}", "points", ObjectiveSense.MAXIMISE)


def all_tiers_most_important_first(
    priorities: Iterable[int], asked: Collection[Tier]
) -> tuple[Tier, ...]:
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
    return tuple(tier for tier, told in _TOLD.items() if told.always or tier in asked)


@lru_cache(maxsize=256)
def tiers_asked_by_fleet(fleet: InstanceFactsDecidingTiers) -> tuple[Tier, ...]:
    """Return the tiers that a fleet asks for, whatever the pods."""
    by_facts = [t for t, told in _TOLD.items() if told.by_fleet and told.by_fleet(fleet)]
    return (*by_facts, *TIERS_OF[fleet.strategy])


@lru_cache(maxsize=1024)
def tiers_asked_by_pod(spec: PodSpec, fleet: InstanceFactsDecidingTiers) -> tuple[Tier, ...]:
    """Return the tiers that a pod asks for, given the fleet."""
    return tuple(tier for tier, told in _TOLD.items() if told.by_pod and told.by_pod(spec, fleet))


def strategy_of_last_tier(tiers: Sequence[Tier]) -> NodeStrategy | None:
    """Return the strategy that the last tier belongs to, or None if it belongs to none."""
    return next((s for s, own in TIERS_OF.items() if tiers[-1:] and tiers[-1] in own), None)


def number_of_tiers_before_links(tiers: Sequence[Tier]) -> int:
    """Return how many of an instance's tiers come before those that look at links."""
    return tiers.index(POD_PAIR_MINIMUM)


def number_of_tiers_before_locality(tiers: Sequence[Tier]) -> int:
    """Return how many of an instance's tiers come before those of ``DEFAULT_LOCALITY``."""
    return next((i for i, tier in enumerate(tiers) if tier in DEFAULT_LOCALITY), len(tiers))


DEFAULT_LOCALITY = (LOCALITY_NUMA_NODES, LOCALITY_PACKAGES)
"""Tiers that force pods which could be counted together to be told apart."""

TIERS_OF: Mapping[NodeStrategy, tuple[Tier, ...]] = {
    strategy: tuple(tier for tier, told in _TOLD.items() if told.strategy is strategy)
    for strategy in NodeStrategy
}
"""The tiers of each strategy; they come last, and an instance has those of one strategy."""

WORTH: Mapping[Tier, Callable[[StrategyNodeLoad], int]] = {
    PACK_NODES: one_if_node_in_use,
    PACK_USED: score_sum_if_each_came_alone,
    SPREAD_PAIRS: count_pod_pairs_with_new,
    SPREAD_USED: score_sum_if_each_came_alone,
    LEAST_REQUESTED: mean_share_score_sum,
    MOST_BALANCED: variance_score_sum,
}
"""What a node counts in each tier that looks at who is on it; the tier's value is the sum."""

UNBOUNDED = frozenset({MOST_BALANCED, EXPECTED})
"""Tiers that are improved, but for which no bound is sought."""

NOT_MODELLED = frozenset({EXPECTED})
"""Tiers that no model states: their values do not follow from sums."""

AFTER_PLACED = tuple(_TOLD)
"""All tiers after the first, most important first."""

OF_A_POD = tuple(tier for tier, told in _TOLD.items() if told.of_pod)
"""Tiers about how good a place is for its own pod, whatever else is on the node."""

IN_NODE = tuple(t for t, told in _TOLD.items() if told.in_node and told.strategy is None)
"""The tiers, but those of strategies, in which a place inside one node has a value by itself."""
