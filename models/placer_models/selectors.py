"""Selectors: what labels must say, in the words of Kubernetes."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from placer_models.typed import check_field_types

LabelPair = tuple[str, str]
"""A key and its value."""

Labels = tuple[LabelPair, ...]
"""(key, value), ascending by key, each key once."""


class SelectorOperator(StrEnum):
    """What an expression asks of the value of its key."""

    IN = "In"
    """The key's value is one of the expression's values."""

    NOT_IN = "NotIn"
    """The key's value is none of the expression's values, or the key is missing."""

    EXISTS = "Exists"
    """The key is there."""

    DOES_NOT_EXIST = "DoesNotExist"
    """The key is missing."""

    GT = "Gt"
    """The key's value is a whole number above the expression's one value. For nodes only."""

    LT = "Lt"
    """The key's value is a whole number below the expression's one value. For nodes only."""


LIMIT = 2**63
"""Bound of the numbers that are compared, which are signed 64-bit numbers."""

MOST_DIGITS = len(str(LIMIT))

COMPARING = (SelectorOperator.GT, SelectorOperator.LT)
"""Operators that compare numbers."""


@dataclass(frozen=True, slots=True)
class LabelExpression:
    """One condition on labels.

    Attributes:
        values: Ascending, each once. In and NotIn have one or more, Gt and Lt one whole
            number, Exists and DoesNotExist none.

    Raises:
        ValueError: The values do not go with the operator.

    """

    key: str
    operator: SelectorOperator
    values: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_field_types(self)
        if fault := self._fault():
            one = len(self.values) == 1
            got = repr(self.values[0][:60]) if one else f"{len(self.values)} values"
            raise ValueError(f"got {got} for {self.operator}; expected {fault}")

    def meets(self, labels: Labels) -> bool:
        """Return whether the labels meet the expression."""
        value = next((value for key, value in labels if key == self.key), None)
        match self.operator:
            case SelectorOperator.IN:
                return value in self.values
            case SelectorOperator.NOT_IN:
                return value not in self.values
            case SelectorOperator.EXISTS:
                return value is not None
            case SelectorOperator.DOES_NOT_EXIST:
                return value is None
            case SelectorOperator.GT | SelectorOperator.LT:
                number = None if value is None else label_as_integer(value)
                if number is None:
                    return False
                limit = int(self.values[0])
                return number > limit if self.operator is SelectorOperator.GT else number < limit

    def __str__(self) -> str:
        """Return the expression as people write it."""
        values = ",".join(self.values)
        match self.operator:
            case SelectorOperator.EXISTS:
                return self.key
            case SelectorOperator.DOES_NOT_EXIST:
                return f"!{self.key}"
            case SelectorOperator.GT | SelectorOperator.LT:
                return f"{self.key}{'>' if self.operator is SelectorOperator.GT else '<'}{values}"
            case SelectorOperator.IN | SelectorOperator.NOT_IN:
                word = "in" if self.operator is SelectorOperator.IN else "not in"
                return f"{self.key} {word} ({values})"

    def _fault(self) -> str:
        """Return what values were expected, or an empty text if these are right."""
        if self.operator in (SelectorOperator.IN, SelectorOperator.NOT_IN):
            return "" if self.values else "one or more"
        if self.operator in COMPARING:
            right = len(self.values) == 1 and label_as_integer(self.values[0]) is not None
            return "" if right else "one whole number"
        return "none" if self.values else ""


def labels_meet(labels: Labels, expressions: Iterable[LabelExpression]) -> bool:
    """Return whether labels meet all the expressions."""
    return all(expression.meets(labels) for expression in expressions)


def required_label_clauses(
    labels: Labels, expressions: Iterable[LabelExpression]
) -> Iterator[Sequence[LabelPair]]:
    """Yield sets of labels, of each of which whoever meets both has one."""
    for label in labels:
        yield (label,)
    for one in expressions:
        if one.operator is SelectorOperator.IN:
            yield [(one.key, value) for value in one.values]


def label_as_integer(text: str) -> int | None:
    """Return a label's value as a whole number of 64 bits, or None if it is none."""
    digits = (text[1:] if text[:1] in ("-", "+") else text).lstrip("0") or text[-1:]
    if len(digits) > MOST_DIGITS or not (digits.isascii() and digits.isdigit()):
        return None
    number = int(text)
    return number if -LIMIT <= number < LIMIT else None
