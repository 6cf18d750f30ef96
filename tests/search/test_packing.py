"""The parts of the search for fewer workers, each by itself."""

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from placer.packing.bins import PackingBin, PackingProblem
from placer.packing.fewest import (
    filling_with_given_bin_count,
    pack_into_fewest_bins,
    with_all_items_packed,
)
from placer.packing.knapsack import full_bin_patterns, most_valuable_item_counts
from placer.packing.prices import PackingItemPrices, PackingLinearProgram, simplex_maximum
from placer.packing.step_limit import PackingStepBudget

SIZES = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=3, max_size=3)
ROOM = st.tuples(st.integers(0, 12), st.integers(0, 12))
COUNTS = st.tuples(*[st.integers(0, 3)] * 3)


def choices(bin: PackingBin, counts: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Return every choice that fits a bin."""
    found = []
    for chosen in product(*(range(count + 1) for count in counts)):
        taken = [
            sum(times * size[d] for times, size in zip(chosen, bin.sizes, strict=True))
            for d in range(len(bin.room))
        ]
        if all(a <= b for a, b in zip(taken, bin.room, strict=True)):
            found.append(chosen)
    return found


@given(SIZES, ROOM, COUNTS, st.tuples(*[st.integers(0, 9)] * 3))
def test_the_dearest_choice_is_that_of_trying_all(
    sizes: list[tuple[int, int]],
    room: tuple[int, int],
    counts: tuple[int, ...],
    prices: tuple[int, ...],
) -> None:
    """
    Branch and bound cuts nothing off that would be worth more.
    """
    bin = PackingBin(room, tuple(sizes))

    found = most_valuable_item_counts(bin, counts, prices, PackingStepBudget(10**6))

    def worth(chosen: tuple[int, ...]) -> int:
        return sum(a * b for a, b in zip(chosen, prices, strict=True))

    assert found in choices(bin, counts)
    assert worth(found) == max(map(worth, choices(bin, counts)))


@given(SIZES, ROOM, COUNTS)
def test_full_patterns_are_the_choices_to_which_nothing_can_be_added(
    sizes: list[tuple[int, int]], room: tuple[int, int], counts: tuple[int, ...]
) -> None:
    """
    Each of them once, and no other.
    """
    bin = PackingBin(room, tuple(sizes))
    all_choices = choices(bin, counts)

    found = full_bin_patterns(bin, counts, PackingStepBudget(10**6))

    larger = {
        a
        for a in all_choices
        for b in all_choices
        if a != b and all(x <= y for x, y in zip(a, b, strict=True))
    }
    assert sorted(found) == sorted(set(all_choices) - larger)


@given(SIZES, st.lists(ROOM, max_size=3), COUNTS)
def test_prices_bound_what_any_bin_holds(
    sizes: list[tuple[int, int]], rooms: list[tuple[int, int]], counts: tuple[int, ...]
) -> None:
    """
    No choice is worth more than its bin is said to hold, so the bound is a bound.
    """
    fresh = PackingBin((9, 9), tuple(sizes))
    bins = tuple(PackingBin(room, tuple(sizes)) for room in rooms)

    pricing = PackingLinearProgram(PackingProblem(bins, fresh, counts), PackingStepBudget(10**6))
    prices, _ = pricing.best(counts, range(len(bins)))

    assert max(map(prices.worth, choices(fresh, counts))) <= prices.fresh
    for bin, most in zip(bins, prices.bins, strict=True):
        assert max(map(prices.worth, choices(bin, counts))) <= most


FREE = PackingItemPrices((0, 0, 0), 0, (0, 0, 0))
"""Prices that say nothing, so that the search has to try everything."""


def test_pieces_that_fit_by_volume_may_need_another_bin() -> None:
    """
    Pieces of 44, 33 and 12 out of 132 fill less than two bins, and need three.
    """
    packing = PackingProblem((), PackingBin((132,), ((44,), (33,), (12,))), (2, 3, 6))

    packed = pack_into_fewest_bins(
        packing, with_all_items_packed(packing, []), PackingStepBudget(10**6)
    )

    assert (len(packed.filling), packed.bound) == (3, 3)
    assert filling_with_given_bin_count(packing, 2, PackingStepBudget(10**6), FREE) is None
    assert filling_with_given_bin_count(packing, 3, PackingStepBudget(10**6), FREE) is not None


@given(SIZES, st.lists(ROOM, min_size=3, max_size=3), COUNTS)
def test_all_that_fits_is_found_without_prices(
    sizes: list[tuple[int, int]], rooms: list[tuple[int, int]], counts: tuple[int, ...]
) -> None:
    """
    Three bins that are there, no new one: a filling is found exactly if there is one.
    """
    bins = tuple(PackingBin(room, tuple(sizes)) for room in rooms)
    packing = PackingProblem(bins, bins[0], counts)

    found = filling_with_given_bin_count(packing, 3, PackingStepBudget(10**6), FREE)

    first, second, third = (set(choices(bin, counts)) for bin in bins)
    rests = (
        tuple(n - x - y for n, x, y in zip(counts, a, b, strict=True))
        for a in first
        for b in second
    )
    assert (found is not None) == any(rest in third for rest in rests)
    if found is not None:
        assert tuple(map(sum, zip(*found, strict=True))) == counts
        assert all(tuple(f) in choices(bin, counts) for f, bin in zip(found, bins, strict=True))


def test_more_bins_than_needed_stay_empty() -> None:
    """
    What is asked to use four bins and needs one gives four, three of them empty.
    """
    packing = PackingProblem((), PackingBin((9,), ((3,),)), (2,))

    assert filling_with_given_bin_count(packing, 4, PackingStepBudget(100)) == [[2], [0], [0], [0]]


def test_the_simplex_method_finds_the_corner() -> None:
    """
    3x + 5y, with x up to 4, 2y up to 12 and 3x + 2y up to 18: the textbook's 36.
    """
    found = simplex_maximum([3, 5], [[1, 0], [0, 2], [3, 2]], [4, 12, 18])

    assert [round(value, 6) for value in found.values] == [2, 6]
    assert [round(dual, 6) for dual in found.duals] == [0, 1.5, 1]
