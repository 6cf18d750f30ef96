"""Open nodes: those that pods may come to, by what the nodes are and not by what they have."""

from collections.abc import Hashable, Sequence

from placer_models.cluster import Node
from placer_models.pod import PodSpec
from placer_models.taints import Taint, Toleration


def admits_new_pods(node: Node, spec: PodSpec) -> bool:
    """Return whether new pods of the spec may come to the node: all five rules about that hold."""
    return (
        not node.cordoned
        and not node.closed
        and not any(taint.keeps_off for taint in untolerated_taints(node, spec.tolerations))
        and not missing_labels(node, spec)
        and meets_node_affinity(node, spec)
    )


def open_nodes_key_of_spec(spec: PodSpec) -> Hashable:
    """Return all that decides which nodes are open to pods; who agrees in it has the same ones."""
    return spec.node_selector, spec.node_affinity, spec.tolerations


def untolerated_taints(node: Node, tolerations: Sequence[Toleration]) -> list[Taint]:
    """Return the taints of a node that a pod does not tolerate."""
    return [
        taint
        for taint in node.taints
        if not any(toleration.tolerates(taint) for toleration in tolerations)
    ]


def missing_labels(node: Node, spec: PodSpec) -> list[tuple[str, str]]:
    """Return the labels that a pod asks for and the node does not have."""
    labels = dict(node.labels)
    return [(key, value) for key, value in spec.node_selector if labels.get(key) != value]


def meets_node_affinity(node: Node, spec: PodSpec) -> bool:
    """Return whether the node meets one of the terms that the pod requires, if it requires any."""
    required = spec.node_affinity.required if spec.node_affinity is not None else ()
    return not required or any(term.met_by(node.name, node.labels) for term in required)
