"""Schema of explanations as ``placer explain --format json`` prints them."""

from typing import Literal

from placer.explain.explanation import CHANGE_KINDS
from placer_models.files.part import Part
from placer_models.reasons import UnplacedCause


class PodNameEntry(Part):
    """A pod."""

    name: str
    namespace: str


class FunnelStepEntry(Part):
    """How many nodes remain after a rule; the first step, without a rule, is all of them."""

    rule: str
    nodes: int
    subjects: tuple[str, ...]


class MissingResourceHolderEntry(Part):
    """A pod that has what is missing, and how much; placed: by the answer, else it ran before."""

    name: str
    namespace: str
    amount: int | None
    placed: bool


class NodeLackEntry(Part):
    """What a rule asks of a node that it cannot give; amounts are in the unit, or null."""

    rule: str
    subject: str
    text: str
    asked: int | None
    left: int | None
    missing: int | None
    total: int | None
    unit: str
    held_by: tuple[MissingResourceHolderEntry, ...]


class NearMissEntry(Part):
    """A node that lacks little."""

    node: str
    lacks: tuple[NodeLackEntry, ...]


class PodsPlacedInsteadEntry(Part):
    """Who has the place of who is outvoted, and in which tier that is better; null: in none."""

    pods: tuple[PodNameEntry, ...]
    tier: str | None


class SufficientChangeEntry(Part):
    """A change that would do, in the words of ``--what-if``."""

    kind: Literal[CHANGE_KINDS]  # type: ignore[valid-type]  # told in one place only
    what: tuple[str, ...]
    confirmed: Literal[True]
    act: tuple[str, ...]
    smallest: bool
    others: tuple[tuple[str, ...], ...]


class ExplanationEntry(Part):
    """Why pods that ask for the same, or a gang, have no place, and what would do."""

    pod: str
    namespace: str
    gang: str | None
    count: int
    pods: tuple[PodNameEntry, ...]
    token: str
    verdict: Literal[tuple(one.value for one in UnplacedCause)] | None  # type: ignore[valid-type]  # told in one place only
    sentence: str
    more: tuple[str, ...]
    funnel: tuple[FunnelStepEntry, ...]
    nearest: tuple[NearMissEntry, ...]
    outvoted_by: PodsPlacedInsteadEntry | None
    changes: tuple[SufficientChangeEntry, ...]
    ruled_out: tuple[str, ...]
    open: tuple[str, ...]


class ExplanationsFile(Part):
    """Explanations of pods and gangs without a place."""

    api_version: Literal["placer/v1"]
    kind: Literal["Explanations"]
    explanations: tuple[ExplanationEntry, ...]
