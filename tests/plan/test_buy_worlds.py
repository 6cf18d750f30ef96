"""Small plans: the price is that of brute force, and every bound is recomputed from its values."""

import pytest

from placer.judge.breaches import breaches
from placer.plan.answer import PurchasePlan
from placer.plan.question import PlanQuestion
from plan_proofs import bought_at, check_proven
from plan_worlds import cheapest, surviving, tiny_question, tiny_survival

BATCHES = 10
EACH = 20


@pytest.mark.parametrize("batch", range(BATCHES))
def test_small_plans_cost_what_brute_force_pays(batch: int) -> None:
    """
    200 worlds: the same price, the same worlds without a plan, bounds that hold, places judged.
    """
    for seed in range(batch * EACH, (batch + 1) * EACH):
        question = tiny_question(seed)

        check_proven(cheapest(question), question, f"world {seed}")


@pytest.mark.parametrize("batch", range(BATCHES))
def test_small_plans_survive_at_the_price_of_brute_force(batch: int) -> None:
    """
    200 worlds that are to survive a node or a zone: price, feasibility, and a judged placement on
    what is left after each loss.
    """
    for seed in range(batch * EACH, (batch + 1) * EACH):
        question = tiny_survival(seed)

        answer = bought_at(surviving(question), question, f"world {seed}")

        if answer is not None:
            check_survival(question, answer)


def check_survival(question: PlanQuestion, answer: PurchasePlan) -> None:
    """
    In each loss that there can be, all that is to survive has a place on what is left.
    """
    assert question.survive is not None
    domain, least = question.survive.domain, question.survive.priority
    names = {node.name: node for node in question.instance.nodes}
    (whole,) = [one for one in answer.witnesses if not one.loss]
    nodes = {node.name: node for node in whole.instance.nodes}
    losses = (
        {node.topology_domain(domain) for node in nodes.values()}
        if domain
        else {*names, *(f"one {one.offer}" for one in answer.mix)}
    )
    told = {one.loss: one for one in answer.witnesses if one.loss}
    # Nodes that are there and alike are lost once.
    assert losses <= set(told) | set(names)
    kept = {
        gang.pods[0].key
        for gang in question.instance.gangs
        if least is None or gang.priority >= least
    }
    for loss, one in told.items():
        left = {node.name for node in one.instance.nodes}
        gone = set(nodes) - left
        assert {place.key for place in one.placement.pods} == kept
        assert breaches(one.instance, one.placement) == ()
        assert left <= set(nodes)
        if domain:
            assert gone == {n for n, node in nodes.items() if node.topology_domain(domain) == loss}
        else:
            assert len(gone) == 1
    prices = {offer.name: offer.price for offer in question.offers}
    assert answer.price == sum(prices[one.offer] * one.count for one in answer.mix)
