"""Nodes whose insides are known, and nodes whose devices are known one by one."""

from placer_models.cluster import Node
from placer_models.kubernetes.names import KNOWS_NUMA_NODES
from placer_models.visible_devices import UNNAMED_GPUS

OBJECTS = "objects of Kubernetes"
"""The source of machines that are made of a cluster's objects."""


def is_node_topology_known(node: Node) -> bool:
    """Return whether a node's inside is known.

    It is not where a cluster has no NodeResourceTopology for it: such a node counts as one NUMA
    node, with CPUs whose numbers are made up.
    """
    return OBJECTS not in node.machine.sources or KNOWS_NUMA_NODES in node.labels


def are_node_devices_known(node: Node) -> bool:
    """Return whether a node has devices, and they are known one by one, not counted alone."""
    if OBJECTS not in node.machine.sources:
        return True
    return bool(node.machine.devices) and UNNAMED_GPUS not in node.labels
