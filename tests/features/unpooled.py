"""Tiny instances with CPUs that are in no pool: reserved ones, and those of running owners."""

from dataclasses import replace
from random import Random

from features.feature import Feature
from placer_models.cluster import Instance
from worlds import pooled


def with_unpooled(rng: Random, instance: Instance) -> Instance:
    """Take some reserved CPUs out of the pools, and those of some running owners."""
    pinned = {
        one.pod.key for one in instance.running if one.pod.spec.qos.owns_cpus and rng.random() < 0.7
    }
    nodes = []
    for node in instance.nodes:
        owned = frozenset[int]().union(
            *(one.placement.cpuset for one in instance.running if one.placement.node == node.name)
        )
        here = (
            one.placement.cpuset
            for one in instance.running
            if one.pod.key in pinned and one.placement.node == node.name
        )
        free = sorted(node.machine.topology.cpu.keys() - owned - node.reserved_cpus)
        reserved = node.reserved_cpus | {*rng.sample(free, min(len(free), rng.choice((0, 1, 2))))}
        out = {cpu for cpu in reserved if rng.random() < 0.7}.union(*here)
        nodes.append(replace(node, reserved_cpus=reserved, unpooled_cpus=frozenset(out)))
    running = tuple(
        replace(one, movable=before.movable and before.pod.key not in pinned)
        for one, before in zip(pooled(nodes, instance.running), instance.running, strict=True)
    )
    return replace(instance, nodes=tuple(nodes), running=running)


FEATURE = Feature("unpooled", with_unpooled)
