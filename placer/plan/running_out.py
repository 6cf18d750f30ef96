"""Running out: which pods have no place however much is bought, and why no offer holds them."""

from collections import Counter
from dataclasses import replace

from placer.plan.answer import NoPlan, OffersRunOut
from placer.plan.buying import Deal
from placer.plan.cases import PlanCase
from placer.plan.clock import PlanClock
from placer.plan.question import PlanQuestion
from placer.plan.relax import Relaxation, with_offers
from placer.plan.witness import options_for
from placer.search.solver import solve
from placer_models.placement import Placed
from placer_models.pod import Gang, Pod, pods_of

MOST_TOLD = 20
"""So many pods without a place are told of."""

_SHORT = 1e-6
_ALONE = 5.0
"""So much time has the search for a place of one pod alone."""
_MOST_ASKED = 5
"""Of so many pods it is said why no offer holds them."""


def no_plan(question: PlanQuestion, relaxation: Relaxation, deal: Deal, clock: PlanClock) -> NoPlan:
    """Say for which pods too little can be bought."""
    lacks: Counter[int] = Counter()
    for of_block in deal.proposal.short.tolist():
        for item, number in enumerate(of_block):
            if number > _SHORT:
                lacks[item] = max(lacks[item], -int(-number // 1))
    pods = {
        items[pod.spec]: (case, pod)
        for case, items in zip(relaxation.cases, relaxation.item_of, strict=True)
        for pod in reversed(list(pods_of(case.instance.gangs)))
    }
    offered = relaxation.market.kinds[relaxation.there :]
    short: dict[str, OffersRunOut] = {}
    asked = 0
    for item, number in lacks.most_common():
        case, pod = pods.get(item, (None, None))
        title = "a node that is lost" if pod is None else pod.title
        if title in short:
            continue  # The same pods in another case, where fewer of them lack a place.
        reasons: tuple[str, ...] = ()
        unheld = asked < _MOST_ASKED and all(kind.sizes[item] is None for kind in offered)
        if unheld and case is not None and pod is not None:
            asked += 1
            reasons = _why_no_offer(question, case, pod, clock)
        short[title] = OffersRunOut(title, number, reasons)
    ended = tuple(
        (offer.name, kind.buyable)
        for offer, kind in zip(question.offers, offered, strict=True)
        if kind.buyable is not None
    )
    return NoPlan(short=tuple(short.values())[:MOST_TOLD], ended=ended)


def _why_no_offer(
    question: PlanQuestion, case: PlanCase, pod: Pod, clock: PlanClock
) -> tuple[str, ...]:
    """Return why no node that can be bought holds a pod; none if some does after all."""
    offers = tuple(o for index, o in enumerate(question.offers) if index not in case.barred)
    alone = Gang(pod.name, pod.namespace, (pod,), 1, lone=True)
    empty = replace(case.instance, nodes=(), running=(), gangs=(alone,), groups=(), left_out=())
    instance = with_offers(replace(question, offers=offers), empty)
    answer = solve(instance, options_for(clock, _ALONE, 1))
    if isinstance(answer, Placed) or not answer.unplaced:
        return ()
    return answer.unplaced[0].reasons
