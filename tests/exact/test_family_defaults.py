"""Short cuts of the search, which a family of rules has to leave open."""

from importlib import import_module

import pytest

from brute_force import best_placement
from exact_checks import check_exact
from leaves import TooManyLeavesError
from mixed_worlds import mixed_instance
from placer.counting.account import accounts_of
from placer.search.coarse import without_links
from placer.state.batch import build_problem
from placer_models import movable
from placer_models.cpsat import families
from placer_models.cpsat.batch_model import pod_units_of
from placer_models.cpsat.families import (
    FAMILIES,
    are_devices_exchangeable,
    may_be_counted_together,
    takes_plain_amounts,
)
from placer_models.cpsat.family import ModelFamily
from placer_models.movable import MOVABLE, may_move
from placer_models.problem.problem import Problem
from placer_models.rule_family import RuleFamilyName

WORLDS = range(24)
COMPARED = 6


def problem_of(seed: int) -> Problem:
    """Return the Problem of a mixed world."""
    instance = mixed_instance(seed)
    return build_problem(instance, accounts_of(instance))


@pytest.fixture
def silent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Add a family that says nothing of itself."""
    family = ModelFamily(name=RuleFamilyName.GANGS)
    monkeypatch.setattr(families, "FAMILIES", (*FAMILIES, family))


def some_device_is_exchangeable(problem: Problem) -> bool:
    """Return whether some pod's devices may be exchanged on some node."""
    return any(
        are_devices_exchangeable(shape, fit, bank)
        for shape, fits in zip(problem.shapes, problem.fits, strict=True)
        for node in problem.nodes
        for bank in node.banks
        if (fit := fits[node.kind]) is not None
    )


def test_every_family_has_one_record() -> None:
    """
    In the file that is called as the family is; none is known by its name alone.
    """
    files = {name: import_module(f"placer_models.cpsat.{name}") for name in RuleFamilyName}

    assert {name: file.FAMILY.name for name, file in files.items()} == {
        n: n for n in RuleFamilyName
    }
    assert sorted(family.name for family in FAMILIES) == sorted(RuleFamilyName)


def test_short_cuts_are_taken() -> None:
    """
    The families there are leave each open to some pods.
    """
    problems = [problem_of(seed) for seed in WORLDS]
    shapes = [(problem, shape) for problem in problems for shape in range(len(problem.shapes))]

    assert any(may_be_counted_together(problem, shape) for problem, shape in shapes)
    assert any(takes_plain_amounts(problem, shape) for problem, shape in shapes)
    assert any(without_links(problem).nodes != problem.nodes for problem in problems)
    assert any(map(some_device_is_exchangeable, problems))


@pytest.mark.usefixtures("silent")
def test_a_family_that_says_nothing_closes_the_short_cuts() -> None:
    """
    Pods are told apart, are no plain sums, and have just the devices that they have.
    """
    for problem in map(problem_of, WORLDS):
        assert all(len(unit.pods) == 1 for unit in pod_units_of(problem))
        assert not any(takes_plain_amounts(problem, shape) for shape in range(len(problem.shapes)))
        assert without_links(problem).nodes == problem.nodes
        assert not some_device_is_exchangeable(problem)


def test_a_family_that_says_nothing_keeps_pods_where_they_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """
    Nobody may be looked at for another place.
    """
    running = [
        (pod, node)
        for instance in map(mixed_instance, WORLDS)
        for pod in instance.running
        for node in instance.nodes
        if pod.placement.node == node.name
    ]
    assert any(may_move(pod, node) for pod, node in running)

    monkeypatch.setattr(
        movable, "MOVABLE", {f: MOVABLE[f] for f in RuleFamilyName if f != "amounts"}
    )

    assert not any(may_move(pod, node) for pod, node in running)


@pytest.mark.usefixtures("silent")
def test_a_family_that_says_nothing_costs_no_truth() -> None:
    """
    The answers are still those of brute force, and proven.
    """
    compared = 0
    for instance in map(mixed_instance, WORLDS):
        try:
            best = best_placement(instance)
        except TooManyLeavesError:
            continue
        check_exact(instance, best)
        compared += 1
        if compared == COMPARED:
            break
    assert compared == COMPARED
