"""Spreading: what a pod's spread constraints look at. The judge has its own version."""

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from placer_models.cluster import Node
from placer_models.node_affinity import NodeAffinity
from placer_models.pod import PodSpec
from placer_models.selectors import LabelPair, Labels, required_label_clauses
from placer_models.taints import Toleration, untolerated_taints_of_strength
from placer_models.topology_spread import SpreadConstraint

OWN_PREFIX = "placer:"
"""Prefix of labels that stand for what nodes have and are not labels of the cluster.

No label of a cluster begins with it, as no name of a label in Kubernetes has a colon.
"""


@dataclass(frozen=True, slots=True)
class ResolvedSpreadConstraint:
    """A constraint and all that decides what it counts; pods that agree in all of it share it.

    Attributes:
        namespace: Namespace of the pods that count.
        keys: Topology keys by each of which a node has to be in a domain.
        selector: Labels that a node has to have.
        affinity: Node affinity that a node has to meet as well.
        tolerations: Tolerations of the pods, if the constraint looks at taints.

    """

    constraint: SpreadConstraint
    namespace: str
    keys: tuple[str, ...]
    selector: Labels
    affinity: NodeAffinity | None = None
    tolerations: tuple[Toleration, ...] = ()

    @property
    def topology(self) -> str:
        """The topology key whose domains it counts."""
        return self.constraint.topology

    @property
    def looks(self) -> tuple[Hashable, ...]:
        """All that decides which nodes it looks at, and what their domains are."""
        return (
            self.constraint.topology,
            self.constraint.by_taints,
            self.keys,
            self.selector,
            self.affinity,
            self.tolerations,
        )

    @property
    def label_choices(self) -> Iterable[Sequence[LabelPair]]:
        """Sets of labels, of each of which a pod that counts has one."""
        return required_label_clauses(self.constraint.labels, self.constraint.expressions)

    def domain(self, node: Node) -> str | None:
        """Return the node's domain, or None if the constraint does not look at the node."""
        if self.selector:
            labels = dict(node.labels)
            if any(labels.get(key) != value for key, value in self.selector):
                return None
        if self.affinity and not self.affinity.allows(node.name, node.labels):
            return None
        if self.constraint.by_taints and (node.cordoned or self._is_kept_off(node)):
            return None
        for key in self.keys:
            if key != self.constraint.topology and node.topology_domain(key) is None:
                return None
        return node.topology_domain(self.constraint.topology)

    def _is_kept_off(self, node: Node) -> bool:
        return any(untolerated_taints_of_strength(node.taints, self.tolerations, keep_off=True))

    def means(self, spec: PodSpec, namespace: str) -> bool:
        """Return whether a pod counts."""
        return namespace == self.namespace and self.constraint.means(spec.labels)

    @property
    def required(self) -> bool:
        """Whether the constraint may not be broken."""
        return self.constraint.required

    @property
    def most(self) -> int:
        """How many more pods than the domain with the fewest a domain may have."""
        return self.constraint.max_skew

    def is_beyond_fewest(self, domains: int) -> bool:
        """Return whether the fewest pods in any of so many domains are looked at, and not 0."""
        return domains >= self.constraint.min_domains or not self.constraint.required

    @property
    def said(self) -> str:
        """The constraint, as one part of a sentence."""
        return f"a skew of {self.most} at most over {self.constraint.topology}"

    @property
    def nodes_said(self) -> str:
        """The nodes that the constraint looks at, as one part of a sentence."""
        return f"a node with {' and '.join(self.keys)}"


def resolved_spread_constraints_of(
    spec: PodSpec, namespace: str
) -> Iterator[ResolvedSpreadConstraint]:
    """Yield what a pod's constraints look at."""
    for constraint in spec.spread:
        alike = (c.topology for c in spec.spread if c.required is constraint.required)
        selector = spec.node_selector if constraint.by_selector else ()
        asked = spec.node_affinity.required if spec.node_affinity else ()
        yield ResolvedSpreadConstraint(
            constraint,
            namespace,
            tuple(sorted(set(alike))),
            tuple(label for label in selector if not label[0].startswith(OWN_PREFIX)),
            NodeAffinity(asked) if constraint.by_selector and asked else None,
            spec.tolerations if constraint.by_taints else (),
        )
