"""On small random boards every answer is what trying all sets of single GPUs finds (D7)."""

from hypothesis import given
from hypothesis import strategies as st

from links.boards import SIZES, random_free, random_gpus
from placer_models.links import (
    best_device_set_among_free,
    best_pair_minimum,
    best_pair_sum,
    counts_by_class,
    lowest_free_minors,
    max_disjoint_fast_set_count,
    number_of_selectable_device_sets,
    pair_minimum,
    pair_sum,
    selectable_device_sets,
    total_devices_in_usable_sets,
)
from placer_models.links.heaviest import device_sets_of_largest_pair_sum
from placer_models.links.merged import classes_merged_by_equal_bandwidth

seeds = st.integers(0, 2**32 - 1)


@given(seeds)
def test_sets_of_equal_counts_are_worth_the_same(seed: int) -> None:
    """
    What the counts say of a set's pairs is what its GPUs say, whichever of a class are in it.
    """
    world = random_gpus(seed)

    for size in range(len(world.devices) + 1):
        for chosen in world.sets(size):
            counts = counts_by_class(world.board, chosen)
            assert pair_minimum(world.board, counts) == world.pair_minimum(chosen)
            assert pair_sum(world.board, counts) == world.pair_sum(chosen)


@given(seeds)
def test_swapping_equivalent_devices_changes_what_is_left_by_nothing(seed: int) -> None:
    """
    Free sets of equal counts are good for equally many disjoint fast sets.
    """
    world = random_gpus(seed, most=6)

    found: dict[tuple[int, ...], int] = {}
    for size in range(len(world.devices) + 1):
        for free in world.sets(size):
            usable = world.usable(free)
            assert found.setdefault(counts_by_class(world.board, free), usable) == usable


@given(seeds)
def test_the_best_of_the_empty_board_is_the_best_of_all_sets(seed: int) -> None:
    """
    The best slowest pair and the best pair sum of each size, each for itself.
    """
    world = random_gpus(seed)

    for size in range(len(world.devices) + 1):
        sets = world.sets(size)
        assert best_pair_minimum(world.board, size) == max(map(world.pair_minimum, sets))
        assert best_pair_sum(world.board, size) == max(map(world.pair_sum, sets))
    assert best_pair_minimum(world.board, len(world.devices) + 1) is None
    assert best_pair_sum(world.board, len(world.devices) + 1) is None


@given(seeds)
def test_selections_are_all_the_sets_there_are_best_first(seed: int) -> None:
    """
    Each set of free GPUs is one of the selections, none comes twice, and they are sorted.
    """
    world = random_gpus(seed)
    free = random_free(seed, world)

    for size in range(len(free) + 2):
        found = selectable_device_sets(world.board, size, counts_by_class(world.board, free))
        sets = {counts_by_class(world.board, chosen): chosen for chosen in world.sets(size, free)}
        assert len(found) == number_of_selectable_device_sets(
            world.board, size, counts_by_class(world.board, free)
        )
        assert {s.counts for s in found} == sets.keys()
        assert [(s.pair_minimum, s.pair_sum, s.counts) for s in found] == sorted(
            (
                (world.pair_minimum(chosen), world.pair_sum(chosen), counts)
                for counts, chosen in sets.items()
            ),
            reverse=True,
        )


@given(seeds)
def test_pruning_never_loses_a_set_of_the_largest_pair_sum(seed: int) -> None:
    """
    Branch and bound finds every set of the largest sum that keeps the slowest pair.
    """
    world = random_gpus(seed)
    free = random_free(seed, world)
    merged = classes_merged_by_equal_bandwidth(world.board)
    counts = merged.counts(counts_by_class(world.board, free))

    for size in range(len(free) + 1):
        least = max(map(world.pair_minimum, world.sets(size, free)))
        fast = [s for s in world.sets(size, free) if world.pair_minimum(s) == least]
        most = max(map(world.pair_sum, fast))
        best = {
            merged.counts(counts_by_class(world.board, s))
            for s in fast
            if world.pair_sum(s) == most
        }
        found = device_sets_of_largest_pair_sum(merged, counts, size, least)
        assert len(found) == len(best)
        assert set(found) == best


@given(seeds)
def test_the_best_selection_is_the_best_of_all_free_sets(seed: int) -> None:
    """
    Slowest pair, pair sum, nearness, what is left usable, bandwidth left, lowest devices.
    """
    world = random_gpus(seed)
    free = random_free(seed, world)
    counts = counts_by_class(world.board, free)

    for size in range(len(free) + 1):
        best = max(world.worth(chosen, free) for chosen in world.sets(size, free))
        found = best_device_set_among_free(world.board, size, counts)
        assert found is not None
        chosen = frozenset(lowest_free_minors(world.board, found.counts, free))
        assert chosen <= free
        assert world.worth(chosen, free) == best
        assert (found.pair_minimum, found.pair_sum) == best[:2]
    assert best_device_set_among_free(world.board, len(free) + 1, counts) is None


@given(seeds)
def test_usable_points_are_the_most_disjoint_fast_sets(seed: int) -> None:
    """
    Sets of 1, 2, 4 and 8, each size counted by itself, fast as on the empty board.
    """
    world = random_gpus(seed, most=8)
    free = random_free(seed, world)
    counts = counts_by_class(world.board, free)

    for size in SIZES:
        assert max_disjoint_fast_set_count(world.board, size, counts) == world.disjoint(size, free)
    assert total_devices_in_usable_sets(world.board, counts) == world.usable(free)
