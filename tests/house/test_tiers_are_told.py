"""Tiers in every storey: told in `goals`, and in its family's file where it is counted."""

import ast
from importlib import import_module
from pathlib import Path

from house.house_figures import House, places_of_tiers
from placer.greedy.price import FAMILIES as PRICING
from placer.judge.measure import MEASURES
from placer_models.cpsat.families import FAMILIES as MODELLED
from placer_models.goals import (
    AFFINITY,
    AFTER_PLACED,
    IN_NODE,
    NOT_MODELLED,
    SHARED_CORES,
    SHARED_NUMA_NODES,
)

CHECKOUT = Path(__file__).parents[2]
GREEDY = CHECKOUT / "placer" / "greedy"
BY_OTHERS_THERE = {SHARED_CORES, SHARED_NUMA_NODES, AFFINITY}
"""Priced by those who hide a part of the node from a pod (`exclusivity`, `in_node_affinity`)."""


def test_the_judge_measures_every_tier() -> None:
    """
    After the first, which is a sub-tier for each priority.
    """
    assert set(MEASURES) == set(AFTER_PLACED)


def test_the_model_counts_every_tier() -> None:
    """
    In one family or in several, whose counts add up; but those that no model states.
    """
    modelled = {tier for family in MODELLED for tier in family.tiers}

    assert modelled | NOT_MODELLED == set(AFTER_PLACED)
    assert modelled.isdisjoint(NOT_MODELLED)


def test_a_place_inside_a_node_has_a_price_in_each_tier_that_looks_there() -> None:
    """
    Once each: a tier without a price would cost nothing, and the fast path would not mind it.
    """
    priced = [tier for family in PRICING for tier in family.COSTS]

    assert len(priced) == len(set(priced))
    assert set(priced) | BY_OTHERS_THERE == set(IN_NODE)
    assert BY_OTHERS_THERE.isdisjoint(priced)


def test_every_file_with_costs_is_in_the_list() -> None:
    """
    Costs that nobody asks for would be none.
    """
    with_costs = {
        f"placer.greedy.{file.stem}"
        for file in GREEDY.glob("*.py")
        for node in ast.parse(file.read_text("utf-8")).body
        if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == "COSTS"
    }

    assert with_costs == {family.__name__ for family in PRICING}
    assert all(import_module(name).COSTS for name in with_costs)


def test_no_other_place_tells_tiers_of_many_families() -> None:
    """
    What else there is to know of a tier belongs where it is defined, or into its family's file.
    """
    places = places_of_tiers(House(CHECKOUT))

    assert places == ["placer_models.goals", "its family's file in a storey"]
