"""Boards that people know, by name: their classes, their best sets, what is left of them."""

from dataclasses import replace
from itertools import combinations

import pytest

from links.boards import Gpus, matrix
from placer_models.device import Device
from placer_models.links import (
    LinkedDeviceSetCounts,
    best_device_set_among_free,
    best_pair_minimum,
    best_pair_sum,
    counts_by_class,
    linked_classes_of_devices,
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


def blocks(gpus: int, per_block: int, inside: int, outside: int) -> list[list[int]]:
    """Return speeds that are high inside blocks of neighbours."""
    return [
        [
            0 if a == b else inside if a // per_block == b // per_block else outside
            for b in range(gpus)
        ]
        for a in range(gpus)
    ]


def links(gpus: int, other: int, speeds: dict[int, list[tuple[int, int]]]) -> list[list[int]]:
    """Return speeds pair by pair; those not named are the other speed."""
    table = [[0 if a == b else other for b in range(gpus)] for a in range(gpus)]
    for speed, pairs in speeds.items():
        for a, b in pairs:
            table[a][b] = table[b][a] = speed
    return table


def world(speeds: list[list[int]], numa_nodes: list[int]) -> Gpus:
    """Return GPUs with the speeds, in 0.01 GB/s, on the NUMA nodes."""
    devices = tuple(Device("gpu", i, numa_node=numa) for i, numa in enumerate(numa_nodes))
    return Gpus(devices, matrix(speeds))


DGX_2 = world(blocks(16, 16, 15000, 0), [0] * 8 + [1] * 8)
MI300A_24 = world(blocks(24, 6, 100000, 12800), [i // 6 for i in range(24)])
BRIDGED = world(blocks(8, 2, 5625, 3150), [0] * 4 + [1] * 4)


def test_sixteen_gpus_behind_one_switch_are_two_classes() -> None:
    """
    On a DGX-2 only the NUMA node tells GPUs apart: 9 kinds of sets of 8, not 12,870.
    """
    assert DGX_2.board.classes == (tuple(range(8)), tuple(range(8, 16)))
    assert DGX_2.board.inner == (15000, 15000)
    assert DGX_2.board.across == ((15000, 15000), (15000, 15000))
    assert number_of_selectable_device_sets(DGX_2.board, 8, (8, 8)) == 9
    assert len(selectable_device_sets(DGX_2.board, 8, (8, 8))) == 9


def test_twenty_four_partitions_are_four_classes() -> None:
    """
    Four APUs of six partitions: the best eight are six of one APU and two of another.
    """
    best = best_device_set_among_free(MI300A_24.board, 8, (6, 6, 6, 6))

    assert MI300A_24.board.sizes == (6, 6, 6, 6)
    assert best is not None
    assert best.counts == (6, 2, 0, 0)
    assert best_pair_minimum(MI300A_24.board, 6) == 100000
    assert best_pair_minimum(MI300A_24.board, 7) == 12800
    assert best_pair_sum(MI300A_24.board, 8) == 16 * 100000 + 12 * 12800


def test_a_partly_taken_domain_is_filled_before_a_whole_one_is_broken() -> None:
    """
    One of six partitions is taken: a pod of one goes beside it, four pairs of four stay.
    """
    best = best_device_set_among_free(MI300A_24.board, 1, (6, 6, 5, 6))

    assert best is not None
    assert best.counts == (0, 0, 1, 0)


def test_singles_leave_bridged_pairs_whole() -> None:
    """
    With GPU 0 gone, the next single GPU is its widowed partner, not half of a pair.
    """
    best = best_device_set_among_free(BRIDGED.board, 1, counts_by_class(BRIDGED.board, range(1, 8)))

    assert best is not None
    assert lowest_free_minors(BRIDGED.board, best.counts, range(1, 8)) == (1,)


def test_a_gpu_off_the_fabric_goes_to_the_pod_that_needs_no_link() -> None:
    """
    Of eight GPUs the third has lost its NVLinks: a pod of one gets it, though as many
    fast pairs, quads and octets would be left either way.
    """
    dead = [(2, other) for other in range(8) if other != 2]
    board = world(links(8, 90000, {6300: dead}), [0] * 4 + [1] * 4).board

    best = best_device_set_among_free(board, 1, board.sizes)

    assert board.classes == ((0, 1, 3), (2,), (4, 5, 6, 7))
    assert best is not None
    assert best.counts == (0, 1, 0)


def test_the_slowest_pair_counts_before_the_sum() -> None:
    """
    Three GPUs at 20 each beat one with two equivalent ones at 50, who reach each other at 10.
    """
    speeds = {50: [(0, 1), (0, 2)], 20: [(3, 4), (3, 5), (4, 5)]}
    chain = world(links(6, 10, speeds), [0] * 6)

    best = best_device_set_among_free(chain.board, 3, chain.board.sizes)

    assert chain.board.classes == ((0,), (1, 2), (3, 4, 5))
    assert best == LinkedDeviceSetCounts((0, 0, 3), pair_minimum=20, pair_sum=60)
    assert best_pair_sum(chain.board, 3) == 110


def test_a_set_that_only_looked_as_heavy_is_not_among_the_heaviest() -> None:
    """
    Of GPUs 0, 1, 2, 3 and 5 four at a time: leaving out 2 or 5 (or 1 or 3) gives 26,
    leaving out 0 only 22, though half of the open pairs promised more.
    """
    slow = world(links(6, 5, {1: [(1, 3), (2, 5)]}), [0] * 6)
    merged = classes_merged_by_equal_bandwidth(slow.board)

    assert slow.board.classes == ((0, 4), (1, 3), (2, 5))
    assert sorted(device_sets_of_largest_pair_sum(merged, (1, 2, 2), 4, 1)) == [
        (1, 1, 2),
        (1, 2, 1),
    ]


def test_a_gpu_that_fits_a_set_may_still_be_left_out() -> None:
    """
    Two quads, and a ninth GPU whose only quad would take two of one and one of the other;
    the bridges between the quads keep any two GPUs from being equivalent.
    """
    inside = [(a, b) for quad in (range(4), range(4, 8)) for a, b in combinations(quad, 2)]
    bridge = [(0, 4), (1, 4), (2, 5), (3, 6), (1, 7), (8, 0), (8, 1), (8, 4)]
    board = world(links(9, 10, {50: inside + bridge}), [0] * 9).board

    assert len(board.classes) == 9
    assert max_disjoint_fast_set_count(board, 4, board.sizes) == 2
    assert max_disjoint_fast_set_count(board, 4, counts_by_class(board, (0, 1, 4, 5, 8))) == 1


def test_a_pod_stays_on_one_numa_node_where_links_allow_it() -> None:
    """
    Six free GPUs at equal speed, two on NUMA node 0 and four on 1: four go to node 1.
    """
    best = best_device_set_among_free(DGX_2.board, 4, (2, 4))

    assert best is not None
    assert best.counts == (0, 4)


def test_what_is_usable_counts_each_size_by_itself() -> None:
    """
    Eight GPUs in bridged pairs: 8 singles, 4 pairs, and any 4 or 8, as nothing is faster.
    """
    assert total_devices_in_usable_sets(BRIDGED.board, (2, 2, 2, 2)) == 8 + 8 + 8 + 8
    assert total_devices_in_usable_sets(BRIDGED.board, (1, 1, 1, 1)) == 4 + 0 + 4 + 0
    assert total_devices_in_usable_sets(BRIDGED.board, (2, 2, 0, 0)) == 4 + 4 + 4 + 0


def test_a_rack_of_72_gpus_is_counted_and_not_listed() -> None:
    """
    Eighteen trays of four behind one switch: any 36 are equal, so they fill nine trays.
    """
    rack = world(blocks(72, 72, 90000, 0), [i // 4 for i in range(72)])
    best = best_device_set_among_free(rack.board, 36, rack.board.sizes)

    assert best is not None
    assert best.counts == (4,) * 9 + (0,) * 9
    assert total_devices_in_usable_sets(rack.board, rack.board.sizes) == 4 * 72


@pytest.mark.parametrize(
    "other",
    [
        Device("gpu", 1, numa_node=1),
        Device("gpu", 1, package=1),
        Device("gpu", 1, pcie_root="r"),
        Device("gpu", 1, pcie_switch="s"),
        Device("gpu", 1, model="other"),
        Device("gpu", 1, memory_bytes=1),
    ],
)
def test_devices_that_differ_in_anything_are_not_equivalent(other: Device) -> None:
    """
    Equal links are not enough: place, model and memory must be equal too.
    """
    links = matrix([[0, 100], [100, 0]])

    assert linked_classes_of_devices((Device("gpu", 0), Device("gpu", 1)), links).classes == (
        (0, 1),
    )
    assert linked_classes_of_devices((Device("gpu", 0), other), links).classes == ((0,), (1,))


def test_a_machine_without_known_links_counts_every_pair_as_nothing() -> None:
    """
    No matrix, or a GPU that the matrix does not know: 0 GB/s, and no accident.
    """
    devices = (Device("gpu", 0), Device("gpu", 1), Device("gpu", 7))
    unknown = linked_classes_of_devices(devices, None)
    partly = linked_classes_of_devices(devices, matrix([[0, 100], [100, 0]]))

    assert unknown.classes == ((0, 1, 7),)
    assert best_pair_minimum(unknown, 2) == 0
    assert partly.classes == ((0, 1), (7,))
    assert pair_sum(partly, (2, 1)) == 100
    assert pair_minimum(partly, (2, 1)) == 0


def test_links_are_between_gpus_alone() -> None:
    """
    The minors of other devices may be the same numbers; they have no links.
    """
    nics = (Device("rdma", 0), Device("rdma", 1))

    assert best_pair_sum(linked_classes_of_devices(nics, matrix([[0, 100], [100, 0]])), 2) == 0


def test_a_shared_egress_is_told_and_not_counted() -> None:
    """
    What pairs of a switch share changes no value of a set.
    """
    gpus = tuple(Device("gpu", i) for i in range(4))
    own = matrix(blocks(4, 4, 30000, 0))

    assert linked_classes_of_devices(gpus, own) == linked_classes_of_devices(
        gpus, replace(own, shared_egress=True)
    )


def test_an_empty_board_has_no_sets_but_the_empty_one() -> None:
    """
    A node whose GPUs are all dead has a board, and nothing fits it.
    """
    board = linked_classes_of_devices((), None)

    assert board.sizes == ()
    assert best_pair_minimum(board, 1) is None
    assert best_device_set_among_free(board, 1, ()) is None
    assert selectable_device_sets(board, 0, ())[0].counts == ()
    assert total_devices_in_usable_sets(board, ()) == 0


def test_no_set_has_a_negative_size() -> None:
    """
    Asked for fewer than no devices, there is no selection.
    """
    assert selectable_device_sets(DGX_2.board, -1, (8, 8)) == ()
    assert number_of_selectable_device_sets(DGX_2.board, -1, (8, 8)) == 0


def test_the_order_of_devices_does_not_matter() -> None:
    """
    Devices listed backwards make the same board.
    """
    assert (
        linked_classes_of_devices(tuple(reversed(BRIDGED.devices)), BRIDGED.links) == BRIDGED.board
    )


def test_a_device_that_is_not_on_the_board_is_named() -> None:
    """
    A dead or unknown GPU is no member of a set; the message says which, and what there is.
    """
    with pytest.raises(ValueError, match="devices 9,11 are not on the board, which has 0-7"):
        counts_by_class(BRIDGED.board, [0, 9, 11])


def test_too_few_free_devices_of_a_class_are_refused() -> None:
    """
    Two of a pair are wanted and one is free.
    """
    with pytest.raises(ValueError, match="2 of the devices 2-3 are wanted, 1 are free"):
        lowest_free_minors(BRIDGED.board, (0, 2, 0, 0), {0, 1, 3})
