"""Terms about other pods: pod affinity and topology spread, as written and as they are meant (C18).

What a term means depends on the other objects of its cluster, which may be read later: on the
labels of namespaces, on which nodes have a host name, on whether pods are being deleted.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from placer_models.affinity import EVERY_NAMESPACE, AffinityTerm
from placer_models.kubernetes.label_selectors import (
    LabelSelector,
    label_selector_of,
    with_match_label_keys,
)
from placer_models.kubernetes.names import (
    BEING_DELETED,
    HOSTNAME,
    LABEL_OF_HOSTNAME,
    LABEL_OF_NODE,
    NOMINATED,
)
from placer_models.kubernetes.namespaces import (
    NamespacesOfDump,
    PodAffinityTermNamespaces,
    selects_by_namespace_name,
)
from placer_models.kubernetes.object_fields import KubeObjectFieldValue
from placer_models.network import NODE_LEVEL
from placer_models.policy import RequiredOrPreferred
from placer_models.selectors import LabelExpression, Labels, SelectorOperator
from placer_models.topology_spread import SpreadConstraint

NOBODY = LabelSelector((), (LabelExpression("placer:nobody", SelectorOperator.EXISTS),))
"""A condition that no pod meets."""

_UNLESS = "DoNotSchedule"

_STAYS = LabelExpression(BEING_DELETED[0], SelectorOperator.DOES_NOT_EXIST)
_IS_THERE = LabelExpression(NOMINATED[0], SelectorOperator.DOES_NOT_EXIST)


@dataclass(frozen=True, slots=True)
class KubePodAffinityTerm:
    """A term of pod affinity or anti-affinity as a pod says it.

    Attributes:
        term: The term, without its namespaces, and with the topology key that is written.
        scope: The namespaces that it looks at.

    """

    term: AffinityTerm
    scope: PodAffinityTermNamespaces

    @property
    def asks_for_labels_of_namespaces(self) -> bool:
        """Whether the labels of namespaces, and not their names alone, decide what it means."""
        selector = self.scope.selector
        return selector is not None and not selects_by_namespace_name(selector)


@dataclass(frozen=True, slots=True)
class PodAffinityTermContext:
    """What a cluster has that decides what terms about other pods mean.

    Attributes:
        namespaces: What is known of its namespaces.
        hostnames_are_nodes: Whether each node has a host name of its own, as a label.
        some_leave: Whether pods are being deleted; these are not spread with.
        some_come: Whether pods are nominated to nodes to which they have not come yet.

    """

    namespaces: NamespacesOfDump = field(default_factory=NamespacesOfDump)
    hostnames_are_nodes: bool = True
    some_leave: bool = False
    some_come: bool = False

    def topology(self, key: str) -> str:
        """Return the word for a topology key, which is always a label of nodes in Kubernetes."""
        if key == HOSTNAME:
            return NODE_LEVEL if self.hostnames_are_nodes else LABEL_OF_HOSTNAME
        return LABEL_OF_NODE if key == NODE_LEVEL else key

    def labels(self, of_node: Mapping[str, str]) -> Iterator[tuple[str, str]]:
        """Yield the labels that stand for those of a node whose keys are words of ours."""
        for key in (NODE_LEVEL, HOSTNAME):
            if key in of_node and self.topology(key) not in (key, NODE_LEVEL):
                yield self.topology(key), of_node[key]


ORDINARY = PodAffinityTermContext()
"""A cluster without pods that are being deleted, whose nodes all have host names."""


def read_kube_pod_affinity_terms(
    affinity: KubeObjectFieldValue, namespace: str, own: Labels, lacks: list[str]
) -> Iterator[KubePodAffinityTerm]:
    """Yield the terms of pod affinity, then of anti-affinity, the required ones first in each.

    Args:
        affinity: The pod's affinity.
        namespace: Its namespace.
        own: Its labels.
        lacks: Gets demands that nothing can meet.

    """
    for kind, apart in (("podAffinity", False), ("podAntiAffinity", True)):
        part = affinity.get(kind)
        for item in part.get("requiredDuringSchedulingIgnoredDuringExecution").items():
            if selector := label_selector_of(item.get("labelSelector")):
                selector = with_match_label_keys(selector, item, own)
                yield _written(item, selector, namespace, RequiredOrPreferred.REQUIRED, apart=apart)
            elif not apart:
                lacks.append(_MEANS_NO_POD)
        for item in part.get("preferredDuringSchedulingIgnoredDuringExecution").items():
            term = item.get("podAffinityTerm")
            if selector := label_selector_of(term.get("labelSelector")):
                selector = with_match_label_keys(selector, term, own)
                weight = item.get("weight")
                found = _written(
                    term, selector, namespace, RequiredOrPreferred.PREFERRED, apart=apart
                )
                heavy = weight.checked(partial(replace, found.term, weight=weight.integer()))
                yield replace(found, term=heavy)


_MEANS_NO_POD = "required pod affinity that means no pod"


def _written(
    part: KubeObjectFieldValue,
    selector: LabelSelector,
    namespace: str,
    strength: RequiredOrPreferred,
    *,
    apart: bool,
) -> KubePodAffinityTerm:
    named = frozenset(item.text() for item in part.get("namespaces").items())
    others = label_selector_of(part.get("namespaceSelector"))
    own = frozenset((namespace,)) if others is None and not named else named
    return KubePodAffinityTerm(
        AffinityTerm(
            selector.labels,
            apart,
            strength,
            topology=_topology_key(part),
            expressions=selector.expressions,
        ),
        PodAffinityTermNamespaces(own, others),
    )


def resolve_written_terms(
    written: Iterable[KubePodAffinityTerm], namespace: str, around: PodAffinityTermContext
) -> tuple[tuple[AffinityTerm, ...], tuple[str, ...]]:
    """Return the terms of a pod as its cluster means them, and demands that nothing can meet.

    A namespace whose labels nobody tells counts where required anti-affinity selects by labels,
    and nowhere else, so that nobody is placed who might not be.

    Args:
        written: The terms.
        namespace: The pod's namespace.
        around: What else the cluster has.

    """
    met: list[AffinityTerm] = []
    needed: list[tuple[AffinityTerm, frozenset[str]]] = []
    for one in written:
        topology = around.topology(one.term.topology)
        term = replace(one.term, topology="" if topology == NODE_LEVEL else topology)
        names = one.scope.found(around.namespaces, in_doubt=term.apart and term.required)
        if term.required and not term.apart:
            if around.some_come:  # who is not there yet is no company
                term = replace(term, expressions=(*term.expressions, _IS_THERE))
            needed.append((term, names))
        elif names:
            met.append(replace(term, namespaces=_said(names, namespace)))
    company, lacks = _meant_by_all(needed, namespace)
    return (*company, *met), lacks


def _meant_by_all(
    terms: Sequence[tuple[AffinityTerm, frozenset[str]]], namespace: str
) -> tuple[tuple[AffinityTerm, ...], tuple[str, ...]]:
    """Return required affinities, narrowed so that each means only pods that all of them mean.

    In Kubernetes a pod counts as company only if all terms mean it.
    """
    selector = LabelSelector()
    common: frozenset[str] | None = None
    for term, names in terms:
        selector = selector.joined(LabelSelector(term.labels, term.expressions))
        if EVERY_NAMESPACE not in names:
            common = names if common is None else common & names
    if common is not None and not common:
        return (), (_MEANS_NO_POD,)
    namespaces = (EVERY_NAMESPACE,) if common is None else _said(common, namespace)
    return tuple(
        replace(
            term,
            labels=selector.labels,
            expressions=selector.expressions,
            namespaces=namespaces,
        )
        for term, _ in terms
    ), ()


def _said(names: frozenset[str], namespace: str) -> tuple[str, ...]:
    """Return the names of namespaces, or nothing if there is just the pod's own."""
    return () if names == {namespace} else tuple(sorted(names))


