"""The parts of the proof, each alone: values of any kind, fullest bins, fillings, rounding.

The bound by whole bins is never above brute force, and often above that of fractions.
"""

from dataclasses import replace
from fractions import Fraction
from random import Random

import numpy as np
import pytest

from placer.plan.aggregate import scaled_dual_feasible_function
from placer.plan.clock import PlanWorkClock
from placer.plan.column_generation import PurchaseColumnGeneration
from placer.plan.device_fillings import full_fillings_of_device
from placer.plan.device_packing import can_devices_hold_items
from placer.plan.filler import BinFiller
from placer.plan.market import BinKind, PurchaseProblem
from placer.plan.master import BinPattern
from placer.plan.pricing import PricingProblem
from placer.plan.proof import (
    IntegerItemValuesForProof,
    price_bound_from_item_values,
    rounded_up_to_price,
)
from placer.plan.question import PlanQuestion
from placer.plan.relax import question_as_packing
from placer.plan.rounding import BinPurchasePlan, FilledBin, PurchaseSolutionRounding
from placer.plan.whole import solve_integer_purchase_master
from placer.plan.whole_bins import price_bound_by_whole_bins
from plan_proofs import fullest, holds
from plan_worlds import cheapest, tiny_question

SEEDS = range(60)


def market_of(price: int, *, most: int | None = None, items: int = 10) -> PurchaseProblem:
    """
    Bins of room 10, and items of size 3.
    """
    return PurchaseProblem((BinKind((10,), ((3,),), price=price, most=most),), ((items,),))


def test_the_bound_is_what_the_values_say() -> None:
    """
    A bin for 6 holds 3 items, so 10 items cost 20 at least, and 24 if no price lies between.
    """
    bound = price_bound_from_item_values(market_of(6), IntegerItemValuesForProof(((2,),), ((6,),)))

    assert (bound.price, bound.factor) == (Fraction(20), Fraction(1))
    assert rounded_up_to_price(Fraction(20), [6]) == 24


def test_values_that_are_too_high_are_scaled_down() -> None:
    bound = price_bound_from_item_values(market_of(6), IntegerItemValuesForProof(((7,),), ((21,),)))

    assert bound.price == Fraction(20)


def test_a_fullest_bin_that_is_only_a_bound_costs_some_of_the_price() -> None:
    """
    A search that stopped early says 7 where 6 is true: the bound is lower, and still holds.
    """
    bound = price_bound_from_item_values(market_of(6), IntegerItemValuesForProof(((2,),), ((7,),)))

    assert bound.price == Fraction(20 * 6, 7)


def test_offers_that_end_prove_that_there_is_no_plan() -> None:
    """
    3 bins hold 9 items at most: the bound of 10 items grows without end.
    """
    values = IntegerItemValuesForProof(((1,),), ((3,),))

    assert price_bound_from_item_values(market_of(6, most=3), values).price is None
    assert price_bound_from_item_values(market_of(6, most=4), values).price == Fraction(20)


@pytest.mark.parametrize("k", range(1, 13))
def test_dual_feasible_functions_keep_what_fits(k: int) -> None:
    """
    Parts that fit a room together fit it after the function, too.
    """
    rng = Random(k)
    for _ in range(300):
        room = rng.randint(1, 40)
        sizes, left = [], room
        while left and rng.random() < 0.9:
            sizes.append(rng.randint(1, left))
            left -= sizes[-1]

        assert sum(scaled_dual_feasible_function(size, room, k) for size in sizes) <= k * room


@pytest.mark.parametrize("seed", SEEDS)
def test_no_bin_holds_more_than_the_pricing_problem_says(seed: int) -> None:
    """
    Both bounds, of sums and of the search, are at least the fullest of all fillings.
    """
    rng = Random(seed)
    market = question_as_packing(tiny_question(seed)).market
    for kind in market.kinds:
        pricer = PricingProblem(kind, market.most_of(kind, 0))
        for _ in range(3):
            values = [rng.randrange(50) for _ in range(market.items)]
            best = fullest(kind, market.blocks[0], tuple(values))

            assert pricer.quick_bound(values) >= best
            assert pricer.fullest(values, work=1.0).bound >= best


