"""Spread constraints that keep a pod off nodes, beside what is there at a stage."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from placer_models.cluster import Node, RunningPod
from placer_models.pod import PodSpec
from placer_models.reasons import Blocker, Demand
from placer_models.spreading import Spreading, spreadings_of

OF_OTHERS = "of a pod that is placed"
"""What a blocker says of a constraint that is another pod's."""


@dataclass(slots=True)
class Spreads:
    """The pods that count for spread constraints, node by node.

    Attributes:
        nodes: All nodes.
        running: The pods that are on each of them.
        arrived: Those of them that this answer placed. Their constraints are to be kept, too.

    """

    nodes: Sequence[Node]
    running: Sequence[Sequence[RunningPod]]
    arrived: Sequence[RunningPod] = ()
    _counts: dict[Spreading, dict[str, int]] = field(default_factory=dict)
    _asked: dict[Spreading, set[str]] | None = None

    def blocker(self, spec: PodSpec, namespace: str, node: Node) -> Blocker | None:
        """Return what one more pod on the node would break, or None if nothing."""
        for own in spreadings_of(spec, namespace):
            if own.constraint.required and (word := self._broken(own, spec, namespace, node)):
                return Blocker(Demand("topology-spread", word=word))
        for other, domains in self._asked_by_arrived().items():
            met = other.domain(node) in domains and other.means(spec, namespace)
            if met and self._broken(other, spec, namespace, node):
                return Blocker(Demand("topology-spread", word=OF_OTHERS))
        return None

    def _broken(self, spreading: Spreading, spec: PodSpec, namespace: str, node: Node) -> str:
        here = spreading.domain(node)
        if here is None:
            return f"a node with {' and '.join(spreading.keys)}"
        if spreading not in self._counts:
            self._counts[spreading] = self._counted(spreading)
        counts = dict(self._counts[spreading])
        counts[here] += spreading.means(spec, namespace)
        most = spreading.constraint.max_skew
        if counts[here] - spreading.fewest([*counts.values()]) <= most:
            return ""
        return f"a skew of {most} at most over {spreading.constraint.topology}"

    def _counted(self, spreading: Spreading) -> dict[str, int]:
        counts: dict[str, int] = {}
        for node, running in zip(self.nodes, self.running, strict=True):
            if (domain := spreading.domain(node)) is not None:
                pods = (runner.pod for runner in running)
                met = sum(spreading.means(pod.spec, pod.namespace) for pod in pods)
                counts[domain] = counts.get(domain, 0) + met
        return counts

    def _asked_by_arrived(self) -> dict[Spreading, set[str]]:
        """Return constraint of pods that have arrived -> the domains that those pods are in."""
        if self._asked is None:
            node_of = {node.name: node for node in self.nodes}
            self._asked = {}
            for runner in self.arrived:
                for one in spreadings_of(runner.pod.spec, runner.pod.namespace):
                    domain = one.domain(node_of[runner.placement.node])
                    if one.constraint.required and domain is not None:
                        self._asked.setdefault(one, set()).add(domain)
        return self._asked
