"""Affinity: what pods ask of the pods beside them (C18), as Kubernetes' pod affinity does."""

from dataclasses import dataclass
from enum import StrEnum

from placer_models.network import NODE_LEVEL
from placer_models.policy import MOST_WEIGHT, RequiredOrPreferred
from placer_models.selectors import LabelExpression, labels_meet
from placer_models.typed import check_field_types

SYSTEM_NAMESPACE = "node-system"
"""The namespace of pods that stand for what the system keeps of nodes; no term means them."""

EVERY_NAMESPACE = "*"
"""Stands in place of a namespace's name: pods of every namespace are looked at."""


OF_ONE_NODE = ("", NODE_LEVEL, "kubernetes.io/hostname")
"""Topology keys by which each node is a domain of its own."""


class InNodeAffinityLevel(StrEnum):
    """What two pods share when they are together."""

    NODE = "node"
    """They run on one node."""

    NUMA = "numa"
    """They own CPUs of one NUMA node; CPUs without a NUMA node are shared with nobody."""

    CORE = "core"
    """They own CPUs of one core, and share what a core has: its L1 and L2 caches."""

    @property
    def place(self) -> str:
        """The level for people."""
        return "NUMA node" if self is InNodeAffinityLevel.NUMA else self.value


INSIDE = (InNodeAffinityLevel.NUMA, InNodeAffinityLevel.CORE)
"""The levels inside a node."""


@dataclass(frozen=True, slots=True)
class AffinityTerm:
    """A wish of a pod to be together with, or apart from, pods that have some labels.

    The term looks at the other pods of its namespaces, running ones too. On a node, or in a
    domain of nodes, a pod is together if one pod that the term means is there, and apart if
    none is. Inside a node the term means only pods that own CPUs. There a pod is together if
    each NUMA node, or core, that it owns CPUs of has CPUs of a pod that is meant, and apart if
    none has. A preferred term to be apart costs its weight for each pod that is met. A
    preferred term to be together costs its weight once if it is not kept.

    Attributes:
        labels: Labels that a pod must have to match; ascending by key.
        apart: Whether the pod keeps away from those that match.
        topology: A label of nodes, or a level of the network: nodes with the same value are one
            domain, and nodes without a value are in none. Empty: each node is a domain.
        expressions: What a pod's labels must meet as well to match.
        namespaces: Namespaces of the pods that are looked at, ascending; empty: the pod's own.
        weight: What the term counts if it is preferred, 1 to 100; 1 if it is required.

    Raises:
        ValueError: The weight is not in that range, or a required term has one other than 1.

    """

    labels: tuple[tuple[str, str], ...]
    apart: bool = False
    strength: RequiredOrPreferred = RequiredOrPreferred.REQUIRED
    level: InNodeAffinityLevel = InNodeAffinityLevel.NODE
    topology: str = ""
    expressions: tuple[LabelExpression, ...] = ()
    namespaces: tuple[str, ...] = ()
    weight: int = 1

    def __post_init__(self) -> None:
        check_field_types(self)
        if not 1 <= self.weight <= (1 if self.required else MOST_WEIGHT):
            raise ValueError(
                f"got the weight {self.weight}; expected 1 to {MOST_WEIGHT} for a preferred term, "
                "and none for a required one"
            )

    @property
    def required(self) -> bool:
        """Whether the term may not be broken."""
        return self.strength is RequiredOrPreferred.REQUIRED

    @property
    def inside(self) -> bool:
        """Whether the term is about places inside a node."""
        return self.level is not InNodeAffinityLevel.NODE

    @property
    def wide(self) -> bool:
        """Whether the term is about domains of several nodes."""
        return bool(self.topology)

    @property
    def keys(self) -> frozenset[str]:
        """Keys of the pod labels that the term looks at."""
        return frozenset((*dict(self.labels), *(one.key for one in self.expressions)))

    @property
    def said(self) -> str:
        """The labels that the term looks for, as text for people."""
        labels = (f"{key}={value}" for key, value in self.labels)
        return ",".join((*labels, *map(str, self.expressions))) or "any labels"

    def looks_into(self, namespace: str, own: str) -> bool:
        """Return whether a pod of the namespace ``own`` looks at pods of a namespace."""
        if not self.namespaces:
            return namespace == own
        every = EVERY_NAMESPACE in self.namespaces and namespace != SYSTEM_NAMESPACE
        return namespace in self.namespaces or every

    def means(self, labels: tuple[tuple[str, str], ...], *, owns_cpus: bool) -> bool:
        """Return whether the term means a pod like this, if its namespace is looked at."""
        return (
            (owns_cpus or not self.inside)
            and set(self.labels) <= set(labels)
            and (not self.expressions or labels_meet(labels, self.expressions))
        )
