"""Reasons why pods have no place, as values; `placer.search.reasons.sentences` words them (G7)."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import NamedTuple

from placer_models.network import GangNetworkLevelRule
from placer_models.typed import TypeChecked


class FirstStageWithoutPlace(Enum):
    """The stage from which on there is no place. The value is its wording in a sentence."""

    EMPTY = "on empty nodes"
    RUNNING = "beside what runs"
    PLACED = "beside what is placed"


class RuleDemand(NamedTuple):
    """What one rule asks for a pod on a node.

    Attributes:
        rule: The name of the rule; ``affinity inside`` and ``anti-affinity inside`` are the
            same rules inside nodes.
        subject: A device type, an extended resource or a page size, where a rule asks for
            each by itself.
        word: The policy or scope that holds for the pod on the node, where there are several.

    """

    rule: str
    subject: str = ""
    word: str = ""

    @property
    def name(self) -> str:
        """The name of the rule, as the judge and the pages have it."""
        return self.rule.split()[0]


class Blocker(NamedTuple):
    """Why a pod cannot run on a node: the demands up to this one cannot all be met there.

    Attributes:
        demand: The first demand, in the order of rules, that cannot be met together with all
            demands before it.
        others: The fewest of those before it beside which it cannot be met; empty: it cannot
            be met even by itself.
        guessed: Whether they might be met if running pods had their memory elsewhere: nobody
            says where some of them have it, so that was guessed (`RunningPod.guessed`).

    """

    demand: RuleDemand
    others: tuple[RuleDemand, ...] = ()
    guessed: bool = False


@dataclass(frozen=True, slots=True)
class Blocked(TypeChecked):
    """Every node blocks the pod.

    Attributes:
        when: The stage from which on they do.
        nodes: Each blocker, with how many nodes it is on; the numbers add up to all nodes.
        alone: Whether some node lacks pods that this pod requires there. What is placed may have
            brought them; if all nodes block the pod even so, ``nodes`` says why at that stage.

    """

    when: FirstStageWithoutPlace
    nodes: tuple[tuple[Blocker, int], ...]
    alone: bool = False

    @property
    def guessed(self) -> int:
        """On how many nodes that hangs on a guess, as `Blocker.guessed` says."""
        return sum(count for blocker, count in self.nodes if blocker.guessed)


@dataclass(frozen=True, slots=True)
class FewMembers(TypeChecked):
    """Fewer members of a gang than its minimum have places.

    Attributes:
        most: How many of the members have places.
        is_bound: Whether ``most`` is only an upper bound.
        guessed: Whether more might fit if running pods had their memory elsewhere than guessed.

    """

    when: FirstStageWithoutPlace
    gang: str
    members: int
    minimum: int
    most: int
    is_bound: bool
    guessed: bool = False


@dataclass(frozen=True, slots=True)
class GangGroupTooLarge(TypeChecked):
    """There is no room for the minimum of every gang of a group.

    Attributes:
        guessed: Whether there might be if running pods had their memory elsewhere than guessed.

    """

    when: FirstStageWithoutPlace
    group: str
    guessed: bool = False


@dataclass(frozen=True, slots=True)
class ReasonNotFoundInTime:
    """The time ran out before the reason was found."""


@dataclass(frozen=True, slots=True)
class RoomButNoPlaceFound(TypeChecked):
    """There is room, but no place was found.

    Attributes:
        node: A node that has room for the pod; empty if the room is for its gang's minimum.
        gang: The gang whose minimum there is room for; empty if ``node`` is given.

    """

    node: str = ""
    gang: str = ""


class UnknownNameKind(Enum):
    """The kind of thing that a name unknown to every node stands for."""

    LABEL = "label"
    LABEL_VALUE = "value of a label"
    PAGE_SIZE = "size of hugepages"
    DEVICE_TYPE = "type of devices"
    FUNCTION_LABEL = "label of virtual functions"
    FUNCTION_VALUE = "value of a label of virtual functions"


@dataclass(frozen=True, slots=True)
class UnknownName(TypeChecked):
    """The pod asks for something by a name that no node knows.

    Attributes:
        asked: The names asked for: one, or several of which any will do.
        known: The names that exist, ascending.
        label: The label, if the name is a value of one.
        device_type: The device type, if the name is about virtual functions.

    """

    what: UnknownNameKind
    asked: tuple[str, ...]
    known: tuple[str, ...]
    label: str = ""
    device_type: str = ""


@dataclass(frozen=True, slots=True)
class DevicesHeldByCheckpointReason(TypeChecked):
    """Checkpoints of kubelets keep devices from the pod that nobody in the instance holds.

    Attributes:
        devices: How many devices of the type.
        nodes: On how many nodes they are.
        all_nodes: How many nodes there are.

    """

    device_type: str
    devices: int
    nodes: int
    all_nodes: int


@dataclass(frozen=True, slots=True)
class MovesAllowedReason(TypeChecked):
    """How many running pods could move, and how many of them may."""

    could: int
    may: int


@dataclass(frozen=True, slots=True)
class RejectedPlaceReason(TypeChecked):
    """A place was chosen for the pod, and the judge rejected it: a defect of Placer.

    Attributes:
        node: The node of that place.
        why: The rule that it breaks, and what is wrong.

    """

    node: str
    why: str


@dataclass(frozen=True, slots=True)
class GangNetworkLevelRuleReason(TypeChecked):
    """What the gang asks of the places of its members."""

    rule: GangNetworkLevelRule


@dataclass(frozen=True, slots=True)
class GangMinimumReason(TypeChecked):
    """The gang runs with its minimum or not at all.

    Attributes:
        running: How many members this answer places.

    """

    gang: str
    running: int
    members: int
    minimum: int


@dataclass(frozen=True, slots=True)
class WholeGangGroupReason(TypeChecked):
    """Either all gangs of the group run, or none does."""

    group: str
    gangs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Illegal(TypeChecked):
    """The pod asks for what no pod may ask for, wherever it might go.

    Attributes:
        field: Where it does: a path in the pod's spec, in its file or in its object.
        message: What is wrong, what is expected, and what to do.
        where: File and line; empty if the pod was read from no file.

    """

    field: str
    message: str
    where: str = ""

    @property
    def text(self) -> str:
        """All of it in one line."""
        return ": ".join(part for part in (self.where, self.field, self.message) if part)


@dataclass(frozen=True, slots=True)
class IllegalMembers(TypeChecked):
    """Without its illegal members a gang has fewer than its minimum.

    Attributes:
        illegal: Names of these members.
        members: How many members it has with them.

    """

    gang: str
    illegal: tuple[str, ...]
    members: int
    minimum: int


@dataclass(frozen=True, slots=True)
class IllegalGangInGroup(TypeChecked):
    """A gang group runs whole or not at all, and one of its gangs lacks its illegal members."""

    group: str
    gang: str


@dataclass(frozen=True, slots=True)
class NotTried(TypeChecked):
    """The pod waits, and nobody looked for a place: not yet, or not with what is known of it.

    Attributes:
        why: What stands in the way, in words for people.

    """

    why: str


Reason = (
    Blocked
    | FewMembers
    | GangGroupTooLarge
    | ReasonNotFoundInTime
    | RoomButNoPlaceFound
    | UnknownName
    | DevicesHeldByCheckpointReason
    | MovesAllowedReason
    | RejectedPlaceReason
    | GangNetworkLevelRuleReason
    | GangMinimumReason
    | WholeGangGroupReason
    | Illegal
    | IllegalMembers
    | IllegalGangInGroup
    | NotTried
)
"""One reason of a pod; a pod's first reason is the verdict, and others may follow."""


