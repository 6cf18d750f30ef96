"""The tier of gathering, by hand."""

import pytest

from judge.cases_network import asking, on
from judge.hand import placed
from placer.judge.breaches import breaches
from placer.judge.measure import measure
from placer_models.goals import GATHERING
from placer_models.network import GangNetworkLevelRule, GangNetworkLevelRuleKind
from placer_models.policy import RequiredOrPreferred

GATHER, SPREAD, WISH = (
    GangNetworkLevelRuleKind.GATHER,
    GangNetworkLevelRuleKind.SPREAD,
    RequiredOrPreferred.PREFERRED,
)


@pytest.mark.parametrize(
    ("rule", "names", "short"),
    [
        (GangNetworkLevelRule("rack", GATHER, WISH), "", 0),
        (GangNetworkLevelRule("rack", GATHER, WISH), "abab", 0),
        (GangNetworkLevelRule("rack", GATHER, WISH), "abc", 1),
        (GangNetworkLevelRule("rack", GATHER, WISH), "abcd", 2),  # d is in no rack: one of its own
        (GangNetworkLevelRule("rack", GATHER, WISH), "dede", 1),  # nor do d and e share one
        (GangNetworkLevelRule("rack", SPREAD, WISH, 1), "aded", 1),
        (GangNetworkLevelRule("node", GATHER, WISH), "abcd", 3),
        (GangNetworkLevelRule("rack", SPREAD, WISH, 2), "abcc", 0),
        (GangNetworkLevelRule("rack", SPREAD, WISH, 1), "abcc", 2),
        (GangNetworkLevelRule("rack", SPREAD, WISH, 1), "addd", 2),
    ],
)
def test_what_a_wish_falls_short(rule: GangNetworkLevelRule, names: str, short: int) -> None:
    """
    Domains beyond one, or members of a domain beyond the most; no wish is a reason to refuse.
    """
    instance, placement = asking(rule), placed(*on(*names))

    assert breaches(instance, placement) == ()
    assert dict(measure(instance, placement))[GATHERING] == short


def test_wishes_add_up_and_demands_have_no_tier() -> None:
    """
    Two wishes of one gang are two terms; a gang with demands alone has no such tier.
    """
    both = asking(
        GangNetworkLevelRule("rack", GATHER, WISH), GangNetworkLevelRule("node", GATHER, WISH)
    )
    demand = asking(GangNetworkLevelRule("rack", GATHER))

    assert dict(measure(both, placed(*on("a", "b", "c"))))[GATHERING] == 1 + 2
    assert GATHERING not in dict(measure(demand, placed(*on("a", "b"))))
