"""How many NUMA nodes a request needs, against trying all sets (C12)."""

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from placer_models.alignment import (
    fewest_cell_count_for_all_resources,
    fewest_cell_count_for_one_resource,
    resolve_alignment_policy,
    restricted_cell_count,
)
from placer_models.policy import AlignmentPolicy

NONE, BEST_EFFORT, RESTRICTED, SINGLE = AlignmentPolicy
AMOUNT = st.integers(0, 3)
CELLS = st.lists(st.tuples(AMOUNT, AMOUNT, AMOUNT), max_size=6)


def by_trying(cells: list[tuple[int, ...]], need: tuple[int, ...]) -> int | None:
    for size in range(len(cells) + 1):
        for chosen in combinations(cells, size):
            if all(sum(cell[i] for cell in chosen) >= amount for i, amount in enumerate(need)):
                return size
    return None


@given(CELLS, st.tuples(AMOUNT, AMOUNT, AMOUNT))
def test_fewest_cells_is_what_trying_all_sets_finds(
    cells: list[tuple[int, ...]], need: tuple[int, ...]
) -> None:
    """
    For all resources together.
    """
    assert fewest_cell_count_for_all_resources(cells, need) == by_trying(cells, need)


@given(CELLS, st.tuples(AMOUNT, AMOUNT, AMOUNT))
def test_restricted_width_is_one_width_for_each_resource_asked_for(
    cells: list[tuple[int, ...]], need: tuple[int, ...]
) -> None:
    """
    Each resource has its own fewest; where they differ nothing is admitted.
    """
    widths = {
        by_trying([(cell[i],) for cell in cells], (amount,))
        for i, amount in enumerate(need)
        if amount
    }

    expected = (widths.pop() if widths else 0) if len(widths) < 2 else None
    assert restricted_cell_count(cells, need) == expected


def test_34_cells_of_three_kinds_are_counted_not_told_apart() -> None:
    """
    2^34 sets of NUMA nodes, but only counts of each kind matter.
    """
    cells = [(8, 1)] * 12 + [(4, 4)] * 12 + [(0, 9)] * 10

    assert fewest_cell_count_for_all_resources(cells, (96, 60)) == 18
    assert fewest_cell_count_for_one_resource([cell[0] for cell in cells], 96) == 12


@pytest.mark.parametrize(
    ("pod", "node", "holds"),
    [
        (NONE, NONE, NONE),
        (NONE, RESTRICTED, RESTRICTED),
        (BEST_EFFORT, NONE, BEST_EFFORT),
        (SINGLE, SINGLE, SINGLE),
        (SINGLE, RESTRICTED, None),
        (BEST_EFFORT, SINGLE, None),
    ],
)
def test_a_policy_set_on_both_sides_must_be_the_same(
    pod: AlignmentPolicy, node: AlignmentPolicy, holds: AlignmentPolicy | None
) -> None:
    """
    `None` counts as not set, on either side.
    """
    assert resolve_alignment_policy(pod, node) is holds
