"""Rooms of NUMA nodes: to pods that have to be on one, those of a node are like devices.

Such a pod takes a share of one of them: its own CPUs, its memory and hugepages, and its whole
devices, as far as all devices of their type have a NUMA node. Other pods are counted by the
sums of the node alone, so that a bound with these rooms holds.
"""

from collections.abc import Sequence
from math import gcd
from operator import ge

from placer.packing.bins import Vector
from placer.plan.market import BinDevicesOfOneType, ItemDeviceAsk
from placer_models.problem.banks import DeviceBank
from placer_models.problem.node_state import NodeState
from placer_models.problem.problem import Problem, Shape

NUMA_NODES = "NUMA nodes"
"""What stands among the types of devices of a market for these rooms."""


def numa_nodes_matter(problem: Problem) -> bool:
    """Return whether some shape has to be on one of several NUMA nodes."""
    return any(
        fit is not None and fit.cell_limit == 1 and problem.of_kinds[kind].cells > 1
        for fits in problem.fits
        for kind, fit in enumerate(fits)
        if kind in problem.of_kinds
    )


def numa_node_bins(problem: Problem, node: NodeState) -> tuple[BinDevicesOfOneType, list[bool]]:
    """Return the NUMA nodes of a node, and which shapes may have what they ask of one."""
    fits = [of_shape[node.kind] for of_shape in problem.fits]
    limited = [fit is not None and fit.cell_limit == 1 for fit in fits]
    nothing = [ItemDeviceAsk()] * len(fits)
    if len(node.cells) < 2 or not any(limited):
        return BinDevicesOfOneType((), (), (), tuple(nothing)), [True] * len(fits)
    banks = [bank for bank in node.banks if None not in bank.cells]
    rooms = [_room(node, cell, banks) for cell, one in enumerate(node.cells) if one.real]
    sizes = [
        _size(problem.shape_on(number, node), banks) if mine else None
        for number, mine in enumerate(limited)
    ]
    known: dict[Vector, int] = {}
    asks, possible = [], []
    for size in sizes:
        possible.append(size is None or any(all(map(ge, room, size)) for room in rooms))
        if size is None or not any(size):
            asks.append(ItemDeviceAsk())
            continue
        asks.append(ItemDeviceAsk(0, ((known.setdefault(size, len(known)), 1),)))
    units = [gcd(*column) or 1 for column in zip(*rooms, *known, strict=True)]

    def in_units(amounts: Sequence[int]) -> Vector:
        return tuple(amount // unit for amount, unit in zip(amounts, units, strict=True))

    return (
        BinDevicesOfOneType(
            tuple(map(in_units, rooms)),
            (True,) * len(rooms),
            tuple(map(in_units, known)),
            tuple(asks),
        ),
        possible,
    )


def _room(node: NodeState, cell: int, banks: Sequence[DeviceBank]) -> Vector:
    """Return what pods may still have on a NUMA node: CPUs of their own, amounts, devices."""
    cpus = sum(one.free_threads for one in node.cores if one.cell == cell)
    devices = [
        sum(free for free, at in zip(bank.free, bank.cells, strict=True) if at == cell)
        for bank in banks
    ]
    return (cpus, *(max(0, amount) for amount in node.cells[cell].amounts), *devices)


def _size(shape: Shape, banks: Sequence[DeviceBank]) -> Vector:
    """Return what a pod takes of its NUMA node at least."""
    return (shape.owned_cpus, *shape.in_cells, *(shape.whole_of(bank.type) for bank in banks))
