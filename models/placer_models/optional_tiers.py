"""Optional tiers: tiers that an instance has only if something in it asks for them."""

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from placer_models.cluster import Instance, Nodes
from placer_models.device import GPU
from placer_models.goals import (
    AFFINITY,
    CACHES,
    DEVICE_CHOICE,
    GATHERING,
    JOINT,
    LOCALITY_NUMA_NODES,
    LOCALITY_PACKAGES,
    MOVES,
    NODE_PREFERENCE,
    NUMA_STRATEGY,
    OPENED,
    PACKAGES,
    PARTITIONS,
    SHARED_CORES,
    SHARED_NUMA_NODES,
    TIERS_OF,
    TOPOLOGY_SPREAD,
    Tier,
)
from placer_models.pod import PodSpec, pods_of
from placer_models.policy import ExclusivePolicy, Locality, Strength
from placer_models.taints import Taint, untolerated

_LOCALITY_TIERS = {Locality.PACKAGE: PACKAGES, Locality.LLC: CACHES}


class _Fleet(NamedTuple):
    """Facts about all nodes together that decide which wishes of a pod can differ by place."""

    have_cells: bool
    have_packages: bool
    have_strategy: bool
    prefer_partitions: bool
    soft_taints: frozenset[Taint]
    localities: frozenset[Locality]
    exclusive_defaults: frozenset[ExclusivePolicy]


def optional_tiers(instance: Instance) -> tuple[Tier, ...]:
    """Return the tiers beyond `goals.ALWAYS` that something in the instance asks for.

    They include the tiers of its strategy, and those that running pods in breach of a rule, which
    could move (``could_leave``), ask for.
    """
    could = [running.pod for running in instance.could_leave]
    # By identity: replicas share their spec.
    specs = {id(pod.spec): pod.spec for pod in (*pods_of(instance.gangs), *could)}.values()
    nodes = Nodes.of(instance.nodes)
    fleet = _Fleet(
        nodes.have_cells,
        nodes.have_packages,
        nodes.have_strategy,
        nodes.prefer_partitions,
        nodes.soft_taints,
        nodes.localities,
        nodes.exclusive_defaults,
    )
    asked = dict.fromkeys(TIERS_OF[instance.strategy])
    for one in (each for spec in specs for each in spec.each):
        asked.update(dict.fromkeys(_asked_by(one, fleet)))
    if nodes.offer:
        asked[OPENED] = None
    if instance.move_budget:
        asked[MOVES] = None
    named = {(r.pod.namespace, r.placement.gang) for r in instance.could_leave}
    levels = [gang.levels for gang in instance.gangs]
    levels += [gang.levels for gang in instance.running_gangs if gang.key in named]
    if any(not rule.required for rules in levels for rule in rules):
        asked[GATHERING] = None
    return tuple(asked)


@lru_cache(maxsize=1024)
def _asked_by(spec: PodSpec, fleet: _Fleet) -> tuple[Tier, ...]:
    """Return the tiers that a pod asks for."""
    asked = []
    if spec.qos.owns_cpus:
        asked += [*_exclusivity(spec, fleet), *_localities(spec, fleet)]
        if fleet.have_strategy:
            asked.append(NUMA_STRATEGY)
    if spec.wants_locality and fleet.have_cells:
        asked.append(LOCALITY_NUMA_NODES)
    if spec.wants_locality and fleet.have_packages:
        asked.append(LOCALITY_PACKAGES)
    if _minds_nodes(spec, fleet):
        asked.append(NODE_PREFERENCE)
    if _chooses_devices(spec):
        asked.append(DEVICE_CHOICE)
    if _would_like_to_be_joint(spec):
        asked.append(JOINT)
    if fleet.prefer_partitions and spec.requests.count_of(GPU):
        asked.append(PARTITIONS)
    if any(not term.required for term in spec.affinity):
        asked.append(AFFINITY)
    if any(not constraint.required for constraint in spec.spread):
        asked.append(TOPOLOGY_SPREAD)
    return tuple(asked)


def _minds_nodes(spec: PodSpec, fleet: _Fleet) -> bool:
    """Return whether the pod would like something of its node, or not to meet some taints."""
    wished = spec.node_affinity is not None and bool(spec.node_affinity.preferred)
    return wished or any(untolerated(fleet.soft_taints, spec.tolerations, keep_off=False))


def _chooses_devices(spec: PodSpec) -> bool:
    """Return whether the pod minds how much others use the devices that it has shares of."""
    return spec.device_choice is not None and any(d.share for d in spec.requests.devices)


def _would_like_to_be_joint(spec: PodSpec) -> bool:
    return spec.joint is not None and spec.joint.strength is Strength.PREFERRED


def _localities(spec: PodSpec, fleet: _Fleet) -> Iterator[Tier]:
    """Yield the tiers of the localities that a pod with CPUs of its own, or a node, asks for."""
    wishes = spec.locality or fleet.localities
    yield from (tier for wish, tier in _LOCALITY_TIERS.items() if wish in wishes)


def _exclusivity(spec: PodSpec, fleet: _Fleet) -> Iterator[Tier]:
    """Yield the tiers of the exclusive policies that a pod prefers, on some node by default."""
    if spec.exclusive_required:
        return
    policies = fleet.exclusive_defaults if spec.exclusive is None else {spec.exclusive}
    if policies - {ExclusivePolicy.NONE}:
        yield SHARED_CORES
    if ExclusivePolicy.NUMA_NODE_LEVEL in policies:
        yield SHARED_NUMA_NODES
