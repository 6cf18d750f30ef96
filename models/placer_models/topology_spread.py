"""Topology spread: pods of a kind spread evenly over domains of nodes, as in Kubernetes."""

from dataclasses import dataclass

from placer_models.policy import RequiredOrPreferred
from placer_models.selectors import LabelExpression, Labels, labels_meet
from placer_models.typed import check_field_types


@dataclass(frozen=True, slots=True)
class SpreadConstraint:
    """How evenly pods are to be spread over the domains of a topology key.

    The pods of the pod's namespace that have the labels are counted, running ones too, on the
    nodes that are looked at. These are the nodes with a domain by every key that the pod spreads
    over with the same strength. The pod's own domain has at most ``max_skew`` more pods than the
    domain with the fewest.

    Attributes:
        topology: A label of nodes, or a level of the network; `node` is each node by itself.
        labels: Labels that a pod must have to be counted; ascending by key.
        expressions: What a pod's labels must meet as well to be counted.
        min_domains: If there are fewer domains than this, the fewest pods count as 0.
        by_selector: Only nodes that the pod's own node selector and affinity admit are looked at.
        by_taints: Only nodes that are not cordoned, and without taints that keep the pod off,
            are looked at.

    Raises:
        ValueError: The skew, or the number of domains, is below 1.

    """

    topology: str
    max_skew: int = 1
    strength: RequiredOrPreferred = RequiredOrPreferred.REQUIRED
    labels: Labels = ()
    expressions: tuple[LabelExpression, ...] = ()
    min_domains: int = 1
    by_selector: bool = True
    by_taints: bool = False

    def __post_init__(self) -> None:
        check_field_types(self)
        for name, number in (("maxSkew", self.max_skew), ("minDomains", self.min_domains)):
            if number < 1:
                raise ValueError(f"got {name} {number}; expected 1 or more")

    @property
    def required(self) -> bool:
        """Whether the constraint may not be broken."""
        return self.strength is RequiredOrPreferred.REQUIRED

    @property
    def keys(self) -> frozenset[str]:
        """Keys of the pod labels that the constraint looks at."""
        return frozenset((*dict(self.labels), *(one.key for one in self.expressions)))

    def means(self, labels: Labels) -> bool:
        """Return whether a pod of the namespace counts."""
        return set(self.labels) <= set(labels) and labels_meet(labels, self.expressions)