def _topology_key(part: KubeObjectFieldValue) -> str:
    """Return the node label whose values are the domains; it must be given."""
    key = part.get("topologyKey")
    return key.text() or key.refuse(
        "is empty; name a label of nodes, such as kubernetes.io/hostname"
    )


def spread_constraint_of(part: KubeObjectFieldValue, own: Labels) -> SpreadConstraint:
    """Return one of a pod's spread constraints, with the topology key that is written.

    Args:
        part: The constraint.
        own: The pod's labels.

    Raises:
        KubernetesObjectError: Something is wrong with it.

    """
    key, hard = _topology_key(part), part.get("whenUnsatisfiable").text(_UNLESS)
    if hard not in (_UNLESS, "ScheduleAnyway"):
        part.get("whenUnsatisfiable").refuse(f"got {hard!r}; expected {_UNLESS} or ScheduleAnyway")
    domains = part.get("minDomains")
    if domains.there and hard != _UNLESS:
        domains.refuse(f"goes with whenUnsatisfiable: {_UNLESS} only; leave it out")
    selector = label_selector_of(part.get("labelSelector")) or NOBODY
    selector = with_match_label_keys(selector, part, own)
    if selector.selects_all:
        selector = NOBODY  # as kube-scheduler counts
    return part.checked(
        SpreadConstraint,
        key,
        part.get("maxSkew").integer(1),
        RequiredOrPreferred.REQUIRED if hard == _UNLESS else RequiredOrPreferred.PREFERRED,
        selector.labels,
        selector.expressions,
        domains.integer(1),
        part.get("nodeAffinityPolicy").text("Honor") == "Honor",
        part.get("nodeTaintsPolicy").text("Ignore") == "Honor",
    )


def complete_spread_constraints(
    written: Iterable[SpreadConstraint], around: PodAffinityTermContext
) -> tuple[SpreadConstraint, ...]:
    """Return the constraints of a pod as its cluster means them.

    kube-scheduler asks twice: with the pods that are nominated to the node, and without them.
    Beside several such nodes, or over everybody, that cannot be said
    (`waiting.why_waits_for_nominated`).
    """
    found = []
    for one in written:
        topology = around.topology(one.topology)
        more = (_STAYS,) if around.some_leave else ()
        there = (_IS_THERE,) if around.some_come else ()
        meant = replace(one, topology=topology, expressions=(*one.expressions, *more, *there))
        found.append(meant)
        if around.some_come and one.required:
            found.append(replace(meant, expressions=(*one.expressions, *more)))
    return tuple(found)
