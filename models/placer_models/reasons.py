"""Reasons of pods without a place, as values; `placer.search.reasons.sentences` says them (G7)."""

from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from placer_models.network import LevelRule


class When(Enum):
    """From when on there is no place. The value says it in a sentence."""

    EMPTY = "on empty nodes"
    RUNNING = "beside what runs"
    PLACED = "beside what is placed"


class Demand(NamedTuple):
    """What one rule asks for a pod on a node.

    Attributes:
        rule: The name of the rule; ``affinity inside`` and ``anti-affinity inside`` are the
            same rules inside nodes.
        subject: A device type, an extended resource or the size of a page, where a rule asks
            of each for itself.
        word: The policy or scope that pod and node come to, where there are several.

    """

    rule: str
    subject: str = ""
    word: str = ""

    @property
    def name(self) -> str:
        """The name of the rule, as the judge and the pages have it."""
        return self.rule.split()[0]


class Blocker(NamedTuple):
    """Why a pod cannot run on a node: what is asked, up to the demand, cannot all be had.

    Attributes:
        demand: The first in the order of rules that cannot be had together with all before it.
        others: Of those before it the fewest with which it cannot be had; none: not by itself.

    """

    demand: Demand
    others: tuple[Demand, ...] = ()


@dataclass(frozen=True, slots=True)
class Blocked:
    """Every node blocks the pod.

    Attributes:
        when: From when on.
        nodes: Each blocker, with how many nodes it is on; they add up to all nodes.
        alone: Some node lacks pods that this one requires there. They may have come with what
            is placed: then ``nodes`` are as they are beside that, if all block it even so.

    """

    when: When
    nodes: tuple[tuple[Blocker, int], ...]
    alone: bool = False


@dataclass(frozen=True, slots=True)
class FewMembers:
    """Fewer members of a gang than its minimum have places.

    Attributes:
        most: As many of them as have; no more than that where it is a bound.

    """

    when: When
    gang: str
    members: int
    minimum: int
    most: int
    is_bound: bool


@dataclass(frozen=True, slots=True)
class GroupTooLarge:
    """There is no room for the minimum of every gang of a group."""

    when: When
    group: str


@dataclass(frozen=True, slots=True)
class OutOfTime:
    """The time ran out before the reason was looked into."""


@dataclass(frozen=True, slots=True)
class NotFound:
    """There is room, and no place was found.

    Attributes:
        node: One that has room for the pod; empty where it is for the minimum of its gang.
        gang: That gang.

    """

    node: str = ""
    gang: str = ""


class NameOf(Enum):
    """What a name that no node knows is the name of."""

    LABEL = "label"
    LABEL_VALUE = "value of a label"
    PAGE_SIZE = "size of hugepages"
    DEVICE_TYPE = "type of devices"
    FUNCTION_LABEL = "label of virtual functions"
    FUNCTION_VALUE = "value of a label of virtual functions"


@dataclass(frozen=True, slots=True)
class UnknownName:
    """The pod asks for something by a name that no node knows.

    Attributes:
        asked: Values that are asked for; one, but for those of which any will do.
        known: The names that there are, ascending.
        label: Whose value it is.
        device_type: Whose virtual functions.

    """

    what: NameOf
    asked: tuple[str, ...]
    known: tuple[str, ...]
    label: str = ""
    device_type: str = ""


@dataclass(frozen=True, slots=True)
class MovesAllowed:
    """So many running pods could move, and so many of them may."""

    could: int
    may: int


@dataclass(frozen=True, slots=True)
class GangAsks:
    """What the gang asks of the places of its members."""

    rule: LevelRule


@dataclass(frozen=True, slots=True)
class GangMinimum:
    """The gang runs with its minimum or not at all.

    Attributes:
        running: Members that this answer places.

    """

    gang: str
    running: int
    members: int
    minimum: int


@dataclass(frozen=True, slots=True)
class GroupIsWhole:
    """The gangs of the group run all, or none does."""

    group: str
    gangs: tuple[str, ...]


Reason = (
    Blocked
    | FewMembers
    | GroupTooLarge
    | OutOfTime
    | NotFound
    | UnknownName
    | MovesAllowed
    | GangAsks
    | GangMinimum
    | GroupIsWhole
)
"""The first one of a pod is the verdict; the others stand beside it."""
