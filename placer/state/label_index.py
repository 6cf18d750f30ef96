"""Pods by their labels, so that whom an affinity term means is found without a look at each."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Generic, NamedTuple, TypeVar

from placer_models.affinity import AffinityTerm
from placer_models.pod import PodSpec
from placer_models.selectors import LabelPair, Labels, required_label_clauses

T = TypeVar("T")


class TraitsSeenByAffinityTerms(NamedTuple):
    """What affinity looks at of a pod; to every term pods with the same are alike."""

    namespace: str
    labels: Labels
    owns_cpus: bool

    def are_meant(self, term: AffinityTerm, namespace: str) -> bool:
        """Return whether the term of a pod of the namespace means a pod that has them."""
        return term.looks_into(self.namespace, namespace) and term.means(
            self.labels, owns_cpus=self.owns_cpus
        )


def traits_seen_by_affinity_terms(spec: PodSpec, namespace: str) -> TraitsSeenByAffinityTerms:
    """Return what affinity looks at of a pod."""
    return TraitsSeenByAffinityTerms(namespace, spec.labels, spec.qos.owns_cpus)


class PodLabelIndex(Generic[T]):
    """Things with the traits of pods, found by the rarest of the labels that a term asks for."""

    def __init__(self, things: Iterable[tuple[T, TraitsSeenByAffinityTerms]] = ()) -> None:
        """Begin with things, each of them once."""
        self._things: dict[T, TraitsSeenByAffinityTerms] = {}
        self._having: dict[LabelPair, dict[T, TraitsSeenByAffinityTerms]] = {}
        for thing, traits in things:
            self.add(thing, traits)

    def add(self, thing: T, traits: TraitsSeenByAffinityTerms) -> None:
        """Add a thing that is not there yet."""
        self._things[thing] = traits
        for label in traits.labels:
            self._having.setdefault(label, {})[thing] = traits

    def remove(self, thing: T) -> None:
        """Take a thing away that is there."""
        for label in self._things.pop(thing).labels:
            having = self._having[label]
            del having[thing]
            if not having:
                del self._having[label]

    def meant(self, term: AffinityTerm, namespace: str) -> Iterator[T]:
        """Yield the things that the term of a pod of the namespace means."""
        for thing, traits in self.candidates(required_label_clauses(term.labels, term.expressions)):
            if traits.are_meant(term, namespace):
                yield thing

    def candidates(
        self, choices: Iterable[Sequence[LabelPair]]
    ) -> Iterator[tuple[T, TraitsSeenByAffinityTerms]]:
        """Yield few things that include all with one label of each choice, each of them once."""
        few: Sequence[Mapping[T, TraitsSeenByAffinityTerms]] = [self._things]
        for labels in choices:
            having = [self._having.get(label, {}) for label in labels]
            if sum(map(len, having)) < sum(map(len, few)):
                few = having
        for some in few:
            yield from some.items()
