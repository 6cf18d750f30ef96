"""Sets that other allocators hand out, row by row: ours is never worse.

Worse is said twice: by slowest pair and pair sum in GB/s, which is what we rank by, and
by the peer's own score. Both agree in every row, so no row is excused.
"""

from collections.abc import Sequence
from typing import Any

import pytest

from links.boards import Gpus, gpus, rows
from placer_models.links import (
    LinkedDeviceSetCounts,
    best_device_set_among_free,
    counts_by_class,
    lowest_free_minors,
    selectable_device_sets,
)

Sets = list[frozenset[int]]

SUBTREES = ((0, 1), (2, 3), (4, 5), (0, 1, 2, 3), (0, 1, 2, 3, 4, 5))
"""gpu-manager's tree over its six GPUs: switches, sockets (one is a switch), machine."""


def choose(
    world: Gpus, size: int, free: frozenset[int], required: frozenset[int] = frozenset()
) -> frozenset[int]:
    """Return our set, with the GPUs that the row requires in it; empty: there is none."""
    if not required <= free or len(required) > size:
        return frozenset()
    counts = counts_by_class(world.board, free)
    least = counts_by_class(world.board, required)
    best: LinkedDeviceSetCounts | None = best_device_set_among_free(world.board, size, counts)
    if required:
        # Required GPUs are no word of ours: of all selections that have room for them,
        # the best by links, then the one on the fewest NUMA nodes and switches.
        best = max(
            (
                s
                for s in selectable_device_sets(world.board, size, counts)
                if all(have >= need for have, need in zip(s.counts, least, strict=True))
            ),
            key=lambda s: (s.pair_minimum, s.pair_sum, *_nearness(world, s)),
        )
    if best is None:
        return frozenset()
    rest = tuple(a - b for a, b in zip(best.counts, least, strict=True))
    return required | frozenset(lowest_free_minors(world.board, rest, free - required))


def _nearness(world: Gpus, selection: LinkedDeviceSetCounts) -> tuple[int, int]:
    chosen = lowest_free_minors(world.board, selection.counts, world.minors)
    return -world.places(chosen, "numa_node"), -world.places(chosen, "pcie_switch")


def in_turn(
    world: Gpus,
    sizes: Sequence[int],
    free: frozenset[int],
    required: frozenset[int] = frozenset(),
) -> Sets:
    """Return our sets for the sizes, one after another, nothing freed."""
    chosen: Sets = []
    for size in sizes:
        chosen.append(choose(world, size, free, required))
        free -= chosen[-1]
    return chosen


def slowest(world: Gpus, sets: Sets) -> int:
    """Return the slowest pair of any of the sets of two or more."""
    return min((world.pair_minimum(s) for s in sets if len(s) > 1), default=0)


def total(world: Gpus, sets: Sets) -> int:
    """Return the pair sums of the sets together."""
    return sum(map(world.pair_sum, sets))


def score(pair_scores: list[list[int]], sets: Sets) -> int:
    """Return go-gpuallocator's own score: the pairs' scores of all sets together."""
    return sum(pair_scores[a][b] for s in sets for a in s for b in s if a < b)


def subtree(chosen: frozenset[int]) -> int:
    """Return how many GPUs the smallest subtree over the chosen has, as gpu-manager ranks."""
    return min(len(tree) for tree in SUBTREES if chosen <= set(tree)) if len(chosen) > 1 else 1


def largest_whole(free: frozenset[int]) -> int:
    """Return the largest subtree that is wholly free."""
    return max((len(tree) for tree in SUBTREES if set(tree) <= free), default=min(len(free), 1))


def named(name: str) -> list[Any]:
    """Return the rows of a data file, each with an id that says which it is."""
    return [
        pytest.param(row, id=f"{number}-{row['machine']}")
        for number, row in enumerate(rows(name)["rows"])
    ]


