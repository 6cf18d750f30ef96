"""Terms about other pods: label selectors, pod affinity and topology spread (C18)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from placer_models.affinity import EVERY_NAMESPACE, OF_ONE_NODE, AffinityTerm
from placer_models.kubernetes.object_fields import Field
from placer_models.network import NODE_LEVEL
from placer_models.policy import Strength
from placer_models.selectors import LabelExpression, Labels, SelectorOperator
from placer_models.topology_spread import SpreadConstraint

OF_NAMESPACES = "kubernetes.io/metadata.name"
"""The label that every namespace has, with its name as the value."""

OPERATORS = (
    SelectorOperator.IN,
    SelectorOperator.NOT_IN,
    SelectorOperator.EXISTS,
    SelectorOperator.DOES_NOT_EXIST,
)
"""Operators that expressions about pod labels may have."""


@dataclass(frozen=True, slots=True)
class PodSelector:
    """Conditions on the labels of pods.

    Attributes:
        labels: Ascending by key.

    """

    labels: Labels = ()
    expressions: tuple[LabelExpression, ...] = ()

    def joined(self, other: "PodSelector") -> "PodSelector":
        """Return the selector of pods that both select."""
        found = dict(self.labels)
        more: list[LabelExpression] = []
        for key, value in other.labels:
            if found.setdefault(key, value) != value:
                more.append(LabelExpression(key, SelectorOperator.IN, (value,)))
        every = dict.fromkeys((*self.expressions, *other.expressions, *more))
        return PodSelector(tuple(sorted(found.items())), tuple(every))


NOBODY = PodSelector((), (LabelExpression("placer/nobody", SelectorOperator.EXISTS),))
"""A condition that no pod meets."""

_UNLESS = "DoNotSchedule"


def selector_of(part: Field) -> PodSelector | None:
    """Return a label selector, or None if it is left out and so selects nothing.

    Raises:
        ObjectError: The field is no selector.

    """
    if not part.there:
        return None
    found = PodSelector(tuple(sorted(part.get("matchLabels").texts().items())))
    for item in part.get("matchExpressions").items():
        found = found.joined(_of_expression(item))
    return found


def _of_expression(part: Field) -> PodSelector:
    operator = part.get("operator").word(SelectorOperator)
    values = tuple(sorted({item.text() for item in part.get("values").items()}))
    if operator not in OPERATORS:
        part.get("operator").refuse(f"got {operator}; expected {', '.join(OPERATORS)}")
    key = part.get("key").text()
    if operator is SelectorOperator.IN and len(values) == 1:
        return PodSelector(((key, values[0]),))
    return PodSelector((), (part.get("values").checked(LabelExpression, key, operator, values),))


def with_own_labels(selector: PodSelector, part: Field, own: Labels) -> PodSelector:
    """Return the selector narrowed by the pod's own labels, for the keys that its term names."""
    has = dict(own)
    for name, operator in (
        ("matchLabelKeys", SelectorOperator.IN),
        ("mismatchLabelKeys", SelectorOperator.NOT_IN),
    ):
        for key in (item.text() for item in part.get(name).items()):
            if key not in has:
                continue
            same = PodSelector(((key, has[key]),))
            other = PodSelector((), (LabelExpression(key, SelectorOperator.NOT_IN, (has[key],)),))
            selector = selector.joined(same if operator is SelectorOperator.IN else other)
    return selector


def affinity_terms(
    affinity: Field, namespace: str, own: Labels, lacks: list[str], waived: list[str]
) -> Iterator[AffinityTerm]:
    """Yield the terms of pod affinity, then of anti-affinity, the required ones first in each.

    Args:
        affinity: The pod's affinity.
        namespace: Its namespace.
        own: Its labels.
        lacks: Gets demands that Placer cannot express.
        waived: Gets wishes that Placer cannot express.

    """
    for kind, apart, what in (
        ("podAffinity", False, "pod affinity"),
        ("podAntiAffinity", True, "pod anti-affinity"),
    ):
        part = affinity.get(kind)
        required = []
        for item in part.get("requiredDuringSchedulingIgnoredDuringExecution").items():
            if (namespaces := _namespaces(item, namespace)) is None:
                lacks.append(f"required {what} by labels of namespaces")
            elif selector := selector_of(item.get("labelSelector")):
                selector = with_own_labels(selector, item, own)
                required.append(_term(item, selector, namespaces, Strength.REQUIRED, apart=apart))
            elif not apart:
                lacks.append(f"required {what} that means no pod")
        yield from required if apart else _meant_by_all(required, namespace, lacks)
        for item in part.get("preferredDuringSchedulingIgnoredDuringExecution").items():
            term = item.get("podAffinityTerm")
            if (namespaces := _namespaces(term, namespace)) is None:
                waived.append(f"preferred {what} by labels of namespaces")
            elif selector := selector_of(term.get("labelSelector")):
                selector = with_own_labels(selector, term, own)
                weight = item.get("weight")
                found = _term(term, selector, namespaces, Strength.PREFERRED, apart=apart)
                try:
                    yield replace(found, weight=weight.integer())
                except ValueError as error:
                    weight.refuse(str(error))


