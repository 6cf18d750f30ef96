"""Completeness of the judge: each rule and tier is in a record, and each record is registered."""

import ast
from collections import Counter
from importlib import import_module
from pathlib import Path

import pytest

from placer.judge.breaches import RULES
from placer.judge.families import FAMILIES
from placer.judge.family import Finding, JudgedFamily
from placer.judge.measure import MEASURES
from placer.judge.scene import InstanceWithPlacement

JUDGE = Path(__file__).parents[2] / "placer" / "judge"
WHOLE = InstanceWithPlacement.__name__
SIGNATURES = (f"(scene: {WHOLE}) -> Iterator[{Finding.__name__}]", f"(scene: {WHOLE}) -> int")
"""How functions that look at a whole placement are written: rules, and measures of tiers."""


def judging(module: ast.Module) -> list[str]:
    """Return the public functions of a module that are a rule, or measure a tier."""
    return [
        node.name
        for node in module.body
        if isinstance(node, ast.FunctionDef)
        and not node.name.startswith("_")
        and f"({ast.unparse(node.args)}) -> {node.returns and ast.unparse(node.returns)}"
        in SIGNATURES
    ]


def ends_in_its_record(module: ast.Module) -> bool:
    """Return whether the last statement is ``JUDGED = ...``."""
    last = module.body[-1]
    return isinstance(last, ast.Assign) and ast.unparse(last.targets[0]) == "JUDGED"


MODULES = {file.stem: ast.parse(file.read_text("utf-8")) for file in sorted(JUDGE.glob("*.py"))}
WITH_RULES = [name for name, module in MODULES.items() if judging(module)]


@pytest.mark.parametrize("name", WITH_RULES)
def test_a_file_with_a_rule_or_a_tier_ends_in_a_record_of_all_of_them(name: str) -> None:
    """
    A rule that its record forgets would never be asked, and a tier would have no value.
    """
    assert ends_in_its_record(MODULES[name])

    record: JudgedFamily = import_module(f"placer.judge.{name}").JUDGED
    told = [function.__name__ for function in (*record.rules.values(), *record.tiers.values())]

    assert set(judging(MODULES[name])) <= set(told)


def test_the_register_has_each_record_once() -> None:
    """
    Every file that ends in a record is in the list, also one with measures made by functions.
    """
    ending = [name for name, module in MODULES.items() if ends_in_its_record(module)]
    records = [import_module(f"placer.judge.{name}").JUDGED for name in ending]

    assert set(WITH_RULES) <= set(ending)
    assert Counter(map(id, FAMILIES)) == Counter(map(id, records))


def test_no_two_families_tell_the_same_rule_or_tier() -> None:
    """
    The later one would hide the earlier.
    """
    assert len(RULES) == sum(len(family.rules) for family in FAMILIES)
    assert len(MEASURES) == sum(len(family.tiers) for family in FAMILIES)


def test_a_rule_and_a_tier_are_known_by_their_signatures() -> None:
    """
    Helpers take more than a scene, or begin with an underscore.
    """
    source = (
        f"def cordon(scene: {WHOLE}) -> Iterator[Finding]: ...\n"
        f"def moved(scene: {WHOLE}) -> int: ...\n"
        f"def _own(scene: {WHOLE}) -> int: ...\n"
        f"def held(scene: {WHOLE}, *, pages: bool) -> Iterator[Finding]: ...\n"
    )

    assert judging(ast.parse(source)) == ["cordon", "moved"]
    assert not ends_in_its_record(ast.parse(source))
    assert ends_in_its_record(ast.parse(source + "JUDGED = JudgedFamily()\n"))
