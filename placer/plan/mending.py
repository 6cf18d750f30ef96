"""The least changes with which a plan would exist, where there is none."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from time import monotonic

from placer.explain.explanation import ProposedChange
from placer.explain.smallest_change import ChangeSearch
from placer.plan.answer import Bought, NoPlan, PlanAnswer, PlanMend
from placer.plan.cases import PlanCase
from placer.plan.question import PlanQuestion, SurvivalDemand
from placer_models.cluster import Instance
from placer_models.pod import Gang, Pod, pods_of

_EACH_S = 2.0
"""So long changes of one pod are looked for."""

_MOST_PODS = 3
_MOST_OF_A_POD = 2


def with_mends(
    question: PlanQuestion,
    found: NoPlan,
    buy: Callable[[PlanQuestion], PlanAnswer],
) -> NoPlan:
    """Return the answer that there is no plan, with what would do.

    Args:
        question: The question.
        found: The answer.
        buy: Answers a question in the time that is left.

    """
    mends = [] if found.unplaced else list(_more_nodes(question, buy))
    if question.survive is not None and not mends:
        mends += _surviving_less(question, question.survive, buy)
    return replace(found, mends=tuple(mends))


def _more_nodes(
    question: PlanQuestion, buy: Callable[[PlanQuestion], PlanAnswer]
) -> Iterator[PlanMend]:
    """Yield how many nodes of each offer would have to be had, if that would do."""
    limited = {offer.name: offer.most for offer in question.offers if offer.most is not None}
    if not limited:
        return
    offers = tuple(replace(offer, most=None) for offer in question.offers)
    answer = buy(replace(question, offers=offers))
    if isinstance(answer, Bought):
        more = tuple(
            f"offers.{one.offer}.max={one.count}"
            for one in answer.mix
            if one.offer in limited and one.count > limited[one.offer]
        )
        yield PlanMend(more, answer.price, smallest=False)


def _surviving_less(
    question: PlanQuestion, survive: SurvivalDemand, buy: Callable[[PlanQuestion], PlanAnswer]
) -> Iterator[PlanMend]:
    """Yield how much less has to survive so that there is a plan: the fewest pods, then nothing."""
    own = sorted({gang.priority for gang in question.instance.gangs})
    least = survive.priority
    for priority in (one for one in own[1:] if least is None or one > least):
        answer = buy(replace(question, survive=replace(survive, priority=priority)))
        if isinstance(answer, Bought):
            yield PlanMend((f"survive.priority={priority}",), answer.price)
            return
    answer = buy(replace(question, survive=None))
    if isinstance(answer, Bought):
        yield PlanMend(("without survive",), answer.price)


def mends_of_homeless(
    instance: Instance, pods: Sequence[Pod], seconds: float
) -> Iterator[PlanMend]:
    """Yield the smallest changes with which each of some pods would have a node.

    Args:
        instance: The nodes that are there, one of each offer, and what runs.
        pods: Pods that have a place on none of them, not even alone.
        seconds: How long that may take.

    """
    end_s = monotonic() + seconds
    for pod in pods[:_MOST_PODS]:
        left_s = min(_EACH_S, end_s - monotonic())
        if left_s <= 0:
            return
        gang = Gang(pod.name, pod.namespace, (pod,), 1, lone=True)
        alone = replace(instance, gangs=(gang,), groups=(), left_out=(), move_budget=0)
        search = ChangeSearch(alone)
        search.go_on(left_s)
        found = [one for one in search.found.values() if _names_pod(one)]
        changes = [one for one in found if isinstance(one, ProposedChange)]
        changes.sort(key=lambda one: (not one.smallest, len(one.changes)))
        for one in changes[:_MOST_OF_A_POD]:
            yield PlanMend(tuple(map(str, one.changes)), None, one.smallest)


def _names_pod(one: object) -> bool:
    """Return whether a change is one of the pod, and not of nodes that are not there yet."""
    return isinstance(one, ProposedChange) and one.kind in ("ask-less", "give-up", "relax")


def pods_named(case: PlanCase, names: Sequence[tuple[str, str]]) -> list[Pod]:
    """Return the pods of some keys."""
    wanted = set(names)
    return [pod for pod in pods_of(case.instance.gangs) if pod.key in wanted]
