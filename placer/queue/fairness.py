"""How fair a sequence of dispatches was, measured apart from the queue that made it (Q9).

The meter keeps its own values: the dispatched lengths over the weights, true lengths
and not estimates, with starts from idleness at the lowest active value. Its figure is
the lead of a flow over its least served active sibling, right after a dispatch, as a
share of the flow's own longest length over weight. Charging at dispatch keeps it at 1
or below; the literal rule does not.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from placer.queue.words import ONE_MILLI


@dataclass(slots=True)
class _Account:
    group: str
    weight_milli: int
    value: Fraction = Fraction(0)
    longest: int = 0
    queued: int = 0
    recent: bool = False


@dataclass(frozen=True, slots=True)
class Lead:
    """The largest lead that was seen.

    Attributes:
        flow: Who led; None: nobody ever led an active sibling.
        over: Whom it led.
        at_us: When.
        lead: Thread-microseconds over weight.
        ratio: The lead over the flow's longest length over weight until then.

    """

    flow: str | None = None
    over: str | None = None
    at_us: int = 0
    lead: Fraction = Fraction(0)
    ratio: Fraction = Fraction(0)


class FairnessMeter:
    """Watches who queues and who is dispatched; each event costs O(siblings)."""

    def __init__(self, groups: Mapping[str, str], weights_milli: Mapping[str, int]) -> None:
        """Begin with all flows idle; ``groups`` names each flow's group, "" at the top."""
        self._accounts = {
            name: _Account(group, weights_milli[name]) for name, group in groups.items()
        }
        self._floors: dict[str, Fraction] = {}
        self._children: dict[str, list[str]] = {}
        for name, group in groups.items():
            self._children.setdefault(group, []).append(name)
        self.worst = Lead()

    def served(self, job: str, service: int) -> None:
        """Note a recent past; the job and its groups start from it."""
        for name in self._upward(job):
            account = self._accounts[name]
            account.value += Fraction(service * ONE_MILLI, account.weight_milli)
            account.recent = True

    def arrived(self, job: str, units: int) -> None:
        """Note that units of a job wait now."""
        for name in self._upward(job):
            account = self._accounts[name]
            if account.queued == 0 and not account.recent:
                account.value = max(account.value, self._start(account))
            account.recent = False
            account.queued += units

    def dispatched(self, job: str, service: int, now_us: int) -> None:
        """Note that a unit started which will execute so many thread-microseconds."""
        for name in self._upward(job):
            account = self._accounts[name]
            account.value += Fraction(service * ONE_MILLI, account.weight_milli)
            account.longest = max(account.longest, service)
            account.queued -= 1
            if account.queued == 0:
                self._floors[account.group] = account.value
            else:
                self._measure(name, account, now_us)

    def _measure(self, name: str, account: _Account, now_us: int) -> None:
        active = [c for c in self._children[account.group] if self._accounts[c].queued]
        least = min(active, key=lambda child: self._accounts[child].value)
        lead = account.value - self._accounts[least].value
        ratio = lead * account.weight_milli / (account.longest * ONE_MILLI)
        if ratio > self.worst.ratio:
            self.worst = Lead(name, least, now_us, lead, ratio)

    def _start(self, account: _Account) -> Fraction:
        """Return the lowest active value, up to a whole thread-microsecond of the flow."""
        active = (self._accounts[child] for child in self._children[account.group])
        values = [sibling.value for sibling in active if sibling.queued]
        lowest = min(values, default=self._floors.get(account.group, Fraction(0)))
        tally = math.ceil(lowest * account.weight_milli / ONE_MILLI)
        return Fraction(tally * ONE_MILLI, account.weight_milli)

    def _upward(self, job: str) -> list[str]:
        names = [job]
        while group := self._accounts[names[-1]].group:
            names.append(group)
        return names
