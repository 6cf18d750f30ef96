"""First pods of their kind, which keep company away from other nodes (C18).

A pod whose required affinity means itself and no other pod has a place without company. Who
comes after it and is company that it would have to be with has to come to its domain.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from placer.search.reasons.question import OtherPods
from placer.state.label_index import TraitsSeenByAffinityTerms, traits_seen_by_affinity_terms
from placer.state.out_of_time import OutOfTimeError
from placer_models.affinity import AffinityTerm
from placer_models.cluster import Node, NodesWithCachedFacts, RunningPod
from placer_models.network import NODE_LEVEL
from placer_models.pod import PodSpec
from placer_models.selectors import LabelPair, required_label_clauses


@dataclass(frozen=True, slots=True)
class FirstAffinityPod:
    """A pod of the answer that has no company because its term means no other pod."""

    namespace: str
    term: AffinityTerm
    domain: str

    def keeps_off(self, node: Node) -> bool:
        """Return whether company of the pod may not be on the node."""
        domain = node.topology_domain(self.term.topology or NODE_LEVEL)
        return domain not in (None, self.domain)


class FirstAffinityPods:
    """The first pods of an answer, found by the labels of whom they mean."""

    def __init__(self, found: Iterable[FirstAffinityPod] = ()) -> None:
        self._by_label: dict[LabelPair | None, list[FirstAffinityPod]] = {}
        self._meaning: dict[TraitsSeenByAffinityTerms, tuple[FirstAffinityPod, ...]] = {}
        for first in found:
            # A pod that is meant has one of these labels; None stands for any labels.
            few: Sequence[LabelPair | None] = min(
                required_label_clauses(first.term.labels, first.term.expressions),
                key=len,
                default=(None,),
            )
            for label in few:
                self._by_label.setdefault(label, []).append(first)

    def keep_off(self, spec: PodSpec, namespace: str, node: Node) -> bool:
        """Return whether a pod on the node would be company that one of them has to be with."""
        return bool(self._by_label) and any(
            first.keeps_off(node) for first in self._that_mean(spec, namespace)
        )

    def _that_mean(self, spec: PodSpec, namespace: str) -> tuple[FirstAffinityPod, ...]:
        """Return those for which such a pod would be company."""
        traits = traits_seen_by_affinity_terms(spec, namespace)
        if traits not in self._meaning:
            found = (one for label in (None, *spec.labels) for one in self._by_label.get(label, ()))
            self._meaning[traits] = tuple(
                first for first in found if traits.are_meant(first.term, first.namespace)
            )
        return self._meaning[traits]


def find_first_affinity_pods(
    nodes: tuple[Node, ...],
    arrived: Iterable[RunningPod],
    crowd: OtherPods,
    stop: Callable[[], bool],
) -> Iterator[FirstAffinityPod]:
    """Yield each of the pods that have arrived that is the first of its kind.

    Args:
        nodes: All nodes.
        arrived: The pods of the answer.
        crowd: They, and all pods that run.
        stop: Asked for each pod whether the time is over.

    Raises:
        OutOfTimeError: The time was over before all were looked at.

    """
    here = NodesWithCachedFacts.of(nodes)
    for runner in arrived:
        if stop():
            raise OutOfTimeError
        namespace, spec = runner.pod.namespace, runner.pod.spec
        for term in spec.affinity:
            if not term.required or term.apart:
                continue
            itself = traits_seen_by_affinity_terms(spec, namespace).are_meant(term, namespace)
            if crowd.company.number(term, namespace, most=2) == int(itself):
                place = here[here.position[runner.placement.node]]
                domain = place.topology_domain(term.topology or NODE_LEVEL)
                yield FirstAffinityPod(namespace, term, domain or "")
