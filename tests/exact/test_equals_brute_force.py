"""The exact engine finds what trying everything finds, and greedy never more.

So it is on worlds of all families (B1, B11, C8, C22, D5, D9, D10, G4), whose words are always on.
"""

import pytest

from exact.family_worlds import FAMILIES
from exact_checks import MakeWorld, brute_force_is_right, check_worlds
from features.burst import burst_instance
from features.device_strategy import strategy_instance
from features.functions import function_instance
from features.in_node_affinity import in_node_affinity_instance
from features.numa import paged_instance
from features.quantities import quantity_instance
from features.shares import sharing_instance
from features.variants import variants_instance
from worlds import tiny_instance


@pytest.mark.parametrize(
    ("family", "batch"),
    [(name, batch) for name, worlds in FAMILIES.items() for batch in range(worlds.gate[0])],
)
def test_worlds_are_solved_as_by_brute_force(family: str, batch: int) -> None:
    """
    On some hundred worlds of each family the exact tiers are those of brute force, each one
    proven; greedy's are clean and no better.
    """
    worlds = FAMILIES[family]

    check_worlds(worlds.make, worlds.start + batch, *worlds.gate)


@pytest.mark.check
@pytest.mark.parametrize(
    ("family", "batch"),
    [(name, batch) for name, worlds in FAMILIES.items() for batch in range(worlds.check[0])],
)
def test_more_worlds_are_solved_as_by_brute_force(family: str, batch: int) -> None:
    """
    The same on others, of families whose worlds take long.
    """
    batches, number, start = FAMILIES[family].check

    check_worlds(FAMILIES[family].make, start + batch, batches, number)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("family", "batch"),
    [(name, batch) for name, worlds in FAMILIES.items() for batch in range(worlds.slow[0])],
)
def test_many_worlds_are_solved_as_by_brute_force(family: str, batch: int) -> None:
    """
    The same on a thousand others, more or less, of each.
    """
    worlds = FAMILIES[family]

    check_worlds(worlds.make, worlds.slow_start + batch, *worlds.slow)


@pytest.mark.parametrize(
    ("make", "worlds", "most_leaves", "least"),
    [
        pytest.param(tiny_instance, 200, 500, 30, id="tiny", marks=pytest.mark.check),
        pytest.param(tiny_instance, 600, 10_000, 200, id="larger", marks=pytest.mark.slow),
        pytest.param(burst_instance, 150, 300, 15, id="pools", marks=pytest.mark.check),
        pytest.param(function_instance, 100, 500, 10, id="functions", marks=pytest.mark.check),
        pytest.param(strategy_instance, 100, 500, 10, id="strategies", marks=pytest.mark.check),
        pytest.param(variants_instance, 60, 500, 10, id="variants", marks=pytest.mark.check),
        pytest.param(in_node_affinity_instance, 60, 300, 11, id="in-node affinity"),
        pytest.param(paged_instance, 150, 300, 15, id="hugepages"),
        pytest.param(quantity_instance, 20, 100, 5, id="quantities"),
        pytest.param(sharing_instance, 120, 500, 20, id="shares"),
    ],
)
def test_brute_force_is_right(make: MakeWorld, worlds: int, most_leaves: int, least: int) -> None:
    """
    Where the plainest enumeration can be done, which tries every place and every number of
    devices, the short cuts of brute force change nothing.
    """
    assert brute_force_is_right(map(make, range(worlds)), most_leaves) > least
