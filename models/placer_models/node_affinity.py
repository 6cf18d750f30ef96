"""Node affinity: what a pod asks, or would like, of labels and names of nodes."""

from collections.abc import Iterable
from dataclasses import dataclass

from placer_models.policy import MOST_WEIGHT
from placer_models.selectors import LabelExpression, Labels, SelectorOperator, labels_meet
from placer_models.typed import TypeChecked, check_field_types

NAME_FIELD = "metadata.name"
"""The one field of a node that expressions may be about."""


@dataclass(frozen=True, slots=True)
class NodeTerm:
    """Conditions on a node, all of which it must meet; no node meets a term without conditions.

    Attributes:
        expressions: Conditions on its labels.
        fields: Conditions on its name: In or NotIn, with one value.

    Raises:
        ValueError: A field asks for anything else.

    """

    expressions: tuple[LabelExpression, ...] = ()
    fields: tuple[LabelExpression, ...] = ()

    def __post_init__(self) -> None:
        check_field_types(self)
        for field in self.fields:
            if field.key != NAME_FIELD:
                raise ValueError(f"got the field {field.key!r}; expected {NAME_FIELD}")
            if (
                field.operator not in (SelectorOperator.IN, SelectorOperator.NOT_IN)
                or len(field.values) != 1
            ):
                raise ValueError(f"got {field}; expected In or NotIn with one name")

    def met_by(self, name: str, labels: Labels) -> bool:
        """Return whether a node with this name and these labels meets the term."""
        asked = bool(self.expressions or self.fields)
        return (
            asked
            and labels_meet(labels, self.expressions)
            and labels_meet(((NAME_FIELD, name),), self.fields)
        )

    @property
    def label_keys(self) -> tuple[str, ...]:
        """Keys of the labels that the term looks at."""
        return tuple(expression.key for expression in self.expressions)

    def __str__(self) -> str:
        """Return the term as people write it."""
        return ",".join(map(str, (*self.expressions, *self.fields)))


@dataclass(frozen=True, slots=True)
class PreferredNodeTerm:
    """What a pod would like of its node, and how much.

    Raises:
        ValueError: The weight is not between 1 and 100.

    """

    term: NodeTerm
    weight: int

    def __post_init__(self) -> None:
        check_field_types(self)
        if not 1 <= self.weight <= MOST_WEIGHT:
            raise ValueError(f"got the weight {self.weight}; expected 1 to {MOST_WEIGHT}")


@dataclass(frozen=True, slots=True)
class NodeAffinity(TypeChecked):
    """What a pod asks, or would like, of its node.

    Attributes:
        required: The node must meet one of these terms; empty: any node will do.
        preferred: The pod would like each of these terms met.

    """

    required: tuple[NodeTerm, ...] = ()
    preferred: tuple[PreferredNodeTerm, ...] = ()

    def allows(self, name: str, labels: Labels) -> bool:
        """Return whether a pod may come to a node of that name and these labels."""
        return not self.required or any(term.met_by(name, labels) for term in self.required)

    def weight_missed(self, name: str, labels: Labels) -> int:
        """Return the sum of the weights of the preferred terms that such a node does not meet."""
        return sum(p.weight for p in self.preferred if not p.term.met_by(name, labels))

    def __str__(self) -> str:
        """Return what is required as people write it."""
        return " or ".join(str(term) or "nothing" for term in self.required)

    @property
    def terms(self) -> Iterable[NodeTerm]:
        """All terms, required and preferred."""
        return (*self.required, *(preferred.term for preferred in self.preferred))

    @property
    def label_keys(self) -> frozenset[str]:
        """Keys of the labels that the terms look at."""
        return frozenset(key for term in self.terms for key in term.label_keys)

    @property
    def names(self) -> frozenset[str]:
        """Names of the nodes that the terms tell apart from others."""
        return frozenset(name for term in self.terms for one in term.fields for name in one.values)
