"""Rules by which pods look at other pods, on their node or beyond it: what each means to others.

Moves, misfits, confirming, parts of a search and reasons ask here, so that none of them knows
these rules one by one. The judge has its own version of them.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence, Set
from dataclasses import MISSING, dataclass, fields, replace
from typing import Any, NamedTuple, Protocol

from placer_models.affinity import AffinityTerm
from placer_models.cluster import Node, RunningGang, RunningPod
from placer_models.goals import TOPOLOGY_SPREAD, Tier
from placer_models.pod import Gang, PodSpec
from placer_models.rule_family import RuleFamilyName
from placer_models.selectors import LabelPair
from placer_models.spreading import resolved_spread_constraints_of

Askers = Set[tuple[str, PodSpec]]
"""(namespace, spec) of pods, each once."""


class PodAsSeenByPods(NamedTuple):
    """What some pods see in a pod elsewhere.

    Attributes:
        key: Of pods that they see the same in, the first stands for all.
        owns_cpus: Whether it counts only as an owner of CPUs.

    """

    key: Hashable
    owns_cpus: bool = False


Lookout = Callable[[RunningPod, Node], Iterable[PodAsSeenByPods]]
"""Returns what is seen in a pod that runs on the node."""


class DomainLimit(Protocol):
    """How many pods a domain of nodes may have where a pod that asks so comes.

    Pods that run ask nothing; they are counted. Limits of a rule that are
    equal are one, whoever asks. Domains count even where nobody runs.
    """

    @property
    def required(self) -> bool:
        """Whether it is kept, and the pod in some domain; if not, a tier counts what is beyond."""

    @property
    def most(self) -> int:
        """How many pods a domain may have, or how many more than the domain with the fewest."""

    def is_beyond_fewest(self, domains: int) -> bool:
        """Return whether ``most`` is beyond the domain with the fewest pods, of so many."""

    @property
    def topology(self) -> str:
        """The label of nodes, or the level of the network, that tells domains; empty if neither."""

    @property
    def looks(self) -> Hashable:
        """All that the domains of nodes follow from beside the nodes and the rule."""

    @property
    def label_choices(self) -> Iterable[Sequence[LabelPair]]:
        """Sets of labels, of each of which a pod that counts has one; pods are found by them."""

    def domain(self, node: Node) -> str | None:
        """Return the node's domain, or None if the node is not looked at."""

    def means(self, spec: PodSpec, namespace: str) -> bool:
        """Return whether a pod counts."""

    @property
    def said(self) -> str:
        """The limit, as one part of a sentence."""

    @property
    def nodes_said(self) -> str:
        """The nodes in some domain, as one part of a sentence."""


