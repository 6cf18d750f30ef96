"""Machines behind rows of hints: what each NUMA node has and leaves, told from the hints alone.

A row of a merge names sets of NUMA nodes and says nothing of machines. But a provider hints
at every set that is free to hold the need, and prefers those of the fewest NUMA nodes that
the need takes by what there IS. So the least counts of which that holds are the machine.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import combinations, product
from typing import NamedTuple

from alignment.hints import Hint, ProviderHints
from even_topologies import even_topology
from placer_models.alignment import fewest_cell_count_for_one_resource
from placer_models.cluster import Instance, Machine, Node, RunningPod
from placer_models.device import Device
from placer_models.placement import DeviceGrant, PodPlacement
from placer_models.pod import Container, DeviceRequest, Pod, PodSpec, Resources
from placer_models.policy import AlignmentPolicy
from tiny_pods import lone

MOST = 2
"""Devices that are asked for of a resource, and that a NUMA node has, at most."""


class Stock(NamedTuple):
    """What is asked of one resource, and what each NUMA node has and leaves of it."""

    need: int
    has: tuple[int, ...]
    free: tuple[int, ...]

    def hints(self) -> frozenset[Hint]:
        """Return every set that is free to hold the need; preferred: of the fewest by what is."""
        fewest = fewest_cell_count_for_one_resource(self.has, self.need)
        homes = range(len(self.free))
        return frozenset(
            Hint(frozenset(mask), preferred=size == fewest)
            for size in range(1, len(self.free) + 1)
            for mask in combinations(homes, size)
            if sum(self.free[home] for home in mask) >= self.need
        )


def stocks_of(hints: Sequence[ProviderHints | None], numa_nodes: int) -> dict[str, Stock] | None:
    """Return the stock of each resource that a row says something of; None: there is none.

    Hints are no machine's where none says them all and no narrower sets.
    """
    found: dict[str, Stock] = {}
    for provider in hints:
        for name, said in (provider or {}).items():
            if said is None or set(said) == {Hint(None, preferred=True)}:
                continue  # the resource does not mind where it is
            stock = _stock(frozenset(said), numa_nodes)
            if stock is None or name in found:
                return None
            found[name] = stock
    return found


def instance_of(stocks: Mapping[str, Stock], numa_nodes: int, policy: AlignmentPolicy) -> Instance:
    """Return a node of the stocks on which a pod waits for what is asked of each."""
    devices = [
        Device(name, minor, numa_node=home)
        for name, stock in stocks.items()
        for minor, home in enumerate(_homes(stock.has))
    ]
    held = [
        DeviceGrant(name, minor)
        for name, stock in sorted(stocks.items())
        for home, (has, free) in enumerate(zip(stock.has, stock.free, strict=True))
        for minor in [m for m, at in enumerate(_homes(stock.has)) if at == home][: has - free]
    ]
    machine = Machine(
        "told",
        "",
        even_topology(numa_nodes, *(0,) * numa_nodes),
        tuple(sorted(devices, key=lambda device: (device.type, device.minor))),
    )
    asking = _pod("asking", {name: stock.need for name, stock in stocks.items()}, policy)
    holding = _pod("holding", Counter(grant.type for grant in held), AlignmentPolicy.NONE)
    pool = machine.topology.online
    place = PodPlacement("holding", "default", None, "n", pool, devices=tuple(held))
    return Instance(
        (Node("n", machine),),
        (lone(asking),),
        running=(RunningPod(holding, place),) if held else (),
    )


def _homes(has: tuple[int, ...]) -> list[int]:
    """Return the NUMA node of each device."""
    return [home for home, count in enumerate(has) for _ in range(count)]


def _pod(name: str, counts: Mapping[str, int], policy: AlignmentPolicy) -> Pod:
    devices = tuple(DeviceRequest(kind, count) for kind, count in sorted(counts.items()))
    containers = (Container("main", Resources(devices=devices)),)
    return Pod(name, "default", PodSpec(containers, alignment=policy))


@cache
def _stock(said: frozenset[Hint], numa_nodes: int) -> Stock | None:
    """Return the least stock that says all of the hints, and no narrower sets."""
    if any(hint.affinity is None for hint in said):
        return None  # no machine makes a provider say so of a place that it does not prefer
    sets = {hint.affinity for hint in said if hint.affinity is not None}
    for stock in _stocks(frozenset().union(*sets), numa_nodes):
        every = stock.hints()
        masks = {hint.affinity for hint in every if hint.affinity is not None}
        if said <= every and all(any(own <= mask for own in sets) for mask in masks):
            return stock
    return None


@cache
def _stocks(homes: frozenset[int], numa_nodes: int) -> tuple[Stock, ...]:
    """Return stocks on some of the NUMA nodes, small ones first."""

    def everywhere(counts: tuple[int, ...]) -> tuple[int, ...]:
        on = dict(zip(sorted(homes), counts, strict=True))
        return tuple(on.get(home, 0) for home in range(numa_nodes))

    return tuple(
        Stock(need, everywhere(has), everywhere(free))
        for need in range(1, MOST + 1)
        for free in product(range(need + 1), repeat=len(homes))
        for has in sorted(product(*(range(n, need + 1) for n in free)), key=sum)
    )
