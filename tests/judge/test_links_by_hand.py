"""The mathematics of links that tiers rest on, against plain enumeration."""

from itertools import combinations
from random import Random

import pytest

from placer_models.device import Device, GpuLinkMatrix
from placer_models.links import (
    best_pair_minimum,
    best_pair_sum,
    counts_by_class,
    linked_classes_of_devices,
    pair_minimum,
    pair_sum,
    total_devices_in_usable_sets,
)
from tiny_machines import tiny_machine

Gpus = tuple[int, ...]


def speed(links: GpuLinkMatrix | None, a: int, b: int) -> int:
    if links is None:
        return 0
    return links.centi_gb_per_s[links.minors.index(a)][links.minors.index(b)]


def slowest(links: GpuLinkMatrix | None, gpus: Gpus) -> int:
    return min((speed(links, a, b) for a, b in combinations(gpus, 2)), default=0)


def total(links: GpuLinkMatrix | None, gpus: Gpus) -> int:
    return sum(speed(links, a, b) for a, b in combinations(gpus, 2))


def most_disjoint(sets: list[Gpus]) -> int:
    """Return the most of the sets that share no GPU: take the first, or do not."""
    if not sets:
        return 0
    first, *rest = sets
    return max(most_disjoint(rest), 1 + most_disjoint([s for s in rest if not set(s) & set(first)]))


def usable(links: GpuLinkMatrix | None, all_gpus: Gpus, free: Gpus) -> int:
    points = 0
    for size in (1, 2, 4, 8):
        fastest = max((slowest(links, s) for s in combinations(all_gpus, size)), default=0)
        good = [s for s in combinations(free, size) if slowest(links, s) >= fastest]
        points += size * most_disjoint(good)
    return points


@pytest.mark.parametrize("seed", range(40))
def test_links_agree_with_plain_enumeration(seed: int) -> None:
    """
    Values of sets, best values and usable points of every subset of a tiny board.
    """
    machine = tiny_machine(Random(seed), "m", 1, least_gpus=2)
    gpus = tuple(d for d in machine.devices if d.type == "gpu" and d.healthy)
    board, links = linked_classes_of_devices(gpus, machine.gpu_links), machine.gpu_links
    minors = tuple(gpu.minor for gpu in gpus)

    for size in range(len(minors) + 1):
        sets = list(combinations(minors, size))
        assert best_pair_minimum(board, size) == max(slowest(links, s) for s in sets)
        assert best_pair_sum(board, size) == max(total(links, s) for s in sets)
        for gpus_of_set in sets:
            counts = counts_by_class(board, gpus_of_set)
            assert pair_minimum(board, counts) == slowest(links, gpus_of_set)
            assert pair_sum(board, counts) == total(links, gpus_of_set)
            assert total_devices_in_usable_sets(board, counts) == usable(links, minors, gpus_of_set)
    assert best_pair_minimum(board, len(minors) + 1) is None
    assert best_pair_sum(board, len(minors) + 1) is None


def test_links_agree_on_a_board_of_nine() -> None:
    """
    A board with room for a set of eight: two speeds, at random.
    """
    rng = Random(9)
    rows = [[0] * 9 for _ in range(9)]
    for i, j in combinations(range(9), 2):
        rows[i][j] = rows[j][i] = rng.choice((10, 10, 30))
    links = GpuLinkMatrix(tuple(range(9)), tuple(map(tuple, rows)), tuple(("L",) * 9 for _ in rows))
    board = linked_classes_of_devices(tuple(Device("gpu", i) for i in range(9)), links)
    minors = tuple(range(9))

    assert total_devices_in_usable_sets(board, counts_by_class(board, minors)) == usable(
        links, minors, minors
    )
