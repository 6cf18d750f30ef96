"""The bound by whole bins: never above brute force, and often above that of fractions."""

from dataclasses import replace
from random import Random

import pytest

from placer.plan.clock import WorkClock
from placer.plan.column_generation import ColumnGeneration
from placer.plan.proof import price_bound_of
from placer.plan.question import PlanQuestion
from placer.plan.relax import relaxed_market
from placer.plan.whole_bins import price_bound_by_whole_bins
from plan_proofs import fullest
from plan_worlds import cheapest, tiny_question

BATCHES = 3
EACH = 30
ENDLESS = 10**9


def _in_packs(seed: int) -> PlanQuestion:
    """Draw a tiny question whose offers come in packs, most of them."""
    rng = Random(f"packs-{seed}")
    question = tiny_question(seed)
    offers = tuple(
        replace(offer, most=None, pack=rng.choice((1, 2, 2, 3))) for offer in question.offers
    )
    return replace(question, offers=offers)


@pytest.mark.parametrize("batch", range(BATCHES))
def test_whole_packs_bound_what_brute_force_pays(batch: int) -> None:
    """
    90 worlds: the bound holds, what bins are worth at most is true, and in a third of the
    worlds at least it is above what fractions of bins would cost.
    """
    higher = 0
    for seed in range(batch * EACH, (batch + 1) * EACH):
        question = _in_packs(seed)
        best = cheapest(question)
        if best is None:
            continue
        market = relaxed_market(question).market
        generation = ColumnGeneration(market, WorkClock(), 20.0, 20.0, threads=1)
        in_fractions = generation.run().bound.price
        assert in_fractions is not None

        bound = price_bound_by_whole_bins(generation, 5.0, ENDLESS)

        assert bound <= question.in_units(best), f"world {seed}"
        higher += bound > in_fractions
        for values in generation.proofs:
            assert (price_bound_of(market, values).price or 0) <= question.in_units(best)
            for kind, claimed in zip(market.kinds, values.fullest, strict=True):
                for block, most in enumerate(claimed):
                    counts, of_item = market.blocks[block], values.of_item[block]
                    assert fullest(kind, counts, of_item) <= most, f"world {seed}"
    assert higher >= EACH / 3
