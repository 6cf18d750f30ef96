"""Label selectors of Kubernetes' objects: which pods, or namespaces, are meant by their labels."""

from dataclasses import dataclass

from placer_models.kubernetes.object_fields import KubeObjectFieldValue
from placer_models.selectors import LabelExpression, Labels, SelectorOperator, labels_meet

OPERATORS = (
    SelectorOperator.IN,
    SelectorOperator.NOT_IN,
    SelectorOperator.EXISTS,
    SelectorOperator.DOES_NOT_EXIST,
)
"""Operators that expressions of label selectors may have."""


@dataclass(frozen=True, slots=True)
class LabelSelector:
    """Conditions on labels.

    Attributes:
        labels: Ascending by key.

    """

    labels: Labels = ()
    expressions: tuple[LabelExpression, ...] = ()

    @property
    def selects_all(self) -> bool:
        """Whether there is no condition."""
        return not self.labels and not self.expressions

    def selects(self, labels: Labels) -> bool:
        """Return whether the labels, ascending or not, meet all conditions."""
        return set(self.labels) <= set(labels) and labels_meet(labels, self.expressions)

    def joined(self, other: "LabelSelector") -> "LabelSelector":
        """Return the selector of what both select."""
        found = dict(self.labels)
        more: list[LabelExpression] = []
        for key, value in other.labels:
            if found.setdefault(key, value) != value:
                more.append(LabelExpression(key, SelectorOperator.IN, (value,)))
        every = dict.fromkeys((*self.expressions, *other.expressions, *more))
        return LabelSelector(tuple(sorted(found.items())), tuple(every))


def label_selector_of(part: KubeObjectFieldValue) -> LabelSelector | None:
    """Return a label selector, or None if it is left out and so selects nothing.

    Raises:
        KubernetesObjectError: The field is no selector.

    """
    if not part.there:
        return None
    found = LabelSelector(tuple(sorted(part.get("matchLabels").texts().items())))
    for item in part.get("matchExpressions").items():
        found = found.joined(_of_expression(item))
    return found


def _of_expression(part: KubeObjectFieldValue) -> LabelSelector:
    operator = part.get("operator").word(SelectorOperator)
    values = tuple(sorted({item.text() for item in part.get("values").items()}))
    if operator not in OPERATORS:
        part.get("operator").refuse(f"got {operator}; expected {', '.join(OPERATORS)}")
    key = part.get("key").text()
    if operator is SelectorOperator.IN and len(values) == 1:
        return LabelSelector(((key, values[0]),))
    return LabelSelector((), (part.get("values").checked(LabelExpression, key, operator, values),))


def with_match_label_keys(
    selector: LabelSelector, part: KubeObjectFieldValue, own: Labels
) -> LabelSelector:
    """Return the selector narrowed by the pod's own labels, for the keys that its term names."""
    has = dict(own)
    for name, operator in (
        ("matchLabelKeys", SelectorOperator.IN),
        ("mismatchLabelKeys", SelectorOperator.NOT_IN),
    ):
        for key in (item.text() for item in part.get(name).items()):
            if key not in has:
                continue
            same = LabelSelector(((key, has[key]),))
            other = LabelSelector((), (LabelExpression(key, SelectorOperator.NOT_IN, (has[key],)),))
            selector = selector.joined(same if operator is SelectorOperator.IN else other)
    return selector
