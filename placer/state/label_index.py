"""Pods by their labels, so that whom an affinity term means is found without a look at each."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Generic, NamedTuple, TypeVar

from placer_models.affinity import AffinityTerm
from placer_models.pod import PodSpec
from placer_models.selectors import Labels, SelectorOperator

LabelPair = tuple[str, str]
"""A key and its value."""

T = TypeVar("T")


class Traits(NamedTuple):
    """What affinity looks at of a pod; to every term pods with the same are alike."""

    namespace: str
    labels: Labels
    owns_cpus: bool


def traits_of(spec: PodSpec, namespace: str) -> Traits:
    """Return what affinity looks at of a pod."""
    return Traits(namespace, spec.labels, spec.qos.owns_cpus)


class LabelIndex(Generic[T]):
    """Things with the traits of pods, found by the rarest of the labels that a term asks for."""

    def __init__(self, shapes: Iterable[tuple[T, Traits]]) -> None:
        self._things = list(shapes)

    def meant(self, term: AffinityTerm, namespace: str) -> Iterator[T]:
        """Yield the things that the term of a pod of the namespace means."""
        for shape, traits in self._few(term):
            if term.looks_into(traits.namespace, namespace) and term.means(
                traits.labels, owns_cpus=traits.owns_cpus
            ):
                yield shape

    def _few(self, term: AffinityTerm) -> Collection[tuple[T, Traits]]:
        """Return few things that include all that the term means, in their order."""
        if len(self._things) < 2:
            return self._things
        few: Sequence[Sequence[tuple[T, Traits]]] = [self._things]
        for labels in asked_labels(term):
            having = [self._having.get(label, ()) for label in labels]
            if sum(map(len, having)) < sum(map(len, few)):
                few = having
        return few[0] if len(few) == 1 else [one for some in few for one in some]

    @cached_property
    def _having(self) -> Mapping[LabelPair, Sequence[tuple[T, Traits]]]:
        found: dict[LabelPair, list[tuple[T, Traits]]] = {}
        for one in self._things:
            for label in one[1].labels:
                found.setdefault(label, []).append(one)
        return found


def asked_labels(term: AffinityTerm) -> Iterator[Sequence[LabelPair]]:
    """Yield sets of labels, of each of which a pod has to have one for the term to mean it."""
    for label in term.labels:
        yield (label,)
    for one in term.expressions:
        if one.operator is SelectorOperator.IN:
            yield [(one.key, value) for value in one.values]
