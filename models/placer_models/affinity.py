"""Affinity: what pods ask of the pods beside them (C18), as Kubernetes' pod affinity does."""

from dataclasses import dataclass
from enum import StrEnum

from placer_models.policy import Strength
from placer_models.typed import check_types


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

    Looked at are the other pods of the pod's namespace, running ones too. On a node one that
    is meant is enough to be together; apart, there is none. Inside a node only pods that own
    CPUs are meant, and together are two where every NUMA node, or every core, of which the
    pod owns CPUs has CPUs of one that is meant; apart, none has. Preferred, one that wants
    to be apart loses each pod that it meets, and one that wants others is lost once.

    Attributes:
        labels: Labels that a pod must have to match; ascending by key, one or more.
        apart: Whether the pod keeps away from those that match.

    """

    labels: tuple[tuple[str, str], ...]
    apart: bool = False
    strength: Strength = Strength.REQUIRED
    level: AffinityLevel = AffinityLevel.NODE

    def __post_init__(self) -> None:
        check_types(self)

    @property
    def required(self) -> bool:
        """Whether it may not be broken."""
        return self.strength is Strength.REQUIRED

    @property
    def inside(self) -> bool:
        """Whether it is about places inside a node."""
        return self.level is not AffinityLevel.NODE

    def means(self, labels: tuple[tuple[str, str], ...], *, owns_cpus: bool) -> bool:
        """Return whether such a pod is meant, if it is of the same namespace."""
        return (owns_cpus or not self.inside) and set(self.labels) <= set(labels)
