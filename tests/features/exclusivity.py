"""Tiny instances in which pods keep apart from each other (C9)."""

from dataclasses import replace
from random import Random

from features.feature import Feature, with_pods, with_pods_alike
from placer_models.cluster import Instance, RunningPod
from placer_models.pod import Container, Gang, Pod, Resources
from placer_models.policy import (
    AlignmentPolicy,
    BindPolicy,
    ExclusivePolicy,
    QosClass,
    RequiredOrPreferred,
)
from worlds import tiny_instance

POLICIES = (
    ExclusivePolicy.PCPU_LEVEL,
    ExclusivePolicy.PCPU_LEVEL,
    ExclusivePolicy.NUMA_NODE_LEVEL,
    ExclusivePolicy.NUMA_NODE_LEVEL,
    ExclusivePolicy.NONE,
)


def with_exclusivity(rng: Random, instance: Instance) -> Instance:
    """Give the pods that own CPUs exclusive policies, running ones too."""
    required = rng.choice((0.0, 0.2, 0.5))
    policies = POLICIES if rng.random() < 0.6 else (rng.choice(POLICIES[1:]),)

    def apart(pod: Pod) -> Pod:
        if not pod.spec.qos.owns_cpus:
            return pod
        strength = (
            RequiredOrPreferred.REQUIRED
            if rng.random() < required
            else RequiredOrPreferred.PREFERRED
        )
        spec = replace(pod.spec, exclusive=rng.choice(policies), exclusive_strength=strength)
        return replace(pod, spec=spec)

    def members(gang: Gang) -> Gang:
        changed = with_pods_alike if rng.random() < 0.5 else with_pods
        return changed(gang, apart)

    return replace(
        instance,
        gangs=tuple(map(members, instance.gangs)),
        running=tuple(RunningPod(apart(r.pod), r.placement) for r in instance.running),
        name=f"{instance.name}, apart",
    )


def apart_instance(seed: int) -> Instance:
    """Draw a tiny instance whose pods keep apart; in most of them cores are scarce."""
    rng = Random(f"apart-{seed}")
    instance = tiny_instance(seed)
    if rng.random() < 0.7:
        instance = crowded(rng, instance)
    return with_exclusivity(rng, instance)


def crowded(rng: Random, instance: Instance) -> Instance:
    """Let the pods want a few CPUs and little else, on nodes that have few cores to give."""
    bind = rng.choice((None, BindPolicy.SPREAD_BY_PCPUS, BindPolicy.DEFAULT))

    def modest(pod: Pod) -> Pod:
        cpus = Resources(1000 * rng.choice((1, 1, 2, 2, 3)))
        spec = replace(
            pod.spec,
            containers=(Container("app", cpus),),
            qos=QosClass.LSR,
            bind=pod.spec.bind if bind is None else bind,
            alignment=pod.spec.alignment if rng.random() < 0.3 else AlignmentPolicy.NONE,
            node_selector=(),
        )
        return replace(pod, spec=spec)

    node = instance.nodes[0]
    owned = frozenset[int]().union(*(r.placement.cpuset for r in instance.running))
    free = sorted(node.machine.topology.online - owned)
    reserved = frozenset(rng.sample(free, rng.randint(0, len(free) // 2)))
    return replace(
        instance,
        nodes=(replace(node, reserved_cpus=reserved, cordoned=False),),
        gangs=tuple(with_pods(gang, modest) for gang in instance.gangs),
        running=tuple(r for r in instance.running if r.placement.node == node.name),
    )


FEATURE = Feature("exclusivity", with_exclusivity)
