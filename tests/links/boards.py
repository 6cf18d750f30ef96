"""Boards for tests: from our data files, or small and random, with a brute force over them."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from pathlib import Path
from random import Random
from typing import Any

from placer_models.device import Device, GpuLinkMatrix
from placer_models.links import LinkedDeviceClasses, counts_by_class, linked_classes_of_devices

DATA = Path(__file__).parent / "data"
SIZES = (1, 2, 4, 8)


@cache
def rows(name: str) -> dict[str, Any]:
    """Return a data file: where it comes from, machines, and rows that name them."""
    found: dict[str, Any] = json.loads((DATA / f"{name}.json").read_text("utf-8"))
    return found


@dataclass(frozen=True)
class Gpus:
    """GPUs and their links, looked at one by one."""

    devices: tuple[Device, ...]
    links: GpuLinkMatrix

    @property
    def board(self) -> LinkedDeviceClasses:
        return linked_classes_of_devices(self.devices, self.links)

    @property
    def minors(self) -> frozenset[int]:
        return frozenset(device.minor for device in self.devices)

    def speed(self, a: int, b: int) -> int:
        places = {minor: i for i, minor in enumerate(self.links.minors)}
        if a not in places or b not in places:
            return 0
        return self.links.centi_gb_per_s[places[a]][places[b]]

    def pair_minimum(self, minors: Iterable[int]) -> int:
        return min((self.speed(a, b) for a, b in combinations(minors, 2)), default=0)

    def pair_sum(self, minors: Iterable[int]) -> int:
        return sum(self.speed(a, b) for a, b in combinations(minors, 2))

    def sets(self, size: int, free: frozenset[int] | None = None) -> list[frozenset[int]]:
        free = self.minors if free is None else free
        return [frozenset(s) for s in combinations(sorted(free), size)]

    def places(self, minors: Iterable[int], kind: str) -> int:
        """Return how many known NUMA nodes, packages or switches the devices are on."""
        chosen = set(minors)
        found = {getattr(d, kind) for d in self.devices if d.minor in chosen}
        return len(found - {None})

    def disjoint(self, size: int, free: frozenset[int]) -> int:
        """Return the most disjoint fast sets of the size, trying every packing."""
        if size > len(self.devices):
            return 0
        least = max(self.pair_minimum(s) for s in self.sets(size))
        fast = [s for s in self.sets(size, free) if self.pair_minimum(s) >= least]

        def most(left: frozenset[int]) -> int:
            if len(left) < size:
                return 0
            first = min(left)
            used = (1 + most(left - s) for s in fast if first in s and s <= left)
            return max(most(left - {first}), *used, 0)

        return most(free)

    def usable(self, free: frozenset[int]) -> int:
        return sum(size * self.disjoint(size, free) for size in SIZES)

    def worth(self, chosen: frozenset[int], free: frozenset[int]) -> tuple[Any, ...]:
        """Return what a choice is compared by, the better the larger."""
        return (
            self.pair_minimum(chosen),
            self.pair_sum(chosen),
            -self.places(chosen, "numa_node"),
            -self.places(chosen, "package"),
            -self.places(chosen, "pcie_switch"),
            self.usable(free - chosen),
            self.pair_sum(free - chosen),
            counts_by_class(self.board, chosen),
        )


def gpus(machine: dict[str, Any]) -> Gpus:
    """Return the GPUs of a machine of a data file."""
    count = machine["gpus"]
    speeds = [[round(100 * machine["other_pairs_gb_per_s"])] * count for _ in range(count)]
    for gb_per_s, pairs in machine["gb_per_s"].items():
        for a, b in pairs:
            speeds[a][b] = speeds[b][a] = round(100 * float(gb_per_s))
    for minor in range(count):
        speeds[minor][minor] = 0
    switches = machine.get("pcie_switches", [None] * count)
    return Gpus(
        tuple(
            Device("gpu", minor, numa_node=numa_node, pcie_switch=switch)
            for minor, (numa_node, switch) in enumerate(
                zip(machine["numa_nodes"], switches, strict=True)
            )
        ),
        matrix(speeds),
    )


def matrix(speeds: list[list[int]], minors: tuple[int, ...] | None = None) -> GpuLinkMatrix:
    """Return a link matrix of the speeds, in 0.01 GB/s."""
    n = len(speeds)
    return GpuLinkMatrix(
        minors=tuple(range(n)) if minors is None else minors,
        centi_gb_per_s=tuple(tuple(row) for row in speeds),
        kinds=(("",) * n,) * n,
    )


def random_gpus(seed: int, most: int = 7) -> Gpus:
    """Draw GPUs with few distinct speeds, so that many are equivalent, or nearly."""
    rng = Random(seed)
    minors = tuple(sorted(rng.sample(range(2 * most), rng.randint(1, most))))
    kinds = [rng.randrange(rng.choice((1, 2, 3))) for _ in minors]
    speeds = rng.choice(((0,), (1, 2), (1, 2, 3), (5, 5, 5, 1)))
    between = {frozenset((a, b)): rng.choice(speeds) for a in range(3) for b in range(a, 3)}
    noise = rng.choice((0.0, 0.1, 1.0))
    rows_ = [[0] * len(minors) for _ in minors]
    for i, j in combinations(range(len(minors)), 2):
        speed = between[frozenset((kinds[i], kinds[j]))]
        rows_[i][j] = rows_[j][i] = rng.choice(speeds) if rng.random() < noise else speed
    numa_nodes = rng.choice(((0,), (0, 1), (0, 1, None)))
    packages = rng.choice(((None,), (0, 1)))
    switches = rng.choice(((None,), ("a", "b"), ("a", "b", None)))
    known = minors if rng.random() < 0.8 else minors[1:]
    skip = len(minors) - len(known)
    return Gpus(
        tuple(
            Device(
                "gpu",
                minor,
                numa_node=rng.choice(numa_nodes),
                package=rng.choice(packages),
                pcie_switch=rng.choice(switches),
            )
            for minor in minors
        ),
        matrix([row[skip:] for row in rows_[skip:]], known),
    )


def random_free(seed: int, world: Gpus) -> frozenset[int]:
    """Draw which of the GPUs are free: often most of them."""
    rng = Random(seed)
    share = rng.choice((0.5, 0.8, 1.0))
    return frozenset(minor for minor in sorted(world.minors) if rng.random() < share)
