"""Taints of nodes, which keep pods off that do not tolerate them."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from placer_models.selectors import label_as_integer
from placer_models.typed import TypeChecked, check_field_types

TAINT_WEIGHT = 100
"""The weight of a taint that only prefers to keep a pod off: that of the heaviest wish."""

_CANONICAL = re.compile(r"0|-?[1-9][0-9]*")


class TaintEffect(StrEnum):
    """What a taint does to pods that do not tolerate it."""

    NO_SCHEDULE = "NoSchedule"
    """No new pod comes."""

    PREFER_NO_SCHEDULE = "PreferNoSchedule"
    """New pods had better not come."""

    NO_EXECUTE = "NoExecute"
    """No new pod comes, and pods that run there should not."""


@dataclass(frozen=True, slots=True)
class Taint(TypeChecked):
    """A taint of a node."""

    key: str
    value: str
    effect: TaintEffect

    @property
    def keeps_off(self) -> bool:
        """Whether new pods that do not tolerate it may not come."""
        return self.effect is not TaintEffect.PREFER_NO_SCHEDULE

    def __str__(self) -> str:
        """Return the taint as people write it."""
        value = f"={self.value}" if self.value else ""
        return f"{self.key}{value}:{self.effect}"


UNSCHEDULABLE = Taint("node.kubernetes.io/unschedulable", "", TaintEffect.NO_SCHEDULE)
"""The taint of nodes that are cordoned. Pods that tolerate it may come to a cordoned node even
where it lacks the taint (kube-scheduler's NodeUnschedulable)."""


class TolerationOperator(StrEnum):
    """Which values of a taint are tolerated."""

    EQUAL = "Equal"
    EXISTS = "Exists"
    LT = "Lt"
    """Whole numbers below the toleration's value."""

    GT = "Gt"
    """Whole numbers above the toleration's value."""


@dataclass(frozen=True, slots=True)
class Toleration:
    """A toleration of taints.

    Attributes:
        key: Key of the taint; empty: any taint.
        effect: Effect of the taint; None: any effect.

    Raises:
        ValueError: Key, operator and value do not go together.

    """

    key: str = ""
    operator: TolerationOperator = TolerationOperator.EQUAL
    value: str = ""
    effect: TaintEffect | None = None

    def __post_init__(self) -> None:
        check_field_types(self)
        exists = self.operator is TolerationOperator.EXISTS
        if not self.key and not exists:
            raise ValueError("a toleration without a key is of every taint: operator Exists")
        if exists and self.value:
            raise ValueError(
                f"got the value {self.value!r}; with the operator Exists there is none"
            )
        compares = self.operator in (TolerationOperator.LT, TolerationOperator.GT)
        if compares and _number(self.value) is None:
            raise ValueError(f"got the value {self.value!r}; {self.operator} wants a whole number")

    def tolerates(self, taint: Taint) -> bool:
        """Return whether the pod tolerates a node's taint."""
        if self.effect not in (None, taint.effect) or self.key not in ("", taint.key):
            return False
        match self.operator:
            case TolerationOperator.EXISTS:
                return True
            case TolerationOperator.EQUAL:
                return self.value == taint.value
            case TolerationOperator.LT | TolerationOperator.GT:
                own, number = _number(self.value), _number(taint.value)
                if own is None or number is None:
                    return False
                return number < own if self.operator is TolerationOperator.LT else number > own


def untolerated_taints_of_strength(
    taints: Iterable[Taint], tolerations: tuple[Toleration, ...], *, keep_off: bool
) -> Iterator[Taint]:
    """Yield the taints of one strength that no toleration covers.

    Args:
        taints: The taints of a node.
        tolerations: The tolerations of a pod.
        keep_off: Whether to look at taints that keep new pods off; if not, at taints that
            would rather keep them off.

    """
    for taint in taints:
        if taint.keeps_off is keep_off and not any(t.tolerates(taint) for t in tolerations):
            yield taint


def _number(text: str) -> int | None:
    """Return the value of a canonically written 64-bit number, or None if it is none."""
    return label_as_integer(text) if _CANONICAL.fullmatch(text) else None
