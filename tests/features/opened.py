"""Tiny instances with offered nodes: some are not there yet, and using one opens it."""

from dataclasses import replace
from random import Random

from features.feature import Feature
from placer_models.cluster import Instance, Node
from tiny_machines import unused_name


def with_offers(rng: Random, instance: Instance) -> Instance:
    """Offer some of the nodes, and now and then one more that is equal to another."""
    nodes = [replace(node, offered=rng.random() < 0.7) for node in instance.nodes]
    if len(nodes) == 1 and rng.random() < 0.6:
        twin: Node = replace(nodes[0], name=unused_name(nodes))
        nodes.append(replace(twin, offered=True) if rng.random() < 0.7 else twin)
    return replace(instance, nodes=tuple(nodes))


FEATURE = Feature("opened", with_offers)
