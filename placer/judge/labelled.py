"""Pods of a scene by their labels, so that not every pod is compared with every term."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from placer.judge.scene import InstanceWithPlacement, JudgedNode, PlacedPod
from placer_models.selectors import Labels

_Label = tuple[str, str]

Sited = tuple[JudgedNode, PlacedPod]
"""A pod with the judged node of its node."""


class JudgedPodsByLabel:
    """The pods of all nodes, running and new, found by one of their labels."""

    def __init__(self, scene: InstanceWithPlacement) -> None:
        """Begin with nothing looked up."""
        self._scene = scene
        self._entered = {judged.node.name for judged in scene.entered}
        self._pods: dict[_Label | None, Sequence[Sited]] = {}
        self._in_domains: dict[tuple[str, _Label | None], Mapping[str, Sequence[Sited]]] = {}

    def pods(self, labels: Labels) -> Sequence[Sited]:
        """Return all pods with the rarest of some labels; without labels, all pods."""
        return self._having(self._rarest(labels))

    def pods_in(self, key: str, domain: str, labels: Labels) -> Sequence[Sited]:
        """Return those of the pods whose nodes are in a domain of a topology key."""
        label = self._rarest(labels)
        known = key, label
        if known not in self._in_domains:
            found: defaultdict[str, list[Sited]] = defaultdict(list)
            for one in self._having(label):
                if (there := one[0].node.topology_domain(key)) is not None:
                    found[there].append(one)
            self._in_domains[known] = dict(found)
        return self._in_domains[known].get(domain, ())

    def _rarest(self, labels: Labels) -> _Label | None:
        return min(labels, key=lambda label: len(self._having(label)), default=None)

    def _having(self, label: _Label | None) -> Sequence[Sited]:
        if label not in self._pods:
            self._pods[label] = [
                (judged, one)
                for judged in self._judged_nodes(label)
                for one in judged.placed_pods
                if label is None or label in one.pod.spec.labels
            ]
        return self._pods[label]

    def _judged_nodes(self, label: _Label | None) -> Iterable[JudgedNode]:
        """Return the judged nodes on which a pod has the label, and perhaps others."""
        if label is None:
            return self._scene.everywhere()
        found = [*self._scene.entered]
        for part in self._scene.nodes_before.of_parts(_by_label):
            found += [s for s in part.get(label, ()) if s.node.name not in self._entered]
        return found


def _by_label(judged_nodes: Iterable[JudgedNode]) -> Mapping[_Label, Sequence[JudgedNode]]:
    """Return label -> the judged nodes on which a pod has it, each once."""
    found: defaultdict[_Label, list[JudgedNode]] = defaultdict(list)
    for judged in judged_nodes:
        for label in dict.fromkeys(one for t in judged.placed_pods for one in t.pod.spec.labels):
            found[label].append(judged)
    return found