class UnplacedCause(StrEnum):
    """What the first reason of a pod comes to. The value is the word of placement files."""

    ILLEGAL = "illegal"
    """The pod, or too many of its gang, may not ask for what they ask for."""

    NOT_ASKED = "not-asked"
    """Nobody looked for a place: not yet, or not with what is known of the pod."""

    NEVER = "never"
    """It has no place even on empty nodes."""

    NOT_NOW = "not-now"
    """It has no place beside what runs."""

    OUTVOTED = "outvoted"
    """It has no place beside what the answer places."""

    NOT_FOUND = "not-found"
    """There is room, but no place was found."""

    TIME = "time"
    """The time ran out before the reason was found."""


_VERDICTS = {
    FirstStageWithoutPlace.EMPTY: UnplacedCause.NEVER,
    FirstStageWithoutPlace.RUNNING: UnplacedCause.NOT_NOW,
    FirstStageWithoutPlace.PLACED: UnplacedCause.OUTVOTED,
}


def verdict_of_reasons(why: Sequence[Reason]) -> UnplacedCause | None:
    """Return what the reasons of a pod come to, or None if there are none."""
    match why:
        case [Blocked() | FewMembers() | GangGroupTooLarge() as first, *_]:
            return _VERDICTS[first.when]
        case [Illegal() | IllegalMembers() | IllegalGangInGroup(), *_]:
            return UnplacedCause.ILLEGAL
        case [NotTried(), *_]:
            return UnplacedCause.NOT_ASKED
        case [ReasonNotFoundInTime(), *_]:
            return UnplacedCause.TIME
        case [RoomButNoPlaceFound(), *_]:
            return UnplacedCause.NOT_FOUND
        case _:
            return None
