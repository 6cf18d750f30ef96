"""Each rule alone, from both sides of its edge; without it a placement that breaks it is clean."""

from pathlib import Path

import pytest

from judge.cases import CASES
from judge.hand import Case
from placer.judge import breaches as judge
from placer.judge.breaches import RULES, breaches

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


RULES_PAGE = Path(__file__).parents[2] / "docs" / "rules.md"


@pytest.mark.parametrize("rule", RULES)
def test_without_the_rule_its_worlds_slip_through(
    rule: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    Take one rule away, and something that it refused is found clean.
    """
    refused = [case for case in CASES if case.rule == rule]
    others = {name: check for name, check in RULES.items() if name != rule}
    monkeypatch.setattr(judge, "RULES", others)

    assert refused
    assert all(breaches(case.bad_world or case.world, case.bad) == () for case in refused)


def test_rules_are_those_of_the_page() -> None:
    """
    The judge and docs/rules.md know the same rules.
    """
    table = RULES_PAGE.read_text(encoding="utf-8").split("## Hard rules")[1].split("###")[0]
    rows = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    names = [name.strip(" `") for row in rows for name in row.split(",")]

    assert names == list(RULES)
