"""Worlds whose nodes have bind policies of their own."""

from dataclasses import replace
from random import Random

from features.feature import Feature
from placer_models.cluster import Instance
from placer_models.policy import NodeBindPolicy
from placer_models.topology import ARM
from worlds import tiny_instance


def with_node_binds(rng: Random, instance: Instance) -> Instance:
    """Give nodes a bind policy; some machines are Arm."""
    nodes = []
    for node in instance.nodes:
        machine = node.machine
        if rng.random() < 0.15:
            topology = replace(machine.topology, architecture=ARM)
            machine = replace(machine, topology=topology)
        cpu_bind = rng.choice((*NodeBindPolicy, NodeBindPolicy.FULL_PCPUS_ONLY))
        nodes.append(replace(node, machine=machine, cpu_bind=cpu_bind))
    return replace(instance, nodes=tuple(nodes))


def node_bind_instance(seed: int) -> Instance:
    """Draw a tiny instance whose nodes have bind policies."""
    return with_node_binds(Random(f"node-bind-{seed}"), tiny_instance(seed))


FEATURE = Feature("node_binds", with_node_binds)