def _term(
    part: Field,
    selector: PodSelector,
    namespaces: tuple[str, ...],
    strength: Strength,
    *,
    apart: bool,
) -> AffinityTerm:
    key = _topology_key(part)
    return AffinityTerm(
        selector.labels,
        apart,
        strength,
        topology="" if key in OF_ONE_NODE else key,
        expressions=selector.expressions,
        namespaces=namespaces,
    )


def _meant_by_all(
    terms: Sequence[AffinityTerm], namespace: str, lacks: list[str]
) -> Iterator[AffinityTerm]:
    """Yield required affinities, narrowed so that each means only pods that all of them mean.

    In Kubernetes a pod counts as company only if all terms mean it.
    """
    selector = PodSelector()
    common: set[str] | None = None
    for term in terms:
        selector = selector.joined(PodSelector(term.labels, term.expressions))
        if EVERY_NAMESPACE not in term.namespaces:
            named = set(term.namespaces or (namespace,))
            common = named if common is None else common & named
    if common is not None and not common:
        lacks.append("required pod affinity that means no pod")
        return
    everywhere = (EVERY_NAMESPACE,) if terms and common is None else ()
    for term in terms:
        yield replace(
            term,
            labels=selector.labels,
            expressions=selector.expressions,
            namespaces=everywhere or _named(common or set(), namespace),
        )


def _namespaces(part: Field, namespace: str) -> tuple[str, ...] | None:
    """Return the namespaces that a term looks at, or None if it selects them by other labels."""
    named = {item.text() for item in part.get("namespaces").items()}
    selector = selector_of(part.get("namespaceSelector"))
    if selector is None:
        return _named(named or {namespace}, namespace)
    if selector == PodSelector():
        return (EVERY_NAMESPACE,)
    match selector:
        case PodSelector(((key, name),), ()) if key == OF_NAMESPACES:
            return _named({*named, name}, namespace)
        case PodSelector((), (one,)) if (
            one.key == OF_NAMESPACES and one.operator is SelectorOperator.IN
        ):
            return _named({*named, *one.values}, namespace)
    return None


def _named(names: set[str], namespace: str) -> tuple[str, ...]:
    """Return the names of namespaces, or nothing if there is just the pod's own."""
    return () if names == {namespace} else tuple(sorted(names))


def _topology_key(part: Field) -> str:
    """Return the node label whose values are the domains; it must be given."""
    key = part.get("topologyKey")
    return key.text() or key.refuse(
        "is empty; name a label of nodes, such as kubernetes.io/hostname"
    )


def spread_of(part: Field, own: Labels) -> SpreadConstraint:
    """Return one of a pod's spread constraints.

    Args:
        part: The constraint.
        own: The pod's labels.

    Raises:
        ObjectError: Something is wrong with it.

    """
    key, hard = _topology_key(part), part.get("whenUnsatisfiable").text(_UNLESS)
    if hard not in (_UNLESS, "ScheduleAnyway"):
        part.get("whenUnsatisfiable").refuse(f"got {hard!r}; expected {_UNLESS} or ScheduleAnyway")
    domains = part.get("minDomains")
    if domains.there and hard != _UNLESS:
        domains.refuse(f"goes with whenUnsatisfiable: {_UNLESS} only; leave it out")
    selector = selector_of(part.get("labelSelector")) or NOBODY
    selector = with_own_labels(selector, part, own)
    return part.checked(
        SpreadConstraint,
        NODE_LEVEL if key in OF_ONE_NODE else key,
        part.get("maxSkew").integer(1),
        Strength.REQUIRED if hard == _UNLESS else Strength.PREFERRED,
        selector.labels,
        selector.expressions,
        domains.integer(1),
        part.get("nodeAffinityPolicy").text("Honor") == "Honor",
        part.get("nodeTaintsPolicy").text("Ignore") == "Honor",
    )
