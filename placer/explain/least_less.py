"""Least amount that pods would have to ask less of one resource, and the search for counts."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from placer.explain.explanation import ProposedChange
from placer.explain.kind_outcome import (
    MOST_TRIALS,
    KindOutcome,
    Option,
    all_of,
    is_ruled_out,
    may_need_more,
    none_of,
)
from placer.explain.relaxed import asking_nothing, without_policies
from placer.explain.trial import Outcome, Trials
from placer_models.pod import PodSpec
from placer_models.whatif.change import ChangeError
from placer_models.whatif.language import apply_all
from placer_models.whatif.pods import AskLess
from placer_models.whatif.shares import amount_text, is_in_bytes, parts_asked

Written = Callable[[int], str] | None
"""Returns an amount as files write it; None: as is usual for the resource."""

CPU_STEP_MILLI, MEMORY_STEP_BYTES = 100, 1 << 20
"""In what steps less CPU and less memory are looked for."""


def ask_less(trials: Trials) -> KindOutcome:
    """Look for the least that has to be asked less of one resource; not of several at once."""
    if is_ruled_out(asking_nothing(trials.instance), trials):
        return Outcome.RULED_OUT
    specs = {pod.spec for gang in trials.instance.gangs for pod in gang.pods}
    if len(specs) > 1 or any(spec.variants for spec in specs):
        return Outcome.OPEN
    outcomes: list[KindOutcome] = []
    for resource, asked, step, written in _resources(specs.pop()):
        found = _least_less(resource, asked, step, written, trials)
        if isinstance(found, ProposedChange):
            return found
        outcomes.append(found)
    return none_of(outcomes)


def ask_less_of_several(trials: Trials) -> KindOutcome:
    """Look for how much less has to be asked of several resources at once.

    One after the other is asked for as much of as the least of those that follow allows. So
    nobody who asks for more of one, and for no less of the others, has a place.
    """
    specs = {pod.spec for gang in trials.instance.gangs for pod in gang.pods}
    if len(specs) > 1 or any(spec.variants for spec in specs):
        return Outcome.OPEN
    asked = list(_resources(specs.pop()))
    gangs = trials.instance.gangs
    least = {
        resource: tuple(
            AskLess(gang.key, resource, step, written(step) if written else "") for gang in gangs
        )
        for resource, amount, step, written in asked
        if amount > step
    }
    known = trials.outcome(all_of(least.values()))
    if known is not Outcome.FITS:
        return known
    certain = True
    kept: list[Option] = []
    for resource, amount, step, written in asked:
        if resource not in least:
            continue
        del least[resource]
        others = all_of((*kept, *least.values()))
        known = trials.outcome(others)
        if known is Outcome.FITS:
            continue
        found = _least_less(resource, amount, step, written, trials.changed(others))
        if not isinstance(found, ProposedChange):
            return Outcome.OPEN
        certain = certain and known is Outcome.RULED_OUT and found.smallest
        kept.append(found.changes)
    return ProposedChange("ask-less", all_of(kept), certain)


def _resources(spec: PodSpec) -> Iterator[tuple[str, int, int, Written]]:
    """Yield what a pod asks for, in what steps it could be less, and how that is written.

    What few nodes have comes first.
    """
    asked = spec.requests
    for device in asked.devices:
        if device.share is None:
            yield device.type, device.count, 1, None
    types = [device.type for device in asked.devices if device.share is not None]
    for device in asked.devices:
        # Of two shares of a type one alone may have to be less.
        if device.share is not None and types.count(device.type) == 1:
            for part, amount in parts_asked(device):
                name = part.rpartition(".")[2]
                step = MEMORY_STEP_BYTES if is_in_bytes(device.share, name) else 1
                yield part, amount, step, partial(amount_text, device.share, name)
    yield from ((name, amount, 1, None) for name, amount in asked.extended)
    if asked.cpu_milli:
        yield "cpu", asked.cpu_milli, 1000 if spec.qos.owns_cpus else CPU_STEP_MILLI, None
    if asked.memory_bytes:
        yield "memory", asked.memory_bytes, MEMORY_STEP_BYTES, None


def _least_less(
    resource: str, asked: int, step: int, written: Written, trials: Trials
) -> KindOutcome:
    """Look for the largest amount below what is asked for with which all fit."""
    gangs = trials.instance.gangs

    def less(steps: int) -> Option:
        amount = steps * step
        text = written(amount) if written else ""
        return tuple(AskLess(gang.key, resource, amount, text) for gang in gangs)

    most = _most_left(resource, trials)
    high = -(-asked // step) if most is None else min(-(-asked // step), most // step + 1)
    steps = StepSearch(low=1, high=high)  # to ask for nothing is not to ask for less
    # Where less may not fit though more does, nothing follows from what does not fit.
    plain = not may_need_more(trials.instance)
    if not plain and _without_policies_none_fits(less(steps.low), trials):
        return Outcome.RULED_OUT
    found = steps.most_that_fits(lambda count: trials.outcome(less(count)), plain=plain)
    if found is None:
        return steps.beyond
    return ProposedChange("ask-less", less(found), steps.beyond is Outcome.RULED_OUT)


def _most_left(resource: str, trials: Trials) -> int | None:
    """Return how much the node that has most left of a resource has; None: that is not counted.

    Nobody who asks for more has a place.
    """
    accounts = trials.counted.accounts
    if resource == "memory":
        return max((sum(map(_at_least_0, a.memory.bytes_in.values())) for a in accounts), default=0)
    pods = [pod for gang in trials.instance.gangs for pod in gang.pods]
    if any(resource in dict(pod.spec.strategies) for pod in pods):
        return None
    if any(pod.spec.requests.count_of(resource) for pod in pods):
        return max(
            (sum(kind == resource for kind, _ in a.devices.free) for a in accounts), default=0
        )
    return None


def _at_least_0(amount: int) -> int:
    return max(0, amount)


def _without_policies_none_fits(least: Option, trials: Trials) -> bool:
    """Return whether even the least does not fit, where no policy makes less harder than more."""
    try:
        changed = apply_all(least, trials.instance)
    except ChangeError:
        return False
    return is_ruled_out(without_policies(changed), trials)


@dataclass(slots=True)
class StepSearch:
    """A search for the largest count, from low to below high, with which all fit.

    Attributes:
        beyond: What is known of all that is more than that: ruled out, or open.

    """

    low: int
    high: int
    beyond: Outcome = Outcome.RULED_OUT

    def most_that_fits(self, outcome: Callable[[int], Outcome], *, plain: bool) -> int | None:
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
                if known is Outcome.FITS:
                    return count
                if known is Outcome.OPEN:
                    self.beyond = known
            return None
        if not plain:
            self.beyond = Outcome.OPEN
        lowest = outcome(self.low)
        if lowest is not Outcome.FITS:
            self.beyond = lowest if plain else Outcome.OPEN
            return None
        if self.high - self.low > 1 and outcome(self.high - 1) is Outcome.FITS:
            return self.high - 1
        fits, refused = self.low, self.high
        while refused - fits > 1:
            middle = (fits + refused) // 2
            known = outcome(middle)
            if known is Outcome.FITS:
                fits = middle
                continue
            refused = middle
            if plain:
                self.beyond = known
        return fits
