"""Labels that nodes could be given so that pods which ask for them may go there (G7)."""

from collections.abc import Iterator

from placer.explain.kind_outcome import Option
from placer_models.cluster import Instance
from placer_models.pod import PodSpec, pods_of_gangs
from placer_models.relations import topology_keys_asked
from placer_models.whatif.nodes import SetNodeLabel

SET_BY_MACHINES = ("kubernetes.io", "k8s.io", "nvidia.com", "amd.com")
"""Domains of labels that say what a node is, and that no person gives it."""

SET_BY_PEOPLE = ("node-role.kubernetes.io", "node-restriction.kubernetes.io")
"""Domains of labels below these that people give."""


def missing_labels_to_set_by_node(instance: Instance) -> list[Option]:
    """Return for each node the labels that it lacks of those that waiting pods select nodes by.

    A label that a node has with another value stays: it says something of the node. So do labels
    that say what a machine is, and those by which pods are kept together or apart.
    """
    specs = list(dict.fromkeys(pod.spec for pod in pods_of_gangs(instance.gangs)))
    others = (one.pod.spec for one in instance.running)
    looked_at = {key for spec in (*specs, *others) for key in _other_keys(spec)}
    wanted: dict[str, set[str]] = {}
    for spec in specs:
        for key, value in spec.node_selector:
            wanted.setdefault(key, set()).add(value)
    labels = {
        key: value
        for key, (value, *more) in wanted.items()
        if not more and key not in looked_at and _is_set_by_people(key)
    }
    options = (
        tuple(
            SetNodeLabel(node.name, key, value)
            for key, value in labels.items()
            if key not in dict(node.labels)
        )
        for node in instance.nodes
    )
    return [option for option in options if option]


def _other_keys(spec: PodSpec) -> Iterator[str]:
    """Yield keys of node labels at which a pod looks in other ways than by its selector."""
    yield from topology_keys_asked(spec)
    if spec.node_affinity is not None:
        yield from spec.node_affinity.label_keys


def _is_set_by_people(key: str) -> bool:
    domain, slash, _ = key.rpartition("/")
    if not slash or domain in SET_BY_PEOPLE:
        return True
    return not any(domain == one or domain.endswith(f".{one}") for one in SET_BY_MACHINES)
