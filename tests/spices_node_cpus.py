"""Worlds whose nodes have words of their own about the CPUs that pods own."""

from dataclasses import replace
from random import Random

from placer_models.cluster import Instance
from placer_models.policy import NodeBindPolicy
from placer_models.topology import ARM
from worlds import tiny_instance


def spice_node_binds(rng: Random, instance: Instance) -> Instance:
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
    return spice_node_binds(Random(f"node-bind-{seed}"), tiny_instance(seed))