@pytest.mark.parametrize("row", named("go_gpuallocator"))
def test_go_gpuallocator_never_has_a_better_set(row: dict[str, Any]) -> None:
    """
    By slowest pair, by pair sum and by its own score; where it refuses we may serve.
    """
    machine = rows("go_gpuallocator")["machines"][row["machine"]]
    world = gpus(machine)
    peer = [frozenset(s) for s in row["peer"]]

    ours = in_turn(world, row["sizes"], frozenset(row["free"]), frozenset(row["required"]))

    for size, mine, theirs in zip(row["sizes"], ours, peer, strict=True):
        assert len(mine) in (0, size)
        assert len(mine) >= len(theirs)
        assert frozenset(row["required"]) <= mine or not mine
    assert (slowest(world, ours), total(world, ours)) >= (slowest(world, peer), total(world, peer))
    if "peer_score" in machine:
        assert score(machine["peer_score"], ours) >= score(machine["peer_score"], peer)


@pytest.mark.parametrize("row", named("gpu_manager"))
def test_gpu_manager_never_has_a_better_set(row: dict[str, Any]) -> None:
    """
    By slowest pair and sum; by its own smallest subtree; and what is left is as whole.
    """
    world = gpus(rows("gpu_manager")["machines"][row["machine"]])
    free = world.minors - frozenset(row["busy"])
    peer = frozenset(row["peer"])

    ours = choose(world, row["size"], free)

    assert len(ours) == row["size"]
    assert world.pair_minimum(ours) >= world.pair_minimum(peer)
    assert world.pair_sum(ours) >= world.pair_sum(peer)
    assert subtree(ours) <= subtree(peer)
    if row["policy"] == "fragment":
        assert largest_whole(free - ours) >= largest_whole(free - peer)


@pytest.mark.parametrize("row", named("slurm_links"))
def test_slurm_never_has_better_sets(row: dict[str, Any]) -> None:
    """
    Jobs one after another: our slowest pair and our total are at least Slurm's.
    """
    world = gpus(rows("slurm_links")["machines"][row["machine"]])
    peer = [frozenset(s) for s in row["peer"]]

    ours = in_turn(world, row["sizes"], world.minors)

    assert slowest(world, ours) >= slowest(world, peer)
    assert total(world, ours) >= total(world, peer)


def test_one_after_another_we_reach_the_joint_optimum_more_often_than_slurm() -> None:
    """
    Of 20 runs with a known optimum 18 totals are the best there is, Slurm's 8. The other
    two are jobs of 1, 2, 2 and 3 on a DGX-1V: 215.75 of 225 GB/s (Slurm 140.75, 181.5).
    """
    data = rows("slurm_links")
    known = [row for row in data["rows"] if "optimum_gb_per_s" in row]
    reached = {"placer": 0, "slurm": 0}

    for row in known:
        world = gpus(data["machines"][row["machine"]])
        best = 100 * row["optimum_gb_per_s"]
        reached["placer"] += total(world, in_turn(world, row["sizes"], world.minors)) == best
        reached["slurm"] += total(world, [frozenset(s) for s in row["peer"]]) == best

    assert (len(known), reached) == (20, {"placer": 18, "slurm": 8})


def test_one_after_another_we_reach_the_joint_optimum_more_often_than_peers() -> None:
    """
    Of 65 job lists, set by set in order of arrival: 62 totals are the best there is;
    the peers reach 30 (index order), 53 (go-gpuallocator) and 58 (HAMi).
    """
    data = rows("partitions")
    reached = dict.fromkeys(["placer", *data["rows"][0]["peers_gb_per_s"]], 0)

    for row in data["rows"]:
        world = gpus(data["machines"][row["machine"]])
        ours = total(world, in_turn(world, row["sizes"], world.minors))
        totals = {"placer": ours / 100, **row["peers_gb_per_s"]}
        for name, gb_per_s in totals.items():
            reached[name] += gb_per_s == row["total_gb_per_s"]

    assert reached == {"placer": 62, "index": 30, "go-gpuallocator": 53, "hami": 58}
