"""Waiting pods of a cluster: which of them are to be placed."""

from dataclasses import dataclass
from enum import StrEnum

from placer_models.typed import TypeChecked


class IgnorablePodRequirementKind(StrEnum):
    """What pods ask for and nobody is to look at."""

    VOLUMES = "volumes"
    """Which nodes reach their volumes, and whether they have them at all."""


@dataclass(frozen=True, slots=True)
class WaitingPodFilter(TypeChecked):
    """Which pods of a dump are to be placed.

    Attributes:
        schedulers: Names of schedulers, as pods give them in `schedulerName`: only their pods are
            to be placed. Empty: whoever waits.
        gated: Whether pods with scheduling gates are to be placed, too.
        ignored: What of them nobody is to look at.

    """

    schedulers: frozenset[str] = frozenset()
    gated: bool = False
    ignored: frozenset[IgnorablePodRequirementKind] = frozenset()


ALL = WaitingPodFilter()
"""Whoever waits and is not gated."""
