"""The model of the fair queue: units of work, tickets, and what it answers.

Times and lengths are whole microseconds, service is thread-microseconds (one thread of
capacity held for one microsecond), weights are thousandths. All of them are integers.
"""

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import NamedTuple

US_PER_S = 1_000_000

ONE_MILLI = 1000
"""A weight of 1."""

MAX_WEIGHT_MILLI = 2**31 - 1
"""Largest weight; up to here keys order values exactly."""

KEY_BITS = 62


def weighted_service_key(service: int, weight_milli: int) -> int:
    """Return service over weight as an integer, in the same order.

    Two different fractions with denominators below 2**31 differ by more than 2**-62, so
    their keys differ and stand in the same order, and equal fractions have equal keys:
    comparing keys is exact.

    """
    return (service << KEY_BITS) // weight_milli


def service_to_reach_key(key: int, weight_milli: int) -> int:
    """Return the least service with which a flow of this weight reaches the key."""
    return -(-key * weight_milli >> KEY_BITS)


DEFAULT_GROUP = "default"
"""The group of a job that names none; its weight is 1 unless told otherwise (Q6)."""


class FlowChargeTime(StrEnum):
    """When a flow pays for the service it gets. The value is the word in files."""

    DISPATCH = "dispatch"
    """The whole length at once when a unit starts, corrected when it ends (Q9, Q10)."""

    RUNNING = "running"
    """As units run, second by second: the rule as first written down, for comparison."""


class DispatchUnit(NamedTuple):
    """A unit of dispatch: a thread of work, or a whole gang.

    Attributes:
        key: The caller's name for it; the queue only hands it back.
        length_us: How long it runs, as far as is known, or None if the queue estimates it.
        width: Threads of capacity that it holds at once; a gang has several.

    """

    key: str | int
    length_us: int | None
    width: int = 1


class VirtualTimeRiseByDispatch(NamedTuple):
    """What a dispatch did to the virtual time of a group; both are keys.

    Attributes:
        by_charge: How far the charge raised it.
        in_all: How far it rose in all, including any lift to the lowest value left.

    """

    by_charge: int = 0
    in_all: int = 0


class DispatchTicket(NamedTuple):
    """A unit that was dispatched, and what its flows were charged for it.

    Attributes:
        sequence: Its place in the order of dispatch.
        charge: Thread-microseconds that were charged; 0 under ``FlowChargeTime.RUNNING``.
        passes: How often others had gone before it while it was the oldest of its job.
        held_since_us: The time since which nothing could go before it, or None if it was
            not held.
        turn_us: When its turn came, if it did not fit then and had the reservation.
        rises: What it did to the virtual time of each group, from the job's group upward.

    """

    sequence: int
    job: str
    unit: DispatchUnit
    start_us: int
    charge: int
    passes: int = 0
    held_since_us: int | None = None
    turn_us: int | None = None
    rises: tuple[VirtualTimeRiseByDispatch, ...] = ()

    @property
    def told_end_us(self) -> int | None:
        """When the unit ends by the length that was told; None if none was."""
        return None if self.unit.length_us is None else self.start_us + self.unit.length_us


@dataclass(frozen=True, slots=True)
class ReservedUnit:
    """A unit that does not fit yet, and that nothing may go before of what was tried.

    Attributes:
        passes: How often others went before it.

    """

    job: str
    unit: DispatchUnit
    passes: int


@dataclass(frozen=True, slots=True)
class BypassedUnit:
    """The oldest unit of a job that others went before, because it did not fit.

    Attributes:
        held: Whether the limit is reached, so that from now on nothing goes before it.

    """

    job: str
    unit: DispatchUnit
    passes: int
    held: bool


@dataclass(frozen=True, slots=True)
class SiblingFlowChoice:
    """Why a flow was chosen among its siblings.

    Attributes:
        group: The group whose children they are, or None for the top of the tree.
        value: The chosen flow's thread-microseconds over its weight.
        runner_up: The flow that would have been chosen without it, or None if no other waits.
        runner_up_value: The same for the runner-up.

    """

    group: str | None
    chosen: str
    value: Fraction
    runner_up: str | None
    runner_up_value: Fraction | None

    @property
    def gap(self) -> Fraction | None:
        """How much lower the chosen value is, or None without a runner-up.

        0 is a tie: the older flow goes first.
        """
        return None if self.runner_up_value is None else self.runner_up_value - self.value


@dataclass(frozen=True, slots=True)
class QueuePick:
    """A unit of a batch, and why it was next: one step for each level of the tree."""

    ticket: DispatchTicket
    steps: tuple[SiblingFlowChoice, ...]


@dataclass(frozen=True, slots=True)
class QueueBatch:
    """The units that enter the next batch, in the order of fairness.

    Attributes:
        held: Whether the last pick is a unit that nothing may go before any more.

    """

    picks: tuple[QueuePick, ...]
    held: bool


@dataclass(frozen=True, slots=True)
class FlowReport:
    """A report, for people, of what a flow has had.

    Attributes:
        service: Thread-microseconds executed, running units included (Q4).
        tally: What decisions go by, in thread-microseconds: the charge, plus the lifts of
            late starts.
        queued: Units that wait, here or below.
        running: Threads of capacity held now, here or below.

    """

    name: str
    group: str | None
    weight_milli: int
    service: int
    tally: int
    queued: int
    running: int
