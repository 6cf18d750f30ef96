"""Explanations as words: why a pod or a gang waits, and what would give it a place."""

from dataclasses import dataclass

from placer_models.placement import NamespacedName
from placer_models.reasons import Verdict
from placer_models.typed import check_types
from placer_models.whatif.change import InstanceChange


@dataclass(frozen=True, slots=True)
class FunnelStep:
    """How many nodes remain after one more rule; the rules are in one stated order."""

    rule: str
    nodes: int

    def __post_init__(self) -> None:
        check_types(self)


@dataclass(frozen=True, slots=True)
class ProposedChange:
    """A change that gives all pods of an explanation a place. It was tried: solved and judged.

    Attributes:
        kind: Its kind, such as ``give-up``; all changes are of that kind.
        changes: What is to be changed, all of it.
        smallest: Whether it is proven that no smaller change of this kind would do, while all
            else keeps its place; False: not known.

    """

    kind: str
    changes: tuple[InstanceChange, ...]
    smallest: bool


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why pods of one shape, or a gang, have no place.

    Attributes:
        pods: Those that it is about, all of them alike, or the members of one gang.
        gang: The name of their gang; None for pods of no gang.
        token: The verdict in one word; None where only its sentence is known.
        sentence: The verdict in one sentence.
        more: What else is to be said, a sentence each.
        funnel: How many nodes remain, rule after rule; the first step, without a rule, is all of
            them, and the last is none. Empty where the verdict is not about single nodes.
        changes: Changes that would do, the cheapest for people first; at most one of a kind.
        ruled_out: Kinds of changes of which it is proven that none would do.
        open: Kinds of which it is not known, for want of time or of a proof.

    """

    pods: tuple[NamespacedName, ...]
    gang: str | None
    token: Verdict | None
    sentence: str
    more: tuple[str, ...] = ()
    funnel: tuple[FunnelStep, ...] = ()
    changes: tuple[ProposedChange, ...] = ()
    ruled_out: tuple[str, ...] = ()
    open: tuple[str, ...] = ()