@pytest.mark.parametrize("seed", SEEDS)
def test_greedy_fillings_fit(seed: int) -> None:
    """
    What the filler puts into a bin, the bin holds, by trying.
    """
    market = question_as_packing(tiny_question(seed)).market
    filler, rng = BinFiller(market.kinds), np.random.default_rng(seed)
    most = np.array(market.blocks[0], np.int64)
    values = rng.random(market.items)
    kinds, found = filler.fill(range(len(market.kinds)), values, most, rng, 4)
    for kind, counts in zip(kinds.tolist(), found, strict=True):
        assert (counts <= most).all()
        assert holds(market.kinds[kind], tuple(counts.tolist()))
        assert all(
            can_devices_hold_items(devices, counts.tolist())
            for devices in market.kinds[kind].devices
        )


def test_full_fillings_of_a_device() -> None:
    """
    Shares of 60, 50 and 30 of 100, and none that leaves room for another.
    """
    assert full_fillings_of_device((100,), ((60,), (50,), (30,)), 100) == (
        (1, 0, 1),
        (0, 2, 0),
        (0, 1, 1),
        (0, 0, 3),
    )
    assert full_fillings_of_device((100,), ((1,), (2,), (3,)), 5) is None


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
        market = question_as_packing(question).market
        generation = PurchaseColumnGeneration(market, PlanWorkClock(), 20.0, 20.0, threads=1)
        in_fractions = generation.run().bound.price
        assert in_fractions is not None

        bound = price_bound_by_whole_bins(generation, 5.0, ENDLESS)

        assert bound <= question.in_units(best), f"world {seed}"
        higher += bound > in_fractions
        for values in generation.proofs:
            assert (price_bound_from_item_values(market, values).price or 0) <= question.in_units(
                best
            )
            for kind, claimed in zip(market.kinds, values.fullest, strict=True):
                for block, most in enumerate(claimed):
                    counts, of_item = market.blocks[block], values.of_item[block]
                    assert fullest(kind, counts, of_item) <= most, f"world {seed}"
    assert higher >= EACH / 3


def test_what_one_scenario_buys_the_next_one_uses() -> None:
    """
    Dear bins hold all items, cheap ones only those of the second scenario: whoever has bought
    dear ones for the first needs no cheap ones, although each of them would be cheaper.
    """
    dear = BinKind((10,), ((9,), (4,)), price=10)
    cheap = BinKind((10,), (None, (4,)), price=3)
    market = PurchaseProblem((dear, cheap), ((5, 0), (0, 10)))
    generation = PurchaseColumnGeneration(market, PlanWorkClock(), 5.0, 5.0, threads=1)
    certificate = generation.run()

    plan = PurchaseSolutionRounding(market, generation.master, generation.filler).best(
        certificate.solution, 1, 0
    )

    assert plan is not None
    assert (plan.bought, plan.price) == ((5, 0), 50)


def test_a_plan_to_begin_with_is_never_made_worse() -> None:
    """
    Its fillings are parts of patterns, which the whole numbers would not know by themselves.
    """
    kind = BinKind((10,), ((3,), (4,)), price=10)
    market = PurchaseProblem((kind,), ((2, 1),))
    hint = BinPurchasePlan((1,), 10, ((FilledBin(0, (2, 1)),),))
    alone = [BinPattern(0, 0, np.array(counts, np.int64)) for counts in ((3, 0), (0, 2))]

    without = solve_integer_purchase_master(market, alone, PlanWorkClock(), 1.0, 1)
    found = solve_integer_purchase_master(market, alone, PlanWorkClock(), 1.0, 1, hint)

    assert without.plan is not None
    assert without.plan.price == 20
    assert found.plan is not None
    assert found.plan.price == 10
