"""What pods ask of the pods beside them (C18), as Kubernetes' pod affinity does."""

from dataclasses import dataclass
from enum import StrEnum

from placer_models.policy import Strength


class AffinityLevel(StrEnum):
    """What two pods share when they are together."""

    NODE = "node"
    """They run on one node."""


@dataclass(frozen=True, slots=True)
class AffinityTerm:
    """A pod is together with, or apart from, pods that have some labels.

    Looked at are the other pods of the pod's namespace, running ones too. One that matches
    is enough to be together; apart, there is none.

    Attributes:
        labels: Labels that a pod must have to match; ascending by key, one or more.
        apart: Whether the pod keeps away from those that match.

    """

    labels: tuple[tuple[str, str], ...]
    apart: bool = False
    strength: Strength = Strength.REQUIRED
    level: AffinityLevel = AffinityLevel.NODE

    @property
    def required(self) -> bool:
        """Whether it may not be broken."""
        return self.strength is Strength.REQUIRED

    def matches(self, labels: tuple[tuple[str, str], ...]) -> bool:
        """Return whether a pod of the labels is meant, if it is of the same namespace."""
        return set(self.labels) <= set(labels)
