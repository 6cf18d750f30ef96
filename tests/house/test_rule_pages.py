"""One page a family of rules: pages, functions and the names people see agree.

A page docs/rules/NAME.md has the sections of SKELETON, in order; others may stand
between them. Under its title a table names what it is about: rules of the judge, tiers,
and functions of the exact model.
"""

import re
from collections import Counter
from pathlib import Path

import pytest

from placer.judge.breaches import RULES as JUDGED
from placer.judge.measure import MEASURES
from placer.load import load_instance
from placer.search.options import Engine, SolveOptions
from placer.search.solver import solve
from placer_models.cpsat.batch_model import CUTS
from placer_models.cpsat.batch_model import RULES as MODELLED
from placer_models.goals import placed_tier
from placer_models.placement import GaveUp, Infeasible, PartlyPlaced

CHECKOUT = Path(__file__).parents[2]
INSTANCES = CHECKOUT / "instances"
PAGES = sorted((CHECKOUT / "docs" / "rules").glob("*.md"))
SKELETON = (
    "What it promises",
    "Required or preferred",
    "Parameters",
    "Example",
    "How it is judged",
    "Requirements",
    "Source",
)
ROW = re.compile(r"^\| (rules|tiers|in the model) \|(.*)\|$", re.MULTILINE)
REQUIREMENT = re.compile(r"\b[BCDFGQ]\d+\b")


def named(kind: str) -> Counter[str]:
    """Return what the tables of all pages name under the kind."""
    rows = (row for page in PAGES for row in ROW.findall(page.read_text("utf-8")))
    return Counter(
        name for row, names in rows if row == kind for name in re.findall("`(.+?)`", names)
    )


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_has_the_sections_of_all_pages(page: Path) -> None:
    """
    The reader of one finds the way in any other, and the requirements it answers to.
    """
    text = page.read_text("utf-8")
    sections = re.findall(r"^## (.+)$", text, re.MULTILINE)
    assert [section for section in sections if section in SKELETON] == list(SKELETON)
    requirements = text.split("## Requirements\n")[1].split("\n## ")[0]
    assert REQUIREMENT.search(requirements)


def test_every_rule_of_the_judge_has_one_page() -> None:
    """
    By the name that breaches and logs say.
    """
    assert named("rules") == Counter(list(JUDGED))


def test_every_tier_has_one_page() -> None:
    """
    The tiers of tier 1 by the pattern of their names.
    """
    tiers = [placed_tier(0).name.replace("-0", "-P"), *(tier.name for tier in MEASURES)]
    assert named("tiers") == Counter(tiers)


def test_every_rule_of_the_model_has_one_page() -> None:
    """
    By the name of its function.
    """
    assert named("in the model") == Counter(rule.__name__ for rule in (*MODELLED, *CUTS))


@pytest.mark.parametrize("name", JUDGED)
def test_a_rule_has_one_name(name: str) -> None:
    """
    The function that judges is called after its rule.
    """
    assert JUDGED[name].__name__ == f"{name.replace('-', '_')}_breaches"


@pytest.mark.parametrize("name", ["infeasible.yaml", "rules/placing.yaml", "rules/pools.yaml"])
def test_reasons_say_the_names_of_rules(name: str) -> None:
    """
    What keeps a pod off a node is called as the judge and the pages call it.
    """
    instance = load_instance([INSTANCES / name])
    answer = solve(instance, SolveOptions(engine=Engine.GREEDY, workers=1))
    assert isinstance(answer, PartlyPlaced | GaveUp | Infeasible)
    said = [
        blocker
        for pod in answer.unplaced
        for reason in pod.reasons
        for blocker in re.findall(r"of \d+ nodes: ([a-z-]+)", reason)
    ]
    assert said
    assert sorted(set(said) - set(JUDGED)) == []
