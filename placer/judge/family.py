"""A family of rules, as the judge knows it: one record of everything that it adds."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from placer.judge.scene import InstanceWithPlacement, PlacedPod
from placer_models.goals import Tier
from placer_models.pod import Gang


class Finding(NamedTuple):
    """One fault: whom it concerns, and what is wrong, what is allowed and what to do.

    The name of the rule is added by whoever asks all of them.
    """

    subject: str
    message: str


def pod_breach_finding(placed: PlacedPod, said: str) -> Finding:
    """Return a fault of a pod; the message begins with its name, and goes on as told."""
    return Finding(placed.title, f"pod {placed.title!r} {said}")


def gang_breach_finding(gang: Gang, said: str) -> Finding:
    """Return a fault of a gang, told in the same way."""
    title = gang.title
    return Finding(title, f"gang {title!r} {said}")


Rule = Callable[[InstanceWithPlacement], Iterator[Finding]]
"""A rule yields one finding per fault, and nothing for a placement that keeps it."""

Measure = Callable[[InstanceWithPlacement], int]
"""Returns the value of a tier. It means something only where no rule is broken."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedFamily:
    """What a family adds to the judge; its file ends in this record, `JUDGED`.

    Attributes:
        rules: Name, as in docs/rules.md -> what every placement has to keep.
        tiers: Tier -> how it is measured.

    """

    rules: Mapping[str, Rule] = field(default_factory=dict)
    tiers: Mapping[Tier, Measure] = field(default_factory=dict)
