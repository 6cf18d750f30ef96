"""Affinity: what pods ask of the pods beside them (C18), as Kubernetes' pod affinity does."""

from dataclasses import dataclass
from enum import StrEnum

from placer_models.network import NODE_LEVEL
from placer_models.policy import MOST_WEIGHT, Strength
from placer_models.selectors import LabelExpression, meets
from placer_models.typed import check_types

EVERY_NAMESPACE = "*"
"""In place of a name: pods of every namespace are looked at."""


OF_ONE_NODE = ("", NODE_LEVEL, "kubernetes.io/hostname")
"""Topology keys by which each node is a domain of its own."""


class AffinityLevel(StrEnum):
    """What two pods share when they are together."""

    NODE = "node"
    """They run on one node."""

    NUMA = "numa"
    """They own CPUs of one NUMA node; CPUs that belong to none are shared with nobody."""

    CORE = "core"
    """They own CPUs of one core, and share what a core has: its L1 and L2 caches."""

    @property
    def place(self) -> str:
        """The level for people."""
        return "NUMA node" if self is AffinityLevel.NUMA else self.value


@dataclass(frozen=True, slots=True)
class AffinityTerm:
    """A pod is together with, or apart from, pods that have some labels.

    Looked at are the other pods of the namespaces, running ones too. On a node, or in a domain
    of nodes, one that is meant is enough to be together; apart, there is none. Inside a node
    only pods that own CPUs are meant, and together are two where every NUMA node, or every core,
    of which the pod owns CPUs has CPUs of one that is meant; apart, none has. Preferred, one
    that wants to be apart loses each pod that it meets, and one that wants others is lost once,
    each times its weight.

    Attributes:
        labels: Labels that a pod must have to match; ascending by key.
        apart: Whether the pod keeps away from those that match.
        topology: A label of nodes, or a level of the network: nodes of one value are one
            domain, and those without a value are in none. Empty: each node is one.
        expressions: What a pod's labels must say besides.
        namespaces: Of the pods that are looked at, ascending; empty: the pod's own.
        weight: What it counts where it is preferred, 1 to 100; 1 where it is required.

    Raises:
        ValueError: The weight is none, or a required term has one.

    """

    labels: tuple[tuple[str, str], ...]
    apart: bool = False
    strength: Strength = Strength.REQUIRED
    level: AffinityLevel = AffinityLevel.NODE
    topology: str = ""
    expressions: tuple[LabelExpression, ...] = ()
    namespaces: tuple[str, ...] = ()
    weight: int = 1

    def __post_init__(self) -> None:
        check_types(self)
        if not 1 <= self.weight <= (1 if self.required else MOST_WEIGHT):
            raise ValueError(
                f"got the weight {self.weight}; expected 1 to {MOST_WEIGHT} for a preferred term, "
                "and none for a required one"
            )

    @property
    def required(self) -> bool:
        """Whether it may not be broken."""
        return self.strength is Strength.REQUIRED

    @property
    def inside(self) -> bool:
        """Whether it is about places inside a node."""
        return self.level is not AffinityLevel.NODE

    @property
    def wide(self) -> bool:
        """Whether it is about domains of several nodes."""
        return bool(self.topology)

    @property
    def keys(self) -> frozenset[str]:
        """The labels of pods that it looks at."""
        return frozenset((*dict(self.labels), *(one.key for one in self.expressions)))

    @property
    def said(self) -> str:
        """The labels that it looks for, for people."""
        labels = (f"{key}={value}" for key, value in self.labels)
        return ",".join((*labels, *map(str, self.expressions))) or "any labels"

    def looks_into(self, namespace: str, own: str) -> bool:
        """Return whether pods of a namespace are looked at, by a pod of its own one."""
        if not self.namespaces:
            return namespace == own
        return namespace in self.namespaces or EVERY_NAMESPACE in self.namespaces

    def means(self, labels: tuple[tuple[str, str], ...], *, owns_cpus: bool) -> bool:
        """Return whether such a pod is meant, if it is of a namespace that is looked at."""
        return (
            (owns_cpus or not self.inside)
            and set(self.labels) <= set(labels)
            and (not self.expressions or meets(labels, self.expressions))
        )