def _unchanged(spec: PodSpec) -> PodSpec:
    return spec


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """One rule by which pods look at others.

    Attributes:
        family: The family of the rule.
        asked: Whether a pod asks anything by it.
        reaches: Whether a pod asks something that its own node does not decide.
        node_local_spec: Returns a spec with only what it asks of its own node.
        inside: Returns a spec with only what it asks of places inside its node.
        asked_by_gang: Whether a gang asks by it where its members are.
        without_company: Returns a spec without what pods that come later may still bring.
        may_open: Whether pods that come later may open nodes to a pod, even without company.
        firsts: Yields terms that a pod keeps without company, as long as it is the first that
            they mean.
        topologies: Yields the labels of nodes, and levels of the network, whose domains a pod asks
            about.
        lookout: Takes pods, and returns what they see in a pod beyond their nodes. Unless told
            otherwise, each pod is seen.
        carried: Takes the spec of such a pod and that of its witness, which holds nothing, and
            returns the witness with what the pod asks of them.
        rule: The name of a rule that says how many pods domains may have; empty for any other.
        tier: The tier of what is beyond such limits where they are not required.
        limits: Yields these limits for a pod of the spec and namespace.

    """

    family: RuleFamilyName
    asked: Callable[[PodSpec], bool]
    reaches: Callable[[PodSpec], bool]
    node_local_spec: Callable[[PodSpec], PodSpec]
    inside: Callable[[PodSpec], PodSpec]
    asked_by_gang: Callable[[Gang | RunningGang], bool] = lambda _: False
    without_company: Callable[[PodSpec], PodSpec] = _unchanged
    may_open: Callable[[PodSpec], bool] = lambda _: True
    firsts: Callable[[PodSpec], Iterable[AffinityTerm]] = lambda _: ()
    topologies: Callable[[PodSpec], Iterable[str]] = lambda _: ()
    lookout: Callable[[Askers], Lookout] = lambda _: (
        lambda runner, _: (PodAsSeenByPods(runner.pod.key),)
    )
    carried: Callable[[PodSpec, PodSpec], PodSpec] = lambda _, witness: witness
    rule: str = ""
    tier: Tier | None = None
    limits: Callable[[PodSpec, str], Iterable[DomainLimit]] = lambda *_: ()

    def movable(self, spec: PodSpec, _: Node) -> bool:
        """Return whether a running pod may be considered for another place, as to this rule.

        A pod that is the first of its kind, looked at as new, would keep others out. One that
        reaches beyond its node may not move because no single node tells whether it may be there.
        """
        return not self.reaches(spec) and not any(True for _ in self.firsts(spec))


def term_matches_pod(namespace: str, term: AffinityTerm, other: RunningPod) -> bool:
    """Return whether the term of a pod of the namespace means a pod that runs."""
    spec, where = other.pod.spec, other.pod.namespace
    meant = term.means(spec.labels, owns_cpus=spec.qos.owns_cpus)
    return meant and term.looks_into(where, namespace)


def _with_terms(spec: PodSpec, keeps: Callable[[AffinityTerm], bool]) -> PodSpec:
    terms = tuple(term for term in spec.affinity if keeps(term))
    return spec if len(terms) == len(spec.affinity) else replace(spec, affinity=terms)


def _means_itself(term: AffinityTerm, spec: PodSpec) -> bool:
    itself = term.means(spec.labels, owns_cpus=spec.qos.owns_cpus)
    return term.required and not term.apart and itself


def _firsts(*, inside: bool) -> Callable[[PodSpec], Iterator[AffinityTerm]]:
    """Return what yields the terms of a pod, inside nodes or not, that mean the pod itself."""

    def firsts(spec: PodSpec) -> Iterator[AffinityTerm]:
        for term in spec.affinity:
            if term.inside is inside and _means_itself(term, spec):
                yield term

    return firsts


def _without_company(*, inside: bool) -> Callable[[PodSpec], PodSpec]:
    """Return what drops the terms, inside nodes or not, that require company."""

    def stays(term: AffinityTerm) -> bool:
        return term.apart or not term.required or term.inside is not inside

    return lambda spec: _with_terms(spec, stays)


def _keeps_domain(term: AffinityTerm) -> bool:
    return term.wide and term.apart and term.required


def _domain(node: Node, term: AffinityTerm) -> str:
    return node.topology_domain(term.topology) or ""


def _lookout(*, inside: bool) -> Callable[[Askers], Lookout]:
    """Return the lookout of affinity: of terms inside nodes, or of all others.

    One pod is enough for each term that a pod may be the first of; one in each domain for each
    term about domains, and for each by which pods there keep others off it.
    """
    firsts = _firsts(inside=inside)

    def lookout(askers: Askers) -> Lookout:
        alone = [(where, term) for where, spec in askers for term in firsts(spec)]
        near = [
            (where, term)
            for where, spec in askers
            for term in spec.affinity
            if term.wide and term.inside is inside
        ]

        def seen(runner: RunningPod, node: Node) -> Iterator[PodAsSeenByPods]:
            for where, term in alone:
                if term_matches_pod(where, term, runner):
                    yield PodAsSeenByPods((where, term, ""), term.inside)
            for where, term in near:
                if term_matches_pod(where, term, runner):
                    yield PodAsSeenByPods((where, term, _domain(node, term)), term.inside)
            for term in runner.pod.spec.affinity:
                if _keeps_domain(term) and term.inside is inside:
                    yield PodAsSeenByPods(
                        (runner.pod.namespace, term, _domain(node, term)), term.inside
                    )

        return seen

    return lookout


