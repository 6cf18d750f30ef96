"""Tiny instances in which running pods are where no new pod could be."""

from dataclasses import replace
from random import Random

from placer_models.cluster import Instance, Node, RunningPod
from placer_models.pod import Pod


def spice_misfits(rng: Random, instance: Instance) -> Instance:
    """Reserve CPUs that running pods own, and let pods of pools ask for more than there is."""
    running = tuple(_asking(rng, one) if rng.random() < 0.5 else one for one in instance.running)
    nodes = tuple(_reserving(rng, node, running) for node in instance.nodes)
    return replace(instance, nodes=nodes, running=running)


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
