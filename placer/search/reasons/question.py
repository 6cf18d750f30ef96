"""The question that a reason is about: one pod and one node, and nothing else that waits."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain

from placer.state.label_index import PodLabelIndex, traits_seen_by_affinity_terms
from placer_models.affinity import AffinityTerm
from placer_models.cluster import Node, RunningPod
from placer_models.effective import effective_alignment_policy
from placer_models.pod import PodSpec
from placer_models.policy import BINDING
from placer_models.records import record

Shunning = tuple[tuple[str, AffinityTerm], ...]
"""(namespace, term) of pods that keep away from whom the term means."""


class RunningAffinityPods:
    """Running pods that others may have to be with, or keep away from.

    Those that are alike to every term are one entry.
    """

    def __init__(self, running: Iterable[RunningPod]) -> None:
        self._counts = Counter(
            traits_seen_by_affinity_terms(r.pod.spec, r.pod.namespace) for r in running
        )
        self._index = PodLabelIndex((traits, traits) for traits in self._counts)

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


@record(frozen=True, slots=True)
class PodOnNode:
    """Could the pod run on the node, were it the only one that waits?

    Attributes:
        namespace: The pod's.
        levels: Levels of the network that its gang requires the node to have.
        running: What runs on the node.
        crowd: The pods that run in the cluster, or None if none do yet and company may come.

    """

    spec: PodSpec
    namespace: str
    levels: tuple[str, ...]
    node: Node
    running: tuple[RunningPod, ...]
    crowd: "OtherPods | None" = None

    def around(self, term: AffinityTerm) -> RunningAffinityPods:
        """Return the pods that run on the node, or in the domain that a term is about."""
        if not term.wide:
            return RunningAffinityPods(self.running)
        return (
            self.crowd.within(self.node, term.topology) if self.crowd else RunningAffinityPods(())
        )


def has_pool_bound_pods(asked: PodOnNode) -> bool:
    """Return whether pods of a pool run on the node that may be bound to some of its NUMA nodes."""
    return any(
        not spec.qos.owns_cpus
        and (spec.constrained_burst or effective_alignment_policy(spec, asked.node) in BINDING)
        for spec in (runner.pod.spec for runner in asked.running)
    )


@dataclass(frozen=True)  # without slots, so that `company` is worked out only once
class OtherPods:
    """The pods that run in a cluster, as affinity sees them.

    Attributes:
        domains: Topology key that some pod looks at -> domain -> pods that run there.

    """

    running: Iterable[RunningPod] = field(repr=False)
    domains: Mapping[str, Mapping[str, Sequence[RunningPod]]] = field(
        default_factory=dict, repr=False
    )
    _companies: dict[tuple[str, str | None], RunningAffinityPods] = field(
        default_factory=dict, repr=False
    )
    _shunning: dict[tuple[str, str], Shunning] = field(default_factory=dict, repr=False)

    @cached_property
    def company(self) -> RunningAffinityPods:
        """All of them."""
        return RunningAffinityPods(self.running)

    def within(self, node: Node, key: str) -> RunningAffinityPods:
        """Return those in the node's domain."""
        domain = node.topology_domain(key) or ""
        return self._company(key, domain, self.domains[key].get(domain, ()))

    def in_domains(self, key: str) -> RunningAffinityPods:
        """Return those in any domain of a key."""
        return self._company(key, None, chain.from_iterable(self.domains[key].values()))

    def shunning_within(self, node: Node, key: str) -> Shunning:
        """Return the terms by which pods of the node's domain keep others out of it."""
        known = key, node.topology_domain(key) or ""
        if known not in self._shunning:
            self._shunning[known] = _shunning(self.domains[key].get(known[1], ()), key)
        return self._shunning[known]

    def _company(
        self, key: str, domain: str | None, running: Iterable[RunningPod]
    ) -> RunningAffinityPods:
        if (key, domain) not in self._companies:
            self._companies[key, domain] = RunningAffinityPods(running)
        return self._companies[key, domain]


def _shunning(running: Iterable[RunningPod], topology: str) -> Shunning:
    """Return the terms by which pods keep others off their node or domain, each once."""
    return tuple(
        dict.fromkeys(
            (runner.pod.namespace, term)
            for runner in running
            for term in runner.pod.spec.affinity
            if _parts(term) and term.topology == topology
        )
    )


def node_lacks_required_affinity_pod(asked: PodOnNode) -> bool:
    """Return whether the node lacks a pod that the pod has to be with."""
    return asked.crowd is not None and any(
        not asked.around(term).has(term, asked.namespace) and not _may_be_first(term, asked)
        for term in asked.spec.affinity
        if term.required and not term.apart and not term.inside
    )


def own_terms_keeping_pod_away(asked: PodOnNode) -> Iterator[AffinityTerm]:
    """Yield the pod's terms that keep it away from a pod on the node, or in a domain of it."""
    for term in asked.spec.affinity:
        if _parts(term) and asked.around(term).has(term, asked.namespace):
            yield term


def is_kept_away_by_others(asked: PodOnNode) -> bool:
    """Return whether a pod on the node, or in a domain of it, keeps away from this one."""
    mine = traits_seen_by_affinity_terms(asked.spec, asked.namespace)
    around = [_shunning(asked.running, "")]
    if asked.crowd is not None:
        around += [asked.crowd.shunning_within(asked.node, key) for key in asked.crowd.domains]
    return any(mine.are_meant(term, namespace) for terms in around for namespace, term in terms)


def pod_labels_sought_text(terms: Iterable[AffinityTerm]) -> str:
    """Return the labels that terms look for, for people."""
    return " and one with ".join(dict.fromkeys(term.said for term in terms))


def affinity_terms_text(terms: Iterable[AffinityTerm]) -> str:
    """Return, for people, the labels that terms look for, and where; empty without terms."""
    places: dict[str, list[AffinityTerm]] = {}
    for term in terms:
        where = f"in the same {term.topology}" if term.wide else "on the node"
        places.setdefault(where, []).append(term)
    return " and one with ".join(
        f"{pod_labels_sought_text(some)} {where}" for where, some in places.items()
    )


def _parts(term: AffinityTerm) -> bool:
    return term.required and term.apart and not term.inside


def _may_be_first(term: AffinityTerm, asked: PodOnNode) -> bool:
    """Return whether the term means the pod itself, and no other pod so far."""
    itself = traits_seen_by_affinity_terms(asked.spec, asked.namespace)
    if asked.crowd is None or not itself.are_meant(term, asked.namespace):
        return False
    if not term.wide:
        return not asked.crowd.company.has(term, asked.namespace)
    belongs = asked.node.topology_domain(term.topology) is not None
    return belongs and not asked.crowd.in_domains(term.topology).has(term, asked.namespace)
