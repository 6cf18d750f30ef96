"""Partitions and scopes on small random boards, against trying all sets of single GPUs."""

from itertools import combinations
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from links.boards import Gpus, random_free, random_gpus
from placer_models.device import PartitionTable
from placer_models.links import (
    LinkedDeviceClasses,
    allowed_device_sets,
    best_permitted_devices,
    best_permitted_pair_minimum,
    best_permitted_pair_sum,
    count_offered_device_sets,
    counts_by_class,
    is_set_in_partition_table,
    linked_classes_of_devices,
    max_disjoint_fast_set_count,
    partitions_matter_for,
)
from placer_models.policy import SameTypeDevicesScope

seeds = st.integers(0, 2**32 - 1)
SCOPES = {
    SameTypeDevicesScope.PCIE: "pcie_switch",
    SameTypeDevicesScope.NUMA_NODE: "numa_node",
    SameTypeDevicesScope.PACKAGE: "package",
}


def random_table(seed: int, world: Gpus) -> PartitionTable:
    rng = Random(seed)
    gpus = sorted(world.minors)
    share = rng.choice((0.1, 0.5, 0.9))
    every = [s for n in range(1, len(gpus) + 1) for s in combinations(gpus, n)]
    if rng.random() < 0.5:  # halves of halves, so that some are equivalent
        return tuple(s for s in every if s == tuple(gpus[gpus.index(s[0]) :][: len(s)]))
    return tuple(s for s in every if rng.random() < share)


def board(world: Gpus, table: PartitionTable, *, honored: bool) -> LinkedDeviceClasses:
    return linked_classes_of_devices(world.devices, world.links, table, honored=honored)


def is_within(world: Gpus, chosen: frozenset[int], scope: SameTypeDevicesScope) -> bool:
    if scope is SameTypeDevicesScope.NODE or len(chosen) < 2:
        return True
    places = {getattr(d, SCOPES[scope]) for d in world.devices if d.minor in chosen}
    return len(places) == 1 and None not in places


@given(seeds)
def test_counts_say_whether_a_set_is_a_partition(seed: int) -> None:
    """
    Of every set, so equivalent ones are told apart wherever the table tells them apart.
    """
    world = random_gpus(seed, most=6)
    table = random_table(seed, world)
    found = board(world, table, honored=False)

    for size in range(1, len(world.devices) + 1):
        sets = world.sets(size)
        for chosen in sets:
            counts = counts_by_class(found, chosen)
            assert is_set_in_partition_table(found, counts) == (tuple(sorted(chosen)) in table)
        some = [tuple(sorted(s)) in table for s in sets]
        assert partitions_matter_for(found, size) or all(some)


@given(seeds, st.booleans(), st.sampled_from(SameTypeDevicesScope))
def test_what_is_offered_is_what_a_pod_may_have(
    seed: int, honored: bool, scope: SameTypeDevicesScope
) -> None:
    """
    All sets of free GPUs within the scope, partitions only where they are honored; and
    the best of them on the empty board.
    """
    world = random_gpus(seed, most=6)
    table = random_table(seed, world)
    found = board(world, table, honored=honored)
    free = random_free(seed, world)

    def allowed(size: int, of: frozenset[int]) -> list[frozenset[int]]:
        return [
            s
            for s in world.sets(size, of)
            if is_within(world, s, scope) and (not honored or tuple(sorted(s)) in table)
        ]

    for size in range(1, len(world.devices) + 1):
        sets = allowed(size, free)
        selections = allowed_device_sets(found, size, counts_by_class(found, free), scope)
        assert {s.counts for s in selections} == {counts_by_class(found, s) for s in sets}
        assert count_offered_device_sets(found, size, counts_by_class(found, free), scope) == len(
            selections
        )
        every = allowed(size, world.minors)
        least = max(map(world.pair_minimum, every), default=None)
        assert best_permitted_pair_minimum(found, size, scope) == least
        assert best_permitted_pair_sum(found, size, scope) == max(
            map(world.pair_sum, every), default=None
        )
        best = best_permitted_devices(found, size, counts_by_class(found, free), scope)
        assert (best is None) == (not sets)
        if best is not None:
            preferred = [s for s in sets if tuple(sorted(s)) in table] or sets
            assert best.pair_minimum == max(map(world.pair_minimum, preferred))


@given(seeds)
def test_disjoint_partitions_are_counted_as_by_trying_all(seed: int) -> None:
    """
    Of those whose slowest pair is as fast as that of the best partition of the size.
    """
    world = random_gpus(seed, most=6)
    table = random_table(seed, world)
    found = board(world, table, honored=True)
    free = random_free(seed, world)

    for size in (1, 2, 4):
        parts = [frozenset(part) for part in table if len(part) == size]
        least = max(map(world.pair_minimum, parts), default=0)
        fast = [part for part in parts if world.pair_minimum(part) >= least]

        def most(left: frozenset[int], fast: list[frozenset[int]] = fast) -> int:
            return max((1 + most(left - part) for part in fast if part <= left), default=0)

        assert max_disjoint_fast_set_count(found, size, counts_by_class(found, free)) == most(free)
