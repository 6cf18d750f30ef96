"""Running out: which pods have no place however much is bought, and why no offer holds them."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from placer.plan.answer import NoPlanExists, PodsShortOfOffers
from placer.plan.buying import PurchaseSolution
from placer.plan.cases import ScenarioUnderLoss, plan_case_in_words
from placer.plan.clock import PlanClock
from placer.plan.question import PlanQuestion
from placer.plan.relax import QuestionAsPacking, with_one_of_each_offer
from placer.plan.witness import bought_nodes_by_offer, solve_options_on_clock
from placer.search.solver import solve
from placer_models.placement import Placed
from placer_models.pod import Pod, lone_gang, pods_of_gangs

MOST_TOLD = 20
"""So many pods without a place are told of."""

_SHORT = 1e-6
ALONE = 5.0
"""So much time has the search for a place of one pod alone."""
_MOST_ASKED = 5
"""Of so many pods it is said why no offer holds them."""
_MOST_NODES = 2_000
"""So many nodes are looked at for who has no place once one of them is lost."""


def why_no_plan_exists(
    question: PlanQuestion, relaxed: QuestionAsPacking, solved: PurchaseSolution, clock: PlanClock
) -> NoPlanExists:
    """Say for which pods too little can be bought."""
    offered = relaxed.market.kinds[relaxed.there :]
    short: list[PodsShortOfOffers] = []
    told: set[str] = set()
    asked = 0
    for number, block, item in sorted(_lacks(solved), reverse=True):
        case_number = relaxed.case_of[block]
        case = relaxed.cases[case_number]
        where = plan_case_in_words(question, case)
        if item in relaxed.lost:
            short += [one for one in _after_a_loss(question, case, where, clock) if not told]
            continue
        items = relaxed.item_of[case_number]
        pod = next(p for p in pods_of_gangs(case.instance.gangs) if items[p.spec] == item)
        if pod.title in told:
            continue  # The same pods in another case, where fewer of them lack a place.
        told.add(pod.title)
        reasons: tuple[str, ...] = ()
        if asked < _MOST_ASKED and all(kind.sizes[item] is None for kind in offered):
            asked += 1
            reasons = _why_no_offer(question, case, pod, clock)
        short.append(PodsShortOfOffers(pod.title, number, reasons, where))
    ended = tuple(
        (offer.name, kind.buyable)
        for offer, kind in zip(question.offers, offered, strict=True)
        if kind.buyable is not None
    )
    return NoPlanExists(short=tuple(short[:MOST_TOLD]), ended=ended)


def _lacks(solved: PurchaseSolution) -> Iterator[tuple[int, int, int]]:
    """Yield how many items have no place however much is bought, the block, and the item."""
    for block, of_block in enumerate(solved.solution.short.tolist()):
        for item, number in enumerate(of_block):
            if number > _SHORT:
                yield -int(-number // 1), block, item


def _after_a_loss(
    question: PlanQuestion, case: ScenarioUnderLoss, where: str, clock: PlanClock
) -> Iterator[PodsShortOfOffers]:
    """Yield who has no place once a bought node is lost, of all that can be had."""
    limits = [offer.most for offer in question.offers]
    pods = sum(1 for _ in pods_of_gangs(case.instance.gangs))
    bought = [pods if most is None else min(most, pods) for most in limits]
    assert case.one_less is not None
    if sum(bought) <= _MOST_NODES and limits[case.one_less]:
        bought[case.one_less] = (limits[case.one_less] or 0) - 1
        nodes = [n for some in bought_nodes_by_offer(question, bought).values() for n in some]
        instance = replace(case.instance, nodes=(*case.instance.nodes, *nodes))
        answer = solve(instance, solve_options_on_clock(clock, ALONE, 1))
        if not isinstance(answer, Placed) and answer.unplaced:
            specs = {pod.key: pod.spec for pod in pods_of_gangs(case.instance.gangs)}
            alike = Counter(specs[one.key] for one in answer.unplaced)
            for one in answer.unplaced:
                if count := alike.pop(specs[one.key], 0):
                    yield PodsShortOfOffers(one.title, count, (), where)
            return
    yield PodsShortOfOffers("", 1, (), where)


def _why_no_offer(
    question: PlanQuestion, case: ScenarioUnderLoss, pod: Pod, clock: PlanClock
) -> tuple[str, ...]:
    """Return why no node that can be bought holds a pod; none if some does after all."""
    offers = tuple(o for index, o in enumerate(question.offers) if index not in case.barred)
    gangs = (lone_gang(pod),)
    empty = replace(case.instance, nodes=(), running=(), gangs=gangs, groups=(), left_out=())
    instance = with_one_of_each_offer(replace(question, offers=offers), empty)
    answer = solve(instance, solve_options_on_clock(clock, ALONE, 1))
    if isinstance(answer, Placed) or not answer.unplaced:
        return ()
    return answer.unplaced[0].reasons
