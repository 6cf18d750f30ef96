"""Explanations as words: why a pod or a gang waits, and what would give it a place.

Each has a token: one stable word for programs that count and compare.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from placer_models.placement import NamespacedName
from placer_models.reasons import (
    FewMembers,
    GangGroupTooLarge,
    Reason,
    UnplacedCause,
    verdict_of_reasons,
)
from placer_models.typed import TypeChecked
from placer_models.whatif.change import InstanceChange

CHANGE_KINDS = (
    "mend-node",
    "relax",
    "give-up",
    "label-node",
    "ask-less",
    "fewer-members",
    "move",
    "end",
    "add-nodes",
)
"""All kinds of changes that are looked for, the cheapest for people first."""


@dataclass(frozen=True, slots=True)
class FunnelStep(TypeChecked):
    """How many nodes remain after one more rule; the rules are in one stated order.

    Attributes:
        rule: The rule's name; empty for the first step, which is all nodes.
        nodes: How many nodes remain.
        subjects: What it asks for on nodes that fail it, where it asks for each by itself: types of
            devices, or names of resources.

    """

    rule: str
    nodes: int
    subjects: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MissingResourceHolder(TypeChecked):
    """A pod that has what is missing.

    Attributes:
        amount: How much of it, in the unit of what is missing; None where it is no amount: then the
            pod is in the way as a whole.
        placed: Whether the answer has placed it; else it ran before.

    """

    pod: NamespacedName
    amount: int | None
    placed: bool


@dataclass(frozen=True, slots=True)
class NodeLack:
    """What one rule asks of a node that the node cannot give.

    Attributes:
        rule: The rule's name.
        subject: The type of devices or the resource, where a rule asks for each by itself.
        text: The same in words.
        asked: How much is asked for; None where it is no amount.
        left: How much is left of it.
        total: How much the node has of it for pods: what its own system keeps is not counted.
        unit: ``milliCpu``, ``bytes``, or what is counted; empty where it is no amount.
        held_by: Who has it, those who have most first. Where `left` and what they hold are less
            than `total`, the system has the rest, or it is held by nobody that could go alone.

    """

    rule: str
    subject: str
    text: str
    asked: int | None = None
    left: int | None = None
    total: int | None = None
    unit: str = ""
    held_by: tuple[MissingResourceHolder, ...] = ()

    @property
    def missing(self) -> int | None:
        """How much more there would have to be."""
        return None if self.asked is None or self.left is None else self.asked - self.left


@dataclass(frozen=True, slots=True)
class NearMissNode:
    """A node that lacks little."""

    node: str
    lacks: tuple[NodeLack, ...]


@dataclass(frozen=True, slots=True)
class PodsPlacedInstead:
    """Pods that the answer has placed where those that are explained could be in their stead.

    Attributes:
        tier: The first tier in which the answer is better for it; None: none is, so that either
            could have had the place.

    """

    pods: tuple[NamespacedName, ...]
    tier: str | None


@dataclass(frozen=True, slots=True)
class SufficientChange:
    """A change that gives all pods of an explanation a place. It was tried: solved and judged.

    Attributes:
        kind: Its kind, such as ``give-up``; all changes are of that kind.
        changes: What is to be changed, all of it.
        smallest: Whether it is proven that no smaller change of this kind would do, while all
            else keeps its place; False: not known.
        others: Changes of the kind that are as small and would do as well, each of them tried; as
            far as they were looked for.

    """

    kind: str
    changes: tuple[InstanceChange, ...]
    smallest: bool
    others: tuple[tuple[InstanceChange, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why pods of one shape, or a gang, have no place.

    Attributes:
        pods: Those that it is about, all of them alike, or the members of one gang.
        gang: The name of their gang; None for pods of no gang.
        verdict: The verdict; None where only its sentence is known.
        token: The verdict, and the rule that the last nodes fail, in one stable word: what
            programs count and compare.
        sentence: The verdict in one sentence, with all that keeps it off nodes.
        brief: The same for people: reasons on few nodes are counted together.
        more: What else is to be said, a sentence each.
        funnel: How many nodes remain, rule after rule; the first step, without a rule, is all of
            them, and the last is none. Empty where the verdict is not about single nodes.
        nearest: The nodes that lack least, the nearest first. Of a gang, for the first member that
            has no place beside those members that do.
        winner: Who has a place in their stead, where they are outvoted.
        changes: Changes that would do, the cheapest for people first; at most one of a kind.
        ruled_out: Kinds of changes of which it is proven that none would do.
        open: Kinds of which it is not known, for want of time or of a proof.

    """

    pods: tuple[NamespacedName, ...]
    gang: str | None
    verdict: UnplacedCause | None
    token: str
    sentence: str
    brief: str = ""
    more: tuple[str, ...] = ()
    funnel: tuple[FunnelStep, ...] = ()
    nearest: tuple[NearMissNode, ...] = ()
    winner: PodsPlacedInstead | None = None
    changes: tuple[SufficientChange, ...] = ()
    ruled_out: tuple[str, ...] = ()
    open: tuple[str, ...] = ()


UNKNOWN = "unknown"
"""The token where only the words of a verdict are known."""


def unplaced_cause_token(why: Sequence[Reason], funnel: Sequence[FunnelStep]) -> str:
    """Return the verdict, and after a slash the rule that decides: ``not-now/device-count``.

    The rule is the last one of the funnel, which keeps off the nodes that pass all others.
    """
    verdict = verdict_of_reasons(why)
    if verdict is None:
        return UNKNOWN
    match why[0]:
        case FewMembers():
            return f"{verdict}/gang-minimum"
        case GangGroupTooLarge():
            return f"{verdict}/gang-group"
    if len(funnel) > 1:
        return f"{verdict}/{funnel[-1].rule.replace(' ', '-')}"
    return verdict.value
