"""Least changes of pods that no node can hold, or too few, with which a plan would exist."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from placer.explain.explanation import SufficientChange
from placer.explain.kind_outcome import trial_with_less_may_fail
from placer.explain.least_less import (
    LargestFittingCountSearch,
    ReducibleResourceAsk,
    reducible_resource_asks,
    smallest_change_by_reducing_asks,
)
from placer.explain.smallest_change import LEAST_TRIAL_S, SmallestChangeSearch
from placer.explain.trial import ChangeTrials, DeterministicWorkCounter, TrialVerdict
from placer.plan.answer import (
    NoPlanExists,
    PlanAnswer,
    PodsShortOfOffers,
    PurchasePlan,
    SufficientQuestionChange,
)
from placer.plan.clock import PlanClock
from placer.plan.question import PlanQuestion
from placer.plan.relax import with_one_of_each_offer
from placer_models.cluster import Instance
from placer_models.pod import Gang, pods_of_gangs
from placer_models.whatif.change import InstanceChange, WhatIfChangeError
from placer_models.whatif.language import instance_with_all_changes

_EACH_S = 2.0
"""So long changes of one pod are looked for."""

_MOST_GANGS = 3
_MOST_OF_ONE = 2
_MOST_SHORT = 2
"""Of so many shapes for which nodes run out it is looked at how much less they could ask for."""

OF_PODS = ("ask-less", "give-up", "relax", "fewer-members")
"""The kinds of changes that are changes of the demand, and not of nodes that are not there yet."""

LESS_ASKED = "less of what a pod asks for"
OF_PODS_IN_WORDS = (
    LESS_ASKED,
    "a term that it gives up",
    "a policy that it only prefers",
)


@dataclass(frozen=True, slots=True)
class _Way:
    """A change with which a pod, or a gang that is gathered on a node, has a place."""

    changes: tuple[InstanceChange, ...]
    smallest: bool
    before: Gang
    after: Gang

    def of(self, gang: Gang) -> Gang:
        """Return a gang of the demand as it is once all that are like the one have changed."""
        if self.before.lone:
            old, new = self.before.pods[0].spec, self.after.pods[0].spec
            pods = [replace(p, spec=new) if p.spec == old else p for p in gang.pods]
            return replace(gang, pods=tuple(pods)) if pods != [*gang.pods] else gang
        if _asked(gang) != _asked(self.before):
            return gang
        pods = [
            replace(mine, spec=its.spec)
            for mine, its in zip(gang.pods, self.after.pods, strict=False)
        ]
        return replace(gang, pods=tuple(pods), minimum=self.after.minimum)

    def alike(self, question: PlanQuestion) -> int:
        """Return how many pods, or gangs, of the demand have to change."""
        gangs = (*question.instance.gangs, *question.headroom)
        if not self.before.lone:
            return sum(_asked(gang) == _asked(self.before) for gang in gangs)
        spec = self.before.pods[0].spec
        return sum(pod.spec == spec for pod in pods_of_gangs(gangs))


def _asked(gang: Gang) -> object:
    return tuple(pod.spec for pod in gang.pods), gang.minimum, gang.gather, gang.levels


def mends_of_unplaceable_gangs(
    question: PlanQuestion,
    instance: Instance,
    homeless: Sequence[Gang],
    clock: PlanClock,
    time: float,
    buy: Callable[[PlanQuestion], PlanAnswer],
) -> Iterator[SufficientQuestionChange]:
    """Yield the least changes with which each of some pods would have a node.

    Where one change for each is enough for a plan, it has a price.

    Args:
        question: The question.
        instance: The nodes that are there, one of each offer, and what runs.
        homeless: Pods, and gangs that are gathered on a node, that have a place on none of
            them, not even alone; one of each shape.
        clock: What time is measured by; work that is done is counted.
        time: How long that may take.
        buy: Answers a question in the time that is left.

    """
    end = clock.now() + time
    found: list[list[_Way]] = []
    for number, gang in enumerate(homeless[:_MOST_GANGS]):
        left_s = end - clock.now()
        work = None if clock.wall_s(end) is not None else DeterministicWorkCounter()
        if work is None:
            left_s = min(_EACH_S, left_s)
        else:
            # The plan with the changes has the other half.
            left_s /= 2 * (min(len(homeless), _MOST_GANGS) - number)
        alone = replace(instance, gangs=(gang,), groups=(), left_out=(), move_budget=0)
        found.append([*_ways(alone, left_s, work)] if left_s > 0 else [])
        clock.count(work.done if work else 0.0)
    together = all(found) and len(homeless) <= _MOST_GANGS
    if together and len(found) == 1:
        for way in found[0]:
            yield _mend(question, [way], buy)
        return
    if together:
        mend = _mend(question, [ways[0] for ways in found], buy)
        if mend.price is not None:
            yield mend
            return
    for way in (way for ways in found for way in ways):
        changes = tuple(map(str, way.changes))
        yield SufficientQuestionChange(changes, None, way.smallest, way.alike(question))


def _ways(alone: Instance, seconds: float, work: DeterministicWorkCounter | None) -> Iterator[_Way]:
    """Yield changes with which what waits in an instance has a place, the least first."""
    search = SmallestChangeSearch(alone, kinds=OF_PODS, work=work)
    search.go_on(seconds)
    ways = [one for one in search.found.values() if isinstance(one, SufficientChange)]
    if not ways:
        trials = ChangeTrials(alone, seconds, LEAST_TRIAL_S, work=work)
        several = smallest_change_by_reducing_asks(trials)
        ways = [several] if isinstance(several, SufficientChange) else []
    ways.sort(key=lambda one: (not one.smallest, len(one.changes)))
    for one in ways[:_MOST_OF_ONE]:
        after = instance_with_all_changes(one.changes, alone)
        yield _Way(one.changes, one.smallest, alone.gangs[0], after.gangs[0])


def _mend(
    question: PlanQuestion, ways: Sequence[_Way], buy: Callable[[PlanQuestion], PlanAnswer]
) -> SufficientQuestionChange:
    """Return changes together, with the price of a plan if there is one."""
    answer = buy(_changed(question, ways))
    return SufficientQuestionChange(
        tuple(str(change) for way in ways for change in way.changes),
        answer.price if isinstance(answer, PurchasePlan) else None,
        all(way.smallest for way in ways),
        max(way.alike(question) for way in ways),
    )


def _changed(question: PlanQuestion, ways: Sequence[_Way]) -> PlanQuestion:
    """Return the question with changes of all pods that are alike."""

    def changed(gang: Gang) -> Gang:
        for way in ways:
            gang = way.of(gang)
        return gang

    gangs = tuple(map(changed, question.instance.gangs))
    headroom = tuple(map(changed, question.headroom))
    instance = replace(question.instance, gangs=gangs)
    return replace(question, instance=instance, headroom=headroom)


def asks_that_could_be_less(
    question: PlanQuestion, short: Sequence[PodsShortOfOffers]
) -> list[tuple[Gang, list[ReducibleResourceAsk]]]:
    """Return some gangs of which pods are short, each with what it could ask less of."""
    found = (
        (gang, [one for one in reducible_resource_asks(gang.pods[0].spec) if one.steps > 1])
        for gang in _short_gangs(question, {one.pod for one in short})
    )
    return list(islice((one for one in found if one[1]), _MOST_SHORT))


def mends_by_reduced_asks(
    question: PlanQuestion,
    asks: Iterable[tuple[Gang, Iterable[ReducibleResourceAsk]]],
    buy: Callable[[PlanQuestion], PlanAnswer],
) -> Iterator[SufficientQuestionChange]:
    """Yield how much less pods would have to ask for so that the nodes that can be had do.

    Args:
        question: The question.
        asks: Gangs for whose pods the nodes are too few, with what they could ask less of; all
            that are like one of them ask less.
        buy: Answers a question in the time that is left.

    """
    whole = with_one_of_each_offer(question, question.instance)
    for gang, resources in asks:
        found = (_least_less(question, whole, gang, one, buy) for one in resources)
        yield from islice((mend for mend in found if mend is not None), _MOST_OF_ONE)


def _short_gangs(question: PlanQuestion, titles: set[str]) -> Iterator[Gang]:
    """Yield gangs of these pods, one of each shape; of all pods where it is not known which."""
    seen: set[object] = set()
    anyone = titles == {""}
    for gang in question.instance.gangs:
        specs = {pod.spec for pod in gang.pods}
        if len(specs) > 1 or any(spec.variants for spec in specs):
            continue
        if anyone or any(pod.title in titles for pod in gang.pods):
            shape = gang.pods[0].spec if gang.lone else _asked(gang)
            if shape not in seen:
                seen.add(shape)
                yield gang


def _least_less(
    question: PlanQuestion,
    whole: Instance,
    gang: Gang,
    resource: ReducibleResourceAsk,
    buy: Callable[[PlanQuestion], PlanAnswer],
) -> SufficientQuestionChange | None:
    """Return the most of a resource that a gang, and all like it, may ask for; None: nothing does.

    ``whole`` is the question's instance with one node of each offer.
    """
    alone = replace(whole, gangs=(gang,), groups=())
    found: dict[int, SufficientQuestionChange] = {}

    def outcome(steps: int) -> TrialVerdict:
        change = resource.less(gang, steps)
        try:
            (after,) = instance_with_all_changes((change,), alone).gangs
        except WhatIfChangeError:
            return TrialVerdict.RULED_OUT  # it cannot be made at all
        way = _Way((change,), False, gang, after)
        answer = buy(_changed(question, [way]))
        if isinstance(answer, PurchasePlan):
            found[steps] = SufficientQuestionChange(
                (str(change),), answer.price, alike=way.alike(question)
            )
            return TrialVerdict.FITS
        return TrialVerdict.RULED_OUT if isinstance(answer, NoPlanExists) else TrialVerdict.OPEN

    search = LargestFittingCountSearch(low=1, high=resource.steps)
    most = search.most_that_fits(outcome, plain=not trial_with_less_may_fail(whole))
    if most is None:
        return None
    return replace(found[most], smallest=search.beyond is TrialVerdict.RULED_OUT)
