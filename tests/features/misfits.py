"""Tiny instances in which running pods are where no new pod could be."""

from dataclasses import replace
from random import Random

from placer_models.affinity import AffinityTerm
from placer_models.cluster import Instance, Node, RunningPod
from placer_models.pod import Pod, PodSpec
from placer_models.policy import (
    AlignmentPolicy,
    BindPolicy,
    ExclusivePolicy,
    NodeBindPolicy,
    RequiredOrPreferred,
)


def with_misfits(rng: Random, instance: Instance) -> Instance:
    """Reserve CPUs that running pods own, and let pods of pools ask for more than there is."""
    running = tuple(_asking(rng, one) if rng.random() < 0.5 else one for one in instance.running)
    nodes = tuple(_reserving(rng, node, running) for node in instance.nodes)
    return replace(instance, nodes=nodes, running=running)


def with_breaches(rng: Random, instance: Instance) -> Instance:
    """Break some rule at running pods: by what they ask for, or by how their nodes are now."""
    running = tuple(
        _with_spec(one, _stricter(rng, one.pod.spec)) if rng.random() < 0.5 else one
        for one in instance.running
    )
    first, *others = instance.nodes
    others = [replace(node, labels=(("zone", "b"),)) for node in others]
    nodes = (_changed(rng, first, running) if rng.random() < 0.5 else first, *others)
    return replace(instance, nodes=nodes, running=running)


def _with_spec(running: RunningPod, spec: PodSpec) -> RunningPod:
    return replace(running, pod=replace(running.pod, spec=spec))


def _stricter(rng: Random, spec: PodSpec) -> PodSpec:
    """Return a spec that asks for more than where the pod runs may give."""
    owns = spec.qos.owns_cpus
    if spec.constrained_burst:
        return spec
    changes = [
        replace(spec, node_selector=(("zone", "b"),)),
        replace(spec, alignment=AlignmentPolicy.SINGLE_NUMA_NODE),
        replace(spec, alignment=AlignmentPolicy.RESTRICTED),
        replace(
            spec,
            labels=(("app", "x"),),
            affinity=(AffinityTerm((("app", "x"),), apart=True),),
        ),
        replace(spec, affinity=(AffinityTerm((("app", "x"),)),)),
    ]
    if owns:
        required = RequiredOrPreferred.REQUIRED
        changes += [
            replace(spec, bind=BindPolicy.FULL_PCPUS, bind_strength=required),
            replace(spec, bind=BindPolicy.SPREAD_BY_PCPUS, bind_strength=required),
            replace(spec, exclusive=ExclusivePolicy.PCPU_LEVEL, exclusive_strength=required),
            replace(
                spec,
                exclusive=ExclusivePolicy.NUMA_NODE_LEVEL,
                exclusive_strength=required,
            ),
        ]
    return rng.choice(changes)


def _changed(rng: Random, node: Node, running: tuple[RunningPod, ...]) -> Node:
    """Return the node as an update may leave it below what runs there."""
    held = sorted(
        {
            (grant.type, grant.minor)
            for one in running
            if one.placement.node == node.name
            for grant in one.placement.devices
        }
    )
    changes = [
        _reserving(rng, node, running),
        replace(node, cordoned=True),
        replace(node, cpu_bind=rng.choice(list(NodeBindPolicy))),
        replace(node, alignment=AlignmentPolicy.SINGLE_NUMA_NODE),
    ]
    if held:
        changes.append(replace(node, unhealthy=node.unhealthy | {rng.choice(held)}))
    return rng.choice(changes)


def _asking(rng: Random, running: RunningPod) -> RunningPod:
    spec = running.pod.spec
    if spec.qos.owns_cpus or spec.constrained_burst or running.placement.cpu_milli:
        return running
    first, *others = spec.containers
    more = replace(
        first,
        requests=replace(first.requests, cpu_milli=1000 * rng.choice((4, 50))),
        cpu_limit_milli=None,
    )
    pod = Pod(running.pod.name, running.pod.namespace, replace(spec, containers=(more, *others)))
    return replace(running, pod=pod)


def _reserving(rng: Random, node: Node, running: tuple[RunningPod, ...]) -> Node:
    owned = sorted(
        cpu
        for one in running
        if one.placement.node == node.name and one.pod.spec.qos.owns_cpus
        for cpu in one.placement.cpuset
    )
    taken = rng.sample(owned, rng.randint(0, len(owned)))
    return replace(node, reserved_cpus=node.reserved_cpus | frozenset(taken))