def make_domain_limit_relation(
    rule: str,
    word: str,
    limits: Callable[[PodSpec, str], Iterable[DomainLimit]],
    tier: Tier | None = None,
) -> Relation:
    """Return the record of a rule that says how many pods domains of nodes may have.

    Args:
        rule: Its name.
        word: The field of `PodSpec` by which pods ask; its default asks for nothing.
        limits: Yields what a pod of the spec and namespace asks for.
        tier: Counts what is beyond limits that are not required.

    Raises:
        ValueError: Specs of pods have no such field, or it has no default.

    """
    defaults = {one.name: one.default for one in fields(PodSpec) if one.default is not MISSING}
    if word not in defaults:
        raise ValueError(f"{rule}: '{word}' is no field of PodSpec with a default")
    nothing = defaults[word]

    def with_word(spec: PodSpec, value: object) -> PodSpec:
        changed: Any = {word: value}
        return spec if getattr(spec, word) == value else replace(spec, **changed)

    def without(spec: PodSpec) -> PodSpec:
        return with_word(spec, nothing)

    def asked(spec: PodSpec) -> bool:
        return any(True for _ in limits(spec, ""))

    def may_open(spec: PodSpec) -> bool:
        return any(limit.required for limit in limits(spec, ""))

    def lookout(askers: Askers) -> Lookout:
        """Return what sees every pod that counts, by itself."""
        asked_for = {limit for where, spec in askers for limit in limits(spec, where)}

        def seen(runner: RunningPod, node: Node) -> Iterator[PodAsSeenByPods]:
            spec, where = runner.pod.spec, runner.pod.namespace
            if any(one.means(spec, where) and one.domain(node) is not None for one in asked_for):
                yield PodAsSeenByPods(runner.pod.key)

        return seen

    def carried(spec: PodSpec, witness: PodSpec) -> PodSpec:
        """Return the witness with the word, by which it may count, too."""
        return with_word(witness, getattr(spec, word))

    return Relation(
        family=RuleFamilyName.DOMAIN_LIMITS,
        asked=asked,
        reaches=asked,
        node_local_spec=without,
        inside=without,
        may_open=may_open,
        topologies=lambda spec: (one.topology for one in limits(spec, "") if one.topology),
        lookout=lookout,
        carried=carried,
        rule=rule,
        tier=tier,
        limits=limits,
    )


RELATIONS = (
    Relation(
        family=RuleFamilyName.AFFINITY,
        asked=lambda spec: bool(spec.affinity) and any(not term.inside for term in spec.affinity),
        reaches=lambda spec: any(term.wide for term in spec.affinity),
        node_local_spec=lambda spec: _with_terms(spec, lambda term: not term.wide),
        inside=lambda spec: _with_terms(spec, lambda term: term.inside),
        without_company=_without_company(inside=False),
        may_open=lambda _: False,
        firsts=_firsts(inside=False),
        topologies=lambda spec: (term.topology for term in spec.affinity if term.wide),
        lookout=_lookout(inside=False),
        carried=lambda spec, witness: replace(
            witness, affinity=tuple(filter(_keeps_domain, spec.affinity))
        ),
    ),
    Relation(
        family=RuleFamilyName.IN_NODE_AFFINITY,
        asked=lambda spec: bool(spec.affinity) and any(term.inside for term in spec.affinity),
        reaches=lambda _: False,
        node_local_spec=_unchanged,
        inside=_unchanged,
        without_company=_without_company(inside=True),
        may_open=lambda _: False,
        firsts=_firsts(inside=True),
        lookout=_lookout(inside=True),
    ),
    make_domain_limit_relation(
        "topology-spread", "spread", resolved_spread_constraints_of, TOPOLOGY_SPREAD
    ),
    Relation(
        family=RuleFamilyName.NETWORK,
        asked=lambda _: False,
        reaches=lambda _: False,
        node_local_spec=_unchanged,
        inside=_unchanged,
        asked_by_gang=lambda gang: bool(gang.gather or gang.levels),
        may_open=lambda _: False,
        lookout=lambda _: lambda _, __: (),
    ),
)
"""The rules by which pods look at others."""

