"""Each rule alone, from both sides of its edge."""

import pytest

from judge.cases import CASES
from judge.hand import Case
from placer.judge.breaches import breaches

each_case = pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c.rule}: {c.claim}")


@each_case
def test_inside_the_edge_nothing_is_wrong(case: Case) -> None:
    """
    A placement that just keeps the rule breaks none.
    """
    assert breaches(case.world, case.good) == ()


@each_case
def test_outside_the_edge_this_rule_alone_is_broken(case: Case) -> None:
    """
    A placement that just breaks the rule breaks no other, and says so in one line.
    """
    found = breaches(case.bad_world or case.world, case.bad)

    assert {breach.rule for breach in found} == {case.rule}
    for breach in found:
        assert breach.subject in breach.message
        assert "\n" not in breach.message
