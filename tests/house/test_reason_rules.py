"""Every rule that a pod may be left out for has its record among the reasons."""

import ast
from collections.abc import Iterator
from pathlib import Path

import placer
from placer.judge.breaches import RULES
from placer.search.reasons.register import REASON_RULES
from placer.search.reasons.rule import ReasonRule

OF_NO_LONE_POD = {
    *("known", "cpu-allocatable", "cpu-exclusive", "containers", "container-parts"),
    "environment",
    *("device-known", "device-health", "device-exclusive"),
    *("gang-minimum", "gang-group", "moves"),
}
"""Rules of the judge that no pod which waits can break alone, wherever it goes."""


def test_every_rule_that_keeps_a_pod_off_a_node_has_its_record() -> None:
    """
    A reason says the name that pages and breaches say; every rule of the judge but those that no
    lone pod can break has its place in the order.
    """
    assert {name.split()[0] for name in REASON_RULES} == set(RULES) - OF_NO_LONE_POD
    assert [rule.name for rule in REASON_RULES.values()] == [*REASON_RULES]


def _demanded() -> Iterator[tuple[str, str]]:
    """Yield each name that some source file gives a Demand as text, and the file."""
    for path in sorted(Path(placer.__file__).parent.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "RuleDemand":
                for name in ast.walk(node.args[0]) if node.args else ():
                    if isinstance(name, ast.Constant) and isinstance(name.value, str):
                        yield name.value, path.name


def test_no_source_demands_what_has_no_record() -> None:
    """
    Whoever says why a pod has no place says it by a rule that can be told.
    """
    found = list(_demanded())

    assert len(found) > 20
    assert [each for each in found if each[0] not in REASON_RULES] == []


def test_a_rule_needs_others_that_there_are() -> None:
    """
    And those come before it.
    """
    names = [*REASON_RULES]
    for rule in REASON_RULES.values():
        assert rule.needs is None or names.index(rule.needs) < names.index(rule.name), rule.name


def test_what_is_asked_can_be_taken_out_of_the_question() -> None:
    """
    A rule that demands something of a node says what the question is without that.
    """
    silent = ReasonRule(name="")
    for rule in REASON_RULES.values():
        assert (rule.asked is silent.asked) == (rule.without is silent.without), rule.name
