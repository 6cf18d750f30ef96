"""Devices as columns of sums: whole ones by count, shares by what they take of a device.

Parts of devices do not add up as sums over a node say: 70 and 70 percent need two devices.
So shares are also counted by dual feasible functions (Fekete and Schepers 2001), which round each
of them so that what fits one device never counts more than the device does. Where shares have few
sizes, and devices are alike, they are counted by all that fillings of one allow
(`share_capacity_cut_weights`).
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from placer.search.exchanges.share_weights import share_capacity_cut_weights
from placer_models.device_share import (
    DeviceCapacity,
    ShareAmounts,
    amounts_of_share,
    whole_device_amounts,
)
from placer_models.problem.banks import DeviceBank
from placer_models.problem.node_state import NodeState
from placer_models.problem.problem import Problem, Shape

FRACTION = 1_000_000
"""What one device counts in a column of plain sums of shares."""

ROUNDED_AT = (1, 2)
"""The dual feasible functions: 1 counts halves, 2 thirds."""

QUANTITIES = 2
"""Percent and memory are counted, which come first in `ShareAmounts`; all else is left to
the laying of pods."""


class ExchangeDeviceCapacityConstraint(NamedTuple):
    """One sum that pods on a node must keep.

    Attributes:
        type: The type of the devices.
        room: node -> amount left.
        sizes: shape -> amount taken at least.

    """

    type: str
    room: list[int]
    sizes: dict[int, int]


def device_capacity_constraints(
    problem: Problem, nodes: Sequence[NodeState], asked: Collection[int]
) -> Iterator[ExchangeDeviceCapacityConstraint]:
    """Yield the columns of all types of devices that the shapes ask for.

    Args:
        problem: The batch.
        nodes: What is left on each node.
        asked: Indices of the shapes.

    """
    shapes = {shape_index: problem.shapes[shape_index] for shape_index in asked}
    whole = {kind for shape in shapes.values() for kind, _ in shape.devices}
    shared = {need.type for shape in shapes.values() for need in shape.shares}
    for kind in sorted(whole | shared):
        banks = [node.bank(kind) for node in nodes]
        if kind not in shared:
            yield ExchangeDeviceCapacityConstraint(
                kind,
                [sum(bank.free) if bank else 0 for bank in banks],
                {shape_index: shape.whole_of(kind) for shape_index, shape in shapes.items()},
            )
            continue
        known = dict.fromkeys(
            device.totals
            for bank in banks
            if bank
            for devices in bank.shareable
            for device in devices
        )
        for quantity in range(QUANTITIES):
            for at in (0, *ROUNDED_AT):
                yield ExchangeDeviceCapacityConstraint(
                    kind,
                    [_room(bank, quantity, at) if bank else 0 for bank in banks],
                    {
                        shape_index: _size(shape, kind, known, quantity, at)
                        for shape_index, shape in shapes.items()
                    },
                )
        if len(known) == 1:
            yield from _by_weights(kind, next(iter(known)), banks, shapes)


def _by_weights(
    kind: str,
    totals: DeviceCapacity,
    banks: Sequence[DeviceBank | None],
    shapes: Mapping[int, Shape],
) -> Iterator[ExchangeDeviceCapacityConstraint]:
    """Yield columns in which what is on a device counts as its best fillings say."""
    sizes: dict[int, list[tuple[int, ShareAmounts | None]]] = {}
    for shape_index, shape in shapes.items():
        needs = [need for need in shape.shares if need.type == kind]
        sizes[shape_index] = [
            (need.count, None if need.whole else amounts_of_share(need.share, totals))
            for need in needs
        ]
    every = dict.fromkeys(size for pairs in sizes.values() for _, size in pairs if size)
    for weights in share_capacity_cut_weights(list(every), whole_device_amounts(totals)):
        most: dict[ShareAmounts, int] = {}
        has = []
        for bank in banks:
            left = sum(bank.free) * weights.whole if bank else 0
            for device in chain.from_iterable(bank.shareable if bank else ()):
                if device.shared:
                    if device.left not in most:
                        most[device.left] = weights.most(device.left)
                    left += most[device.left]
            has.append(left)
        yield ExchangeDeviceCapacityConstraint(
            kind,
            has,
            {
                shape_index: shapes[shape_index].whole_of(kind) * weights.whole
                + sum(n * (weights.of[size] if size else weights.whole) for n, size in pairs)
                for shape_index, pairs in sizes.items()
            },
        )


def _room(bank: DeviceBank, quantity: int, at: int) -> int:
    """Return what is left of a bank: of devices that are shared, and of those that are free."""
    left = sum(bank.free) * _all(at)
    for devices in bank.shareable:
        for device in devices:
            if device.shared:
                whole = whole_device_amounts(device.totals)
                left += _counted(device.left[quantity], whole[quantity], at)
    return left


def _size(
    shape: Shape, kind: str, known: Collection[DeviceCapacity], quantity: int, at: int
) -> int:
    """Return what a pod takes at least, whichever devices it has."""
    size = shape.whole_of(kind) * _all(at)
    for need in shape.shares:
        if need.type == kind:
            fitting: list[tuple[ShareAmounts, ShareAmounts]] = [
                (amounts, whole_device_amounts(totals))
                for totals in known
                if (amounts := amounts_of_share(need.share, totals)) is not None
            ]
            least = min(
                (_counted(amounts[quantity], whole[quantity], at) for amounts, whole in fitting),
                default=0,
            )
            size += need.count * (_all(at) if need.whole else least)
    return size


def _all(at: int) -> int:
    """Return what a whole device counts."""
    return at * (at + 1) if at else FRACTION


def _counted(amount: int, whole: int, at: int) -> int:
    """Return what a part of a device counts.

    ``at`` 0: the part itself. Else u(k) of Fekete and Schepers, in 1/(k (k + 1)): a part x counts x
    if x (k + 1) is whole, else it is rounded down to k-ths of what (k + 1) of it are.
    """
    if not at:
        return amount * FRACTION // whole
    times, rest = divmod((at + 1) * amount, whole)
    return times * (at + 1) if rest else times * at
