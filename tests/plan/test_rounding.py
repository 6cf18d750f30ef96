"""Rounding to whole bins, where several scenarios share what is bought."""

import numpy as np

from placer.plan.clock import WorkClock
from placer.plan.column_generation import ColumnGeneration
from placer.plan.market import BinKind, Market
from placer.plan.master import BinPattern
from placer.plan.rounding import FilledBin, MarketPlan, Rounding
from placer.plan.whole import solve_integer_master


def test_what_one_scenario_buys_the_next_one_uses() -> None:
    """
    Dear bins hold all items, cheap ones only those of the second scenario: whoever has bought
    dear ones for the first needs no cheap ones, although each of them would be cheaper.
    """
    dear = BinKind((10,), ((9,), (4,)), price=10)
    cheap = BinKind((10,), (None, (4,)), price=3)
    market = Market((dear, cheap), ((5, 0), (0, 10)))
    generation = ColumnGeneration(market, WorkClock(), 5.0, 5.0, threads=1)
    certificate = generation.run()

    plan = Rounding(market, generation.master, generation.filler).best(certificate.solution, 1, 0)

    assert plan is not None
    assert (plan.bought, plan.price) == ((5, 0), 50)


def test_a_plan_to_begin_with_is_never_made_worse() -> None:
    """
    Its fillings are parts of patterns, which the whole numbers would not know by themselves.
    """
    kind = BinKind((10,), ((3,), (4,)), price=10)
    market = Market((kind,), ((2, 1),))
    hint = MarketPlan((1,), 10, ((FilledBin(0, (2, 1)),),))
    alone = [BinPattern(0, 0, np.array(counts, np.int64)) for counts in ((3, 0), (0, 2))]

    without = solve_integer_master(market, alone, WorkClock(), 1.0, 1)
    found = solve_integer_master(market, alone, WorkClock(), 1.0, 1, hint)

    assert without.plan is not None
    assert without.plan.price == 20
    assert found.plan is not None
    assert found.plan.price == 10
