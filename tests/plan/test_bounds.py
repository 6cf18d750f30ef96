"""The parts of the proof, each alone: values of any kind, fullest bins, fillings, rounding."""

from fractions import Fraction
from random import Random

import numpy as np
import pytest

from placer.plan.aggregate import scaled_dual_feasible_function
from placer.plan.device_fillings import full_fillings
from placer.plan.device_packing import devices_hold
from placer.plan.filler import Filler
from placer.plan.market import BinKind, Market
from placer.plan.pricing import PricingProblem
from placer.plan.proof import ItemValues, price_bound_of, rounded_up_to_price
from placer.plan.relax import relaxed_market
from plan_proofs import fullest, holds
from plan_worlds import tiny_question

SEEDS = range(60)


def market_of(price: int, *, most: int | None = None, items: int = 10) -> Market:
    """
    Bins of room 10, and items of size 3.
    """
    return Market((BinKind((10,), ((3,),), price=price, most=most),), ((items,),))


def test_the_bound_is_what_the_values_say() -> None:
    """
    A bin for 6 holds 3 items, so 10 items cost 20 at least, and 24 if no price lies between.
    """
    bound = price_bound_of(market_of(6), ItemValues(((2,),), ((6,),)))

    assert (bound.price, bound.factor) == (Fraction(20), Fraction(1))
    assert rounded_up_to_price(Fraction(20), [6]) == 24


def test_values_that_are_too_high_are_scaled_down() -> None:
    bound = price_bound_of(market_of(6), ItemValues(((7,),), ((21,),)))

    assert bound.price == Fraction(20)


def test_a_fullest_bin_that_is_only_a_bound_costs_some_of_the_price() -> None:
    """
    A search that stopped early says 7 where 6 is true: the bound is lower, and still holds.
    """
    bound = price_bound_of(market_of(6), ItemValues(((2,),), ((7,),)))

    assert bound.price == Fraction(20 * 6, 7)


def test_offers_that_end_prove_that_there_is_no_plan() -> None:
    """
    3 bins hold 9 items at most: the bound of 10 items grows without end.
    """
    values = ItemValues(((1,),), ((3,),))

    assert price_bound_of(market_of(6, most=3), values).price is None
    assert price_bound_of(market_of(6, most=4), values).price == Fraction(20)


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
    market = relaxed_market(tiny_question(seed)).market
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
    market = relaxed_market(tiny_question(seed)).market
    filler, rng = Filler(market.kinds), np.random.default_rng(seed)
    most = np.array(market.blocks[0], np.int64)
    values = rng.random(market.items)
    kinds, found = filler.fill(range(len(market.kinds)), values, most, rng, 4)
    for kind, counts in zip(kinds.tolist(), found, strict=True):
        assert (counts <= most).all()
        assert holds(market.kinds[kind], tuple(counts.tolist()))
        assert all(devices_hold(devices, counts.tolist()) for devices in market.kinds[kind].devices)


def test_full_fillings_of_a_device() -> None:
    """
    Shares of 60, 50 and 30 of 100, and none that leaves room for another.
    """
    assert full_fillings((100,), ((60,), (50,), (30,)), 100) == (
        (1, 0, 1),
        (0, 2, 0),
        (0, 1, 1),
        (0, 0, 3),
    )
    assert full_fillings((100,), ((1,), (2,), (3,)), 5) is None
