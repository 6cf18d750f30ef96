"""No rule is untested: without it a placement that breaks it slips through."""

from pathlib import Path

import pytest

from judge.cases import CASES
from placer.judge import breaches as judge
from placer.judge.breaches import RULES, breaches

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
