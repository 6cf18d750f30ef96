"""Pods that others may have to be with, or keep away from, counted by what affinity looks at."""

from collections import Counter
from collections.abc import Iterable

from placer.state.label_index import LabelIndex, traits_of
from placer_models.affinity import AffinityTerm
from placer_models.cluster import RunningPod


class Company:
    """Running pods, of which those that are alike to every term are one entry."""

    def __init__(self, running: Iterable[RunningPod]) -> None:
        self._counts = Counter(traits_of(r.pod.spec, r.pod.namespace) for r in running)
        self._index = LabelIndex((traits, traits) for traits in self._counts)

    def has(self, term: AffinityTerm, namespace: str) -> bool:
        """Return whether the term of a pod of the namespace means some of them."""
        return self.number(term, namespace, most=1) > 0

    def number(self, term: AffinityTerm, namespace: str, most: int) -> int:
        """Return how many of them the term of a pod of the namespace means.

        Args:
            term: The term.
            namespace: The namespace of the pod whose term it is.
            most: Where that many or more are meant, no further ones are looked for.

        """
        found = 0
        for traits in self._index.meant(term, namespace):
            found += self._counts[traits]
            if found >= most:
                return most
        return found
