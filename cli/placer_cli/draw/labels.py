"""Labels of nodes that pods look at: the others say nothing about why somebody waits."""

from collections.abc import Collection, Iterator

from placer_models.cluster import Instance
from placer_models.placement import NamespacedName
from placer_models.pod import PodSpec, pods_of
from placer_models.relations import topology_keys_asked


def labels_looked_at(instance: Instance, pods: Collection[NamespacedName]) -> frozenset[str]:
    """Return the keys of all labels that some of the pods which wait name, whatever they ask."""
    specs = dict.fromkeys(pod.spec for pod in pods_of(instance.gangs) if pod.key in pods)
    return frozenset(key for spec in specs for key in _keys(spec))


def _keys(spec: PodSpec) -> Iterator[str]:
    yield from (key for key, _ in spec.node_selector)
    if spec.node_affinity is not None:
        wished = (wish.term for wish in spec.node_affinity.preferred)
        for term in (*spec.node_affinity.required, *wished):
            yield from (one.key for one in term.expressions)
    yield from topology_keys_asked(spec)
