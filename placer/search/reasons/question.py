"""The question that a reason is about: one pod and one node, and nothing else that waits."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from placer_models.affinity import AffinityTerm
from placer_models.cluster import Node, RunningPod
from placer_models.effective import effective_alignment
from placer_models.network import NODE_LEVEL
from placer_models.pod import PodSpec
from placer_models.policy import AlignmentPolicy
from placer_models.records import record


@record(frozen=True, slots=True)
class Question:
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
    crowd: "Crowd | None" = None

    def around(self, term: AffinityTerm) -> Sequence[RunningPod]:
        """Return the pods that run on the node, or in the domain that a term is about."""
        if not term.wide:
            return self.running
        return self.crowd.within(self.node, term.topology) if self.crowd else ()


def has_bound(asked: Question) -> bool:
    """Return whether pods of a pool run on the node that may be bound to some of its NUMA nodes."""
    binding = (AlignmentPolicy.RESTRICTED, AlignmentPolicy.SINGLE_NUMA_NODE)
    return any(
        not spec.qos.owns_cpus
        and (spec.constrained_burst or effective_alignment(spec, asked.node) in binding)
        for spec in (runner.pod.spec for runner in asked.running)
    )


@dataclass(frozen=True)  # without slots, so that `sides` is worked out only once
class Crowd:
    """The pods that run in a cluster, as affinity sees them.

    Attributes:
        domains: Topology key that some pod looks at -> domain -> pods that run there.

    """

    running: Iterable[RunningPod] = field(repr=False)
    domains: Mapping[str, Mapping[str, Sequence[RunningPod]]] = field(
        default_factory=dict, repr=False
    )

    def within(self, node: Node, key: str) -> Sequence[RunningPod]:
        """Return the pods that run in the node's domain."""
        return self.domains[key].get(node.topology_domain(key) or "", ())

    @cached_property
    def sides(self) -> frozenset[tuple[str, tuple[tuple[str, str], ...], bool]]:
        """(namespace, labels, whether it owns CPUs) of the running pods, each combination once."""
        return frozenset(
            (r.pod.namespace, r.pod.spec.labels, r.pod.spec.qos.owns_cpus) for r in self.running
        )

    def has(self, term: AffinityTerm, namespace: str) -> bool:
        """Return whether the term of a pod of the namespace means some pod that runs."""
        return any(
            term.looks_into(where, namespace) and term.means(labels, owns_cpus=owns)
            for where, labels, owns in self.sides
        )


def lacks_company(asked: Question) -> bool:
    """Return whether the node lacks a pod that the pod has to be with."""
    return asked.crowd is not None and any(
        not Crowd(asked.around(term)).has(term, asked.namespace) and not _may_be_first(term, asked)
        for term in asked.spec.affinity
        if term.required and not term.apart and not term.inside
    )


def unwanted_there(asked: Question) -> Iterator[AffinityTerm]:
    """Yield the pod's terms that keep it away from a pod on the node, or in a domain of it."""
    for term in asked.spec.affinity:
        if _parts(term) and Crowd(asked.around(term)).has(term, asked.namespace):
            yield term


def is_unwanted(asked: Question) -> bool:
    """Return whether a pod on the node, or in a domain of it, keeps away from this one."""
    mine = asked.spec
    around: list[tuple[str, Sequence[RunningPod]]] = [("", asked.running)]
    if asked.crowd is not None:
        around += [(key, asked.crowd.within(asked.node, key)) for key in asked.crowd.domains]
    return any(
        term.looks_into(asked.namespace, runner.pod.namespace)
        and term.means(mine.labels, owns_cpus=mine.qos.owns_cpus)
        for key, running in around
        for runner in running
        for term in runner.pod.spec.affinity
        if _parts(term) and term.topology == key
    )


def labels_of(terms: Iterable[AffinityTerm]) -> str:
    """Return the labels that terms look for, for people."""
    return " and one with ".join(dict.fromkeys(term.said for term in terms))


def wanted_where(terms: Iterable[AffinityTerm]) -> str:
    """Return, for people, the labels that terms look for, and where; empty without terms."""
    places: dict[str, list[AffinityTerm]] = {}
    for term in terms:
        where = f"in the same {term.topology}" if term.wide else "on the node"
        places.setdefault(where, []).append(term)
    return " and one with ".join(f"{labels_of(some)} {where}" for where, some in places.items())


def _parts(term: AffinityTerm) -> bool:
    return term.required and term.apart and not term.inside


@dataclass(frozen=True, slots=True)
class First:
    """A pod of the answer that has no company because its term means no other pod."""

    namespace: str
    term: AffinityTerm
    domain: str

    def keeps_off(self, spec: PodSpec, namespace: str, node: Node) -> bool:
        """Return whether a pod on the node would be company that the first has to be with."""
        meant = self.term.means(spec.labels, owns_cpus=spec.qos.owns_cpus)
        looked_at = self.term.looks_into(namespace, self.namespace)
        domain = node.topology_domain(self.term.topology or NODE_LEVEL)
        return meant and looked_at and domain not in (None, self.domain)


def firsts_of(
    nodes: Sequence[Node], arrived: Iterable[RunningPod], everyone: Sequence[RunningPod]
) -> Iterator[First]:
    """Yield each of the pods that have arrived that is the first of its kind."""
    node_of = {node.name: node for node in nodes}
    for runner in arrived:
        place, namespace = runner.placement, runner.pod.namespace
        for term in runner.pod.spec.affinity:
            others = Crowd(tuple(other for other in everyone if other is not runner))
            if term.required and not term.apart and not others.has(term, namespace):
                domain = node_of[place.node].topology_domain(term.topology or NODE_LEVEL)
                yield First(namespace, term, domain or "")


def _may_be_first(term: AffinityTerm, asked: Question) -> bool:
    """Return whether the term means the pod itself, and no other pod so far."""
    itself = term.means(asked.spec.labels, owns_cpus=asked.spec.qos.owns_cpus)
    own = term.looks_into(asked.namespace, asked.namespace)
    if not (itself and own) or asked.crowd is None:
        return False
    if not term.wide:
        return not asked.crowd.has(term, asked.namespace)
    there = asked.crowd.domains[term.topology].values()
    belongs = asked.node.topology_domain(term.topology) is not None
    return belongs and not any(Crowd(some).has(term, asked.namespace) for some in there)
