"""Node affinity of pods: terms about labels and names of nodes."""

from placer_models.kubernetes.object_fields import KubeObjectFieldValue
from placer_models.node_affinity import NodeAffinity, NodeTerm, PreferredNodeTerm
from placer_models.selectors import LabelExpression, SelectorOperator


def node_affinity_of_kube_pod(part: KubeObjectFieldValue) -> NodeAffinity | None:
    """Return what a pod requires or prefers of its node, or None if that is nothing.

    Raises:
        KubernetesObjectError: Something is wrong with what it says.

    """
    required = part.get("requiredDuringSchedulingIgnoredDuringExecution")
    preferred = part.get("preferredDuringSchedulingIgnoredDuringExecution").items()
    terms = node_terms_of_selector(required)
    if required.there and not terms:
        required.get("nodeSelectorTerms").refuse("has no term; give one or more")
    if not terms and not preferred:
        return None
    return NodeAffinity(terms, tuple(map(_preferred, preferred)))


def node_terms_of_selector(selector: KubeObjectFieldValue) -> tuple[NodeTerm, ...]:
    """Return the terms of a node selector; a node has to meet one of them.

    Raises:
        KubernetesObjectError: Something is wrong with a term.

    """
    return tuple(map(_term, selector.get("nodeSelectorTerms").items()))


def _preferred(part: KubeObjectFieldValue) -> PreferredNodeTerm:
    term, weight = _term(part.get("preference")), part.get("weight")
    return weight.checked(PreferredNodeTerm, term, weight.integer())


def _term(part: KubeObjectFieldValue) -> NodeTerm:
    fields = part.get("matchFields")
    expressions = tuple(map(_expression, part.get("matchExpressions").items()))
    about = tuple(map(_expression, fields.items()))
    return fields.checked(NodeTerm, expressions, about)


def _expression(part: KubeObjectFieldValue) -> LabelExpression:
    key, operator = part.get("key").text(), part.get("operator").word(SelectorOperator)
    values = part.get("values")
    asked = tuple(sorted({item.text() for item in values.items()}))
    return values.checked(LabelExpression, key, operator, asked)
