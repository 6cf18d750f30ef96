"""Fairness of a sequence of dispatches, measured apart from the queue that made it (Q8, Q9).

The meter keeps its own values and virtual times. A value is dispatched lengths over weight:
true lengths, not estimates. A flow that was idle starts at the virtual time. The meter's
figure is the lead of a flow over its least served active sibling, right after a dispatch, as
a share of the flow's own longest length over weight. Charging at dispatch keeps it at 1 or
below, whatever flows arrive. The rule as first written down (``FlowChargeTime.RUNNING``) does not.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from placer.queue.model import KEY_BITS, ONE_MILLI, weighted_service_key


@dataclass(slots=True)
class _Account:
    group: str
    weight_milli: int
    value: Fraction = Fraction(0)
    longest: int = 0
    queued: int = 0
    recent: bool = False


@dataclass(slots=True)
class _Level:
    """The children of a group: their names, and where an idle one starts."""

    children: list[str]
    virtual: Fraction = Fraction(0)
    highest: Fraction = Fraction(0)


@dataclass(frozen=True, slots=True)
class LargestFlowLead:
    """The largest lead that was seen.

    Attributes:
        flow: The flow that led, or None if none ever led an active sibling.
        over: The sibling that it led.
        at_us: The time of that dispatch, in microseconds.
        lead: Thread-microseconds over weight.
        ratio: The lead divided by the flow's longest length over weight until then.

    """

    flow: str | None = None
    over: str | None = None
    at_us: int = 0
    lead: Fraction = Fraction(0)
    ratio: Fraction = Fraction(0)


class FairnessMeter:
    """A meter that watches which jobs queue and are dispatched; each event costs O(siblings)."""

    def __init__(self, groups: Mapping[str, str], weights_milli: Mapping[str, int]) -> None:
        """Begin with all flows idle; ``groups`` names each flow's group, "" at the top."""
        self._accounts = {
            name: _Account(group, weights_milli[name]) for name, group in groups.items()
        }
        self._levels: dict[str, _Level] = {}
        for name, group in groups.items():
            self._levels.setdefault(group, _Level([])).children.append(name)
        self.worst = LargestFlowLead()

    def served(self, job: str, service: int) -> None:
        """Note a job's recent past, in thread-microseconds; it and its groups start from it."""
        for name in self._upward(job):
            account = self._accounts[name]
            account.value += Fraction(service * ONE_MILLI, account.weight_milli)
            account.recent = True

    def arrived(self, job: str, units: int) -> None:
        """Note that units of a job wait now."""
        for name in self._upward(job):
            account = self._accounts[name]
            level = self._levels[account.group]
            if account.queued == 0:
                start = Fraction(0) if account.recent else _start(level, account)
                if start <= account.value:
                    level.highest = max(level.highest, account.value)
                account.value = max(account.value, start)
            account.recent = False
            account.queued += units
            self._catch_up(level)

    def dispatched(self, job: str, service: int, now_us: int) -> None:
        """Note that a unit of a job started, which will execute ``service`` thread-microseconds."""
        for name in self._upward(job):
            account = self._accounts[name]
            level = self._levels[account.group]
            account.value += Fraction(service * ONE_MILLI, account.weight_milli)
            account.longest = max(account.longest, service)
            level.highest = max(level.highest, account.value)
            weight = sum(self._accounts[child].weight_milli for child in self._active(level))
            # Rounded down, as in the queue.
            rise = Fraction(weighted_service_key(service, weight) * ONE_MILLI, 1 << KEY_BITS)
            risen = level.virtual + rise
            level.virtual = max(level.virtual, min(risen, level.highest))
            account.queued -= 1
            if account.queued:
                self._measure(name, account, now_us)
            elif not self._active(level):
                level.virtual = max(level.virtual, account.value)
            self._catch_up(level)

    def _measure(self, name: str, account: _Account, now_us: int) -> None:
        active = self._active(self._levels[account.group])
        least = min(active, key=lambda child: self._accounts[child].value)
        lead = account.value - self._accounts[least].value
        ratio = lead * account.weight_milli / (account.longest * ONE_MILLI)
        if ratio > self.worst.ratio:
            self.worst = LargestFlowLead(name, least, now_us, lead, ratio)

    def _active(self, level: _Level) -> list[str]:
        return [child for child in level.children if self._accounts[child].queued]

    def _catch_up(self, level: _Level) -> None:
        values = (self._accounts[child].value for child in self._active(level))
        level.virtual = max(level.virtual, min(values, default=level.virtual))

    def _upward(self, job: str) -> list[str]:
        names = [job]
        while group := self._accounts[names[-1]].group:
            names.append(group)
        return names


def _start(level: _Level, account: _Account) -> Fraction:
    """Return the virtual time, rounded up to a whole thread-microsecond of the flow."""
    tally = math.ceil(level.virtual * account.weight_milli / ONE_MILLI)
    return Fraction(tally * ONE_MILLI, account.weight_milli)
