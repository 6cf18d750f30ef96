"""Hints and their policies: what is merged, by whose rules, and what comes of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from placer_models.policy import RequiredOrPreferred


@dataclass(frozen=True, slots=True)
class Hint:
    """One set of NUMA nodes on which a resource can be had.

    Attributes:
        affinity: Ids of the NUMA nodes; None: wherever.
        preferred: The set is as good as any for this resource: in general, of the
            fewest NUMA nodes that it ever needs.
        score: Koordinator's: of equally wide sets the higher sum wins. At least 0.

    """

    affinity: frozenset[int] | None
    preferred: bool
    score: int = 0


ProviderHints = Mapping[str, Sequence[Hint] | None]
"""What one provider says of each resource. None: it does not mind where; no hints at
all: the resource cannot be had anywhere. A provider that manages nothing says nothing."""


@dataclass(frozen=True, slots=True)
class Kubelet:
    """Merge as the kubelet's Topology Manager does.

    Attributes:
        distances: Row i, column j: from the i-th to the j-th of the NUMA nodes. Given,
            sets of equal width are compared by their mean distance first, as under
            the option prefer-closest-numa-nodes; empty: that option is off.

    """

    distances: tuple[tuple[int, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Koordinator:
    """Merge as Koordinator's scheduler does.

    Attributes:
        exclusive: Required: what breaks the exclusivity below is never preferred.
        single: NUMA nodes where pods run that have one NUMA node each; required, no
            pod that spans several may have them.
        shared: NUMA nodes where pods run that span several; required, no pod with
            one NUMA node may have them.

    """

    exclusive: RequiredOrPreferred = RequiredOrPreferred.PREFERRED
    single: frozenset[int] = frozenset()
    shared: frozenset[int] = frozenset()

    def allows(self, affinity: frozenset[int] | None) -> bool:
        """Return whether a pod may have the NUMA nodes; wherever is never allowed."""
        if affinity is None:
            return False
        if self.exclusive is RequiredOrPreferred.PREFERRED:
            return True
        return affinity.isdisjoint(self.single if len(affinity) > 1 else self.shared)


@dataclass(frozen=True, slots=True)
class Merged:
    """The NUMA nodes that the peer settles on, and whether it takes the pod.

    Attributes:
        affinity: Ids of the NUMA nodes; None: wherever.
        preferred: Every resource prefers this very set.
        unsatisfied: Koordinator: the set is narrower than some resource asked for.
        score: Koordinator: sum of the scores of the hints that name this very set.
        reasons: Why it is not admitted, in the peer's own words.

    """

    affinity: frozenset[int] | None
    preferred: bool
    admitted: bool
    unsatisfied: bool = False
    score: int = 0
    reasons: tuple[str, ...] = ()
