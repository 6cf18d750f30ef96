"""Rounding to whole bins, where several scenarios share what is bought."""

from placer.plan.certify import Certifier
from placer.plan.clock import WorkClock
from placer.plan.market import BinKind, Market
from placer.plan.rounding import Rounding


def test_what_one_scenario_buys_the_next_one_uses() -> None:
    """
    Dear bins hold all items, cheap ones only those of the second scenario: whoever has bought
    dear ones for the first needs no cheap ones, although each of them would be cheaper.
    """
    dear = BinKind((10,), ((9,), (4,)), price=10)
    cheap = BinKind((10,), (None, (4,)), price=3)
    market = Market((dear, cheap), ((5, 0), (0, 10)))
    certifier = Certifier(market, WorkClock(), 5.0, 5.0, threads=1)
    certificate = certifier.run()

    plan = Rounding(market, certifier.master, certifier.filler).best(certificate.proposal, 1, 0)

    assert plan is not None
    assert (plan.bought, plan.price) == ((5, 0), 50)
