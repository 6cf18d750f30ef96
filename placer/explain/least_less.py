"""Least amount that pods would have to ask less of one resource, and the search for counts."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from placer.explain.explanation import SufficientChange
from placer.explain.kind_outcome import (
    MOST_TRIALS,
    KindOutcome,
    Option,
    all_changes_as_one_option,
    is_placing_all_ruled_out,
    outcome_if_no_change_found,
    trial_with_less_may_fail,
)
from placer.explain.relaxed import without_policies, without_requests
from placer.explain.trial import ChangeTrials, TrialVerdict
from placer_models.pod import Gang, PodSpec
from placer_models.whatif.change import WhatIfChangeError
from placer_models.whatif.language import instance_with_all_changes
from placer_models.whatif.pods import AskLess
from placer_models.whatif.shares import (
    is_share_amount_in_bytes,
    share_amount_text,
    share_amounts_asked,
)

CPU_STEP_MILLI, MEMORY_STEP_BYTES = 100, 1 << 20
"""In what steps less CPU and less memory are looked for."""


class ReducibleResourceAsk(NamedTuple):
    """A resource that a pod asks for, and in what steps it could ask for less.

    Attributes:
        written: Returns an amount as files write it; None: as is usual for the resource.

    """

    name: str
    amount: int
    step: int
    written: Callable[[int], str] | None = None

    @property
    def steps(self) -> int:
        """In how many steps all of it is asked for."""
        return -(-self.amount // self.step)

    def less(self, gang: Gang, steps: int) -> AskLess:
        """Return that a gang asks for so many steps of it."""
        amount = steps * self.step
        text = self.written(amount) if self.written else ""
        return AskLess(gang.key, self.name, amount, text)


def smallest_change_by_reducing_one_ask(trials: ChangeTrials) -> KindOutcome:
    """Look for the least that has to be asked less of one resource; not of several at once."""
    if is_placing_all_ruled_out(without_requests(trials.instance), trials):
        return TrialVerdict.RULED_OUT
    specs = {pod.spec for gang in trials.instance.gangs for pod in gang.pods}
    if len(specs) > 1 or any(spec.variants for spec in specs):
        return TrialVerdict.OPEN
    outcomes: list[KindOutcome] = []
    for asked in reducible_resource_asks(specs.pop()):
        found = _least_less(asked, trials)
        if isinstance(found, SufficientChange):
            return found
        outcomes.append(found)
    return outcome_if_no_change_found(outcomes)


def smallest_change_by_reducing_asks(trials: ChangeTrials) -> KindOutcome:
    """Look for how much less has to be asked of several resources at once.

    One after the other is asked for as much of as the least of those that follow allows. So
    nobody who asks for more of one, and for no less of the others, has a place.
    """
    specs = {pod.spec for gang in trials.instance.gangs for pod in gang.pods}
    if len(specs) > 1 or any(spec.variants for spec in specs):
        return TrialVerdict.OPEN
    asked = list(reducible_resource_asks(specs.pop()))
    gangs = trials.instance.gangs
    least = {one.name: tuple(one.less(gang, 1) for gang in gangs) for one in asked if one.steps > 1}
    known = trials.outcome(all_changes_as_one_option(least.values()))
    if known is not TrialVerdict.FITS:
        return known
    certain = True
    kept: list[Option] = []
    for one in asked:
        if one.name not in least:
            continue
        del least[one.name]
        others = all_changes_as_one_option((*kept, *least.values()))
        known = trials.outcome(others)
        if known is TrialVerdict.FITS:
            continue
        found = _least_less(one, trials.changed(others))
        if not isinstance(found, SufficientChange):
            return TrialVerdict.OPEN
        certain = certain and known is TrialVerdict.RULED_OUT and found.smallest
        kept.append(found.changes)
    return SufficientChange("ask-less", all_changes_as_one_option(kept), certain)


def reducible_resource_asks(spec: PodSpec) -> Iterator[ReducibleResourceAsk]:
    """Yield what a pod asks for, and could ask less of; what few nodes have comes first."""
    asked = spec.requests
    for device in asked.devices:
        if device.share is None:
            yield ReducibleResourceAsk(device.type, device.count, 1)
    types = [device.type for device in asked.devices if device.share is not None]
    for device in asked.devices:
        # Of two shares of a type one alone may have to be less.
        if device.share is not None and types.count(device.type) == 1:
            for part, amount in share_amounts_asked(device):
                name = part.rpartition(".")[2]
                step = MEMORY_STEP_BYTES if is_share_amount_in_bytes(device.share, name) else 1
                yield ReducibleResourceAsk(
                    part, amount, step, partial(share_amount_text, device.share, name)
                )
    yield from (ReducibleResourceAsk(name, amount, 1) for name, amount in asked.extended)
    if asked.cpu_milli:
        step = 1000 if spec.qos.owns_cpus else CPU_STEP_MILLI
        yield ReducibleResourceAsk("cpu", asked.cpu_milli, step)
    if asked.memory_bytes:
        yield ReducibleResourceAsk("memory", asked.memory_bytes, MEMORY_STEP_BYTES)


def _least_less(asked: ReducibleResourceAsk, trials: ChangeTrials) -> KindOutcome:
    """Look for the largest amount below what is asked for with which all fit."""
    gangs = trials.instance.gangs

    def less(steps: int) -> Option:
        return tuple(asked.less(gang, steps) for gang in gangs)

    most = _most_left(asked.name, trials)
    high = asked.steps if most is None else min(asked.steps, most // asked.step + 1)
    steps = LargestFittingCountSearch(low=1, high=high)  # to ask for nothing is not to ask for less
    # Where less may not fit though more does, nothing follows from what does not fit.
    plain = not trial_with_less_may_fail(trials.instance)
    if not plain and _without_policies_none_fits(less(steps.low), trials):
        return TrialVerdict.RULED_OUT
    found = steps.most_that_fits(lambda count: trials.outcome(less(count)), plain=plain)
    if found is None:
        return steps.beyond
    return SufficientChange("ask-less", less(found), steps.beyond is TrialVerdict.RULED_OUT)


def _most_left(resource: str, trials: ChangeTrials) -> int | None:
    """Return how much the node that has most left of a resource has; None: that is not counted.

    Nobody who asks for more has a place.
    """
    accounts = trials.counted.accounts
    if resource == "memory":
        return max((account.memory.free_bytes for account in accounts), default=0)
    pods = [pod for gang in trials.instance.gangs for pod in gang.pods]
    if any(resource in dict(pod.spec.strategies) for pod in pods):
        return None
    if any(pod.spec.requests.count_of(resource) for pod in pods):
        return max((account.devices.free_count(resource) for account in accounts), default=0)
    return None


def _without_policies_none_fits(least: Option, trials: ChangeTrials) -> bool:
    """Return whether even the least does not fit, where no policy makes less harder than more."""
    try:
        changed = instance_with_all_changes(least, trials.instance)
    except WhatIfChangeError:
        return False
    return is_placing_all_ruled_out(without_policies(changed), trials)


@dataclass(slots=True)
class LargestFittingCountSearch:
    """A search for the largest count, from low to below high, with which all fit.

    Attributes:
        beyond: What is known of all that is more than that: ruled out, or open.

    """

    low: int
    high: int
    beyond: TrialVerdict = TrialVerdict.RULED_OUT

    def most_that_fits(self, outcome: Callable[[int], TrialVerdict], *, plain: bool) -> int | None:
        """Return it, or None if none fits.

        Args:
            outcome: What is known of a count.
            plain: Whether less fits wherever more does. Else each count is tried, from the
                largest on, where there are few.

        """
        if self.low >= self.high:
            return None
        if not plain and self.high - self.low <= MOST_TRIALS:
            for count in range(self.high - 1, self.low - 1, -1):
                known = outcome(count)
                if known is TrialVerdict.FITS:
                    return count
                if known is TrialVerdict.OPEN:
                    self.beyond = known
            return None
        if not plain:
            self.beyond = TrialVerdict.OPEN
        lowest = outcome(self.low)
        if lowest is not TrialVerdict.FITS:
            self.beyond = lowest if plain else TrialVerdict.OPEN
            return None
        if self.high - self.low > 1 and outcome(self.high - 1) is TrialVerdict.FITS:
            return self.high - 1
        fits, refused = self.low, self.high
        while refused - fits > 1:
            middle = (fits + refused) // 2
            known = outcome(middle)
            if known is TrialVerdict.FITS:
                fits = middle
                continue
            refused = middle
            if plain:
                self.beyond = known
        return fits