_LASTING = tuple(relation.asked for relation in RELATIONS if not relation.rule)
"""Say whether a pod asks by a rule that it keeps on asking for once it runs, as limits are not."""


def asks_something_of_other_pods(spec: PodSpec) -> bool:
    """Return whether a pod that waits asks anything of other pods."""
    return any(relation.asked(spec) for relation in RELATIONS)


def asks_something_of_newcomers(spec: PodSpec) -> bool:
    """Return whether a pod that runs asks anything of pods that come."""
    return any(asked(spec) for asked in _LASTING)


def asks_where_members_are(gang: Gang | RunningGang) -> bool:
    """Return whether a gang asks where its members are."""
    return any(relation.asked_by_gang(gang) for relation in RELATIONS)


def self_affinity_terms(spec: PodSpec) -> Iterator[AffinityTerm]:
    """Yield the terms that a pod keeps without company if it is the first that they mean."""
    for relation in RELATIONS:
        yield from relation.firsts(spec)


def topology_keys_asked(spec: PodSpec, *, counted: bool = True) -> Iterator[str]:
    """Yield the labels of nodes, and levels of the network, whose domains a pod asks about.

    Args:
        spec: The pod's.
        counted: Whether those are among them of which limits count the pods in each domain.

    """
    for relation in RELATIONS:
        if counted or not relation.rule:
            yield from relation.topologies(spec)


def spec_inside_node(spec: PodSpec) -> PodSpec:
    """Return a spec with only what it asks of places inside its node."""
    for relation in RELATIONS:
        spec = relation.inside(spec)
    return spec


def without_needs_met_later(spec: PodSpec) -> PodSpec:
    """Return a spec without what pods that come later may still bring."""
    for relation in RELATIONS:
        spec = relation.without_company(spec)
    return spec


def later_pods_may_make_nodes_fit(spec: PodSpec) -> bool:
    """Return whether pods that come later may open nodes to a pod, even without company."""
    return any(relation.may_open(spec) for relation in RELATIONS)


def outside_pod_finder(askers: Askers) -> Lookout:
    """Return what sees what pods see, by any of the rules, in pods beyond their nodes."""
    each = [relation.lookout(askers) for relation in RELATIONS]

    def seen(runner: RunningPod, node: Node) -> Iterator[PodAsSeenByPods]:
        for look in each:
            yield from look(runner, node)

    return seen


def stand_in_with_relations_of(spec: PodSpec, witness: PodSpec) -> PodSpec:
    """Return the witness of a pod with what the pod goes on asking of others."""
    for relation in RELATIONS:
        witness = relation.carried(spec, witness)
    return witness


def domain_limits_asked_by(spec: PodSpec, namespace: str) -> Iterator[tuple[str, DomainLimit]]:
    """Yield how many pods domains may have for a pod, each with the name of its rule."""
    for relation in RELATIONS:
        for limit in relation.limits(spec, namespace):
            yield relation.rule, limit


def without_domain_limits(spec: PodSpec) -> PodSpec:
    """Return a spec that asks for no limits of domains."""
    for relation in RELATIONS:
        if relation.rule:
            spec = relation.node_local_spec(spec)
    return spec
