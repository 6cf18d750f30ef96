"""Weights of shares, beside all ways to fill a device."""

from itertools import combinations_with_replacement

from hypothesis import given, settings
from hypothesis import strategies as st

from placer.search.exchanges.share_weights import share_capacity_cut_weights
from placer_models.device_share import ShareAmounts

AMOUNTS = st.tuples(st.integers(10, 100), st.integers(0, 90))


def most_on(of: dict[ShareAmounts, int], left: ShareAmounts) -> int:
    """Return what shares count at most that fit together, by trying all lists of them."""
    best = 0
    for count in range(1, 11):
        for shares in combinations_with_replacement(of, count):
            if all(
                sum(part) <= has for part, has in zip(zip(*shares, strict=True), left, strict=True)
            ):
                best = max(best, sum(of[share] for share in shares))
    return best


def test_weights_of_four_sizes_are_those_by_hand() -> None:
    """
    Three of 30 fill a device, as one of 70 and one of 30 or 20 do, and two of 50 for halves.
    """
    found = share_capacity_cut_weights([(20,), (30,), (50,), (70,)], (100,))

    assert {(*weights.of.values(), weights.whole) for weights in found} == {
        (2, 3, 5, 7, 10),
        (1, 2, 3, 4, 6),
        (2, 2, 5, 8, 10),
        (0, 0, 1, 2, 2),
    }


@settings(max_examples=40, deadline=None)
@given(
    sizes=st.lists(AMOUNTS, min_size=1, max_size=3, unique=True),
    left=st.tuples(st.integers(0, 100), st.integers(0, 90)),
)
def test_no_filling_counts_more_than_the_device(
    sizes: list[ShareAmounts], left: ShareAmounts
) -> None:
    """
    Nor more than what is said of a device on which only so much is left.
    """
    for weights in share_capacity_cut_weights(sizes, (100, 90)):
        assert most_on(weights.of, (100, 90)) <= weights.whole
        assert weights.most(left) == most_on(weights.of, left)


def test_there_are_no_weights_where_fillings_have_no_end() -> None:
    """
    Shares of nothing, more sizes than can be listed, and one share in a thousand.
    """
    assert share_capacity_cut_weights([], (100,)) == []
    assert share_capacity_cut_weights([(0, 0), (50, 50)], (100, 100)) == []
    assert share_capacity_cut_weights([(size,) for size in range(20, 40)], (100,)) == []
    assert share_capacity_cut_weights([(1,), (2,), (3,)], (1000,)) == []
