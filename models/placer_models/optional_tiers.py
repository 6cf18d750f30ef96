"""Optional tiers: those that only instances with such wishes have."""

from collections.abc import Iterable, Iterator

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
from placer_models.taints import untolerated

_LOCALITY_TIERS = {Locality.PACKAGE: PACKAGES, Locality.LLC: CACHES}


def optional_tiers(instance: Instance) -> tuple[Tier, ...]:
    """Return the tiers beyond `goals.ALWAYS` that something in the instance asks for.

    The tiers of its strategy are among them, and those of running pods that could move.
    """
    could = [running.pod for running in instance.could_leave]
    # By identity: replicas share their spec.
    specs = {id(pod.spec): pod.spec for pod in (*pods_of(instance.gangs), *could)}.values()
    owners = [spec for spec in specs if spec.qos.owns_cpus]
    nodes = Nodes.of(instance.nodes)
    asked = [*TIERS_OF[instance.strategy]]
    if owners:
        asked += [*_exclusivity(owners), *_localities(nodes, owners)]
    if nodes.offer:
        asked.append(OPENED)
    if instance.move_budget:
        asked.append(MOVES)
    if owners and nodes.have_strategy:
        asked.append(NUMA_STRATEGY)
    if any(spec.wants_locality for spec in specs):
        if nodes.have_cells:
            asked.append(LOCALITY_NUMA_NODES)
        if nodes.have_packages:
            asked.append(LOCALITY_PACKAGES)
    if any(_minds_nodes(spec, nodes) for spec in specs):
        asked.append(NODE_PREFERENCE)
    if any(map(_chooses_devices, specs)):
        asked.append(DEVICE_CHOICE)
    if any(map(_would_like_to_be_joint, specs)):
        asked.append(JOINT)
    if nodes.prefer_partitions and any(spec.requests.count_of(GPU) for spec in specs):
        asked.append(PARTITIONS)
    if any(not term.required for spec in specs for term in spec.affinity):
        asked.append(AFFINITY)
    if any(not constraint.required for spec in specs for constraint in spec.spread):
        asked.append(TOPOLOGY_SPREAD)
    named = {(r.pod.namespace, r.placement.gang) for r in instance.could_leave}
    levels = [gang.levels for gang in instance.gangs]
    levels += [gang.levels for gang in instance.running_gangs if gang.key in named]
    if any(not rule.required for rules in levels for rule in rules):
        asked.append(GATHERING)
    return tuple(asked)


def _minds_nodes(spec: PodSpec, nodes: Nodes) -> bool:
    """Return whether the pod would like something of its node, or not to meet some taints."""
    wished = spec.node_affinity is not None and bool(spec.node_affinity.preferred)
    return wished or any(untolerated(nodes.soft_taints, spec.tolerations, keep_off=False))


def _chooses_devices(spec: PodSpec) -> bool:
    """Return whether the pod minds who else uses the devices that it has shares of."""
    return spec.device_choice is not None and any(d.share for d in spec.requests.devices)


def _would_like_to_be_joint(spec: PodSpec) -> bool:
    return spec.joint is not None and spec.joint.strength is Strength.PREFERRED


def _localities(nodes: Nodes, owners: Iterable[PodSpec]) -> Iterator[Tier]:
    """Yield the tiers of what pods with CPUs of their own, or nodes, would have them within."""
    localities = {spec.locality for spec in owners}
    asked = {wish for wishes in localities for wish in wishes}
    if () in localities:
        asked |= nodes.localities
    yield from (tier for wish, tier in _LOCALITY_TIERS.items() if wish in asked)


def _exclusivity(owners: Iterable[PodSpec]) -> Iterator[Tier]:
    wished = {spec.exclusive for spec in owners if not spec.exclusive_required}
    wished -= {ExclusivePolicy.NONE}
    if wished:
        yield SHARED_CORES
    if ExclusivePolicy.NUMA_NODE_LEVEL in wished:
        yield SHARED_NUMA_NODES
