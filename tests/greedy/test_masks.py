"""Which sets of cells are worth trying."""

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from placer.greedy.masks import cell_sets_holding

AMOUNTS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=7)


def enough(amounts: list[tuple[int, int]], cells: tuple[int, ...], need: tuple[int, int]) -> bool:
    return all(sum(amounts[cell][i] for cell in cells) >= need[i] for i in (0, 1))


@given(
    amounts=AMOUNTS, need=st.tuples(st.integers(0, 6), st.integers(0, 6)), size=st.integers(0, 4)
)
def test_a_set_of_every_sort_that_is_enough_is_found(
    amounts: list[tuple[int, int]], need: tuple[int, int], size: int
) -> None:
    """
    As trying all sets says: the same sorts of sets hold the need, no sort twice.
    """
    useful = [c for c, held in enumerate(amounts) if any(map(min, held, need))]
    expected = {
        tuple(sorted(amounts[cell] for cell in cells))
        for cells in combinations(useful, min(size, len(useful)))
        if enough(amounts, cells, need)
    }
    found = list(cell_sets_holding(amounts, need, size, kinds=amounts))
    sorts = [tuple(sorted(amounts[cell] for cell in cells)) for cells in found]

    assert all(enough(amounts, cells, need) for cells in found)
    assert set(sorts) == expected
    assert len(sorts) == len(expected)


def test_cells_that_differ_are_all_tried() -> None:
    """
    Two cells hold the same, but one is of another kind: both come up.
    """
    assert list(cell_sets_holding([(2,), (2,)], (2,), 1, kinds=["a", "b"])) == [(0,), (1,)]
    assert list(cell_sets_holding([(2,), (2,)], (2,), 1, kinds=["a", "a"])) == [(0,)]


def test_the_richest_set_comes_first() -> None:
    """
    Where trying is cut short, what was tried had the most to give.
    """
    first, *_ = cell_sets_holding([(1,), (3,), (2,)], (3,), 2, kinds=[0, 1, 2])

    assert set(first) == {1, 2}


def test_many_cells_that_are_alike_are_quickly_searched() -> None:
    """
    Seventeen of 34 equal cells are one set; of 34 empty ones there is none.
    """
    assert len(list(cell_sets_holding([(1,)] * 34, (17,), 17, kinds=[0] * 34))) == 1
    assert list(cell_sets_holding([(0,)] * 34, (17,), 17, kinds=[0] * 34)) == []
