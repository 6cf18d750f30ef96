"""Devices that a pod takes, in counts of equivalence classes."""

from collections.abc import Collection, Sequence

from placer.greedy.inside import DevicesChosenForPod
from placer.greedy.joint import Taken, joint_device_split_excess_of_pod, pick_devices_in_scopes
from placer.greedy.mig import (
    banks_after_mig_instances,
    free_usable_mig_points,
    mig_instances_overlap,
    pick_mig_instances,
)
from placer.greedy.shares import pick_whole_devices_and_shares, share_device_counts_by_class
from placer_models.device import GPU
from placer_models.goals import GPU_POINTS
from placer_models.links.allowed import free_counts_within_scope
from placer_models.links.board import LinkedDeviceSetCounts, pair_minimum, pair_sum
from placer_models.links.permitted import best_permitted_devices
from placer_models.links.usable import total_devices_in_usable_sets
from placer_models.problem.banks import DeviceBank, DeviceChosenForShare
from placer_models.problem.fits import JointDevicesFit
from placer_models.problem.node_state import NodeState
from placer_models.problem.problem import Shape


def pick_devices(
    node: NodeState, shape: Shape, joint: JointDevicesFit | None, cells: Collection[int]
) -> DevicesChosenForPod | None:
    """Return devices of the cells, or of no cell, or None if there are not enough.

    Devices wanted side by side come first, then GPUs by their links, then the others as close
    to these as possible.
    """
    asked = dict(shape.devices)
    shared = {need.type for need in shape.shares}
    banks = node.banks
    if (asked.keys() | shared) - {bank.type for bank in banks}:
        return None
    together: Taken = {}
    if joint is not None:
        found = pick_devices_in_scopes(
            joint,
            {bank.type: bank.board for bank in banks},
            {
                b.type: fitting_device_counts_in_cells(node, shape, i, cells)
                for i, b in enumerate(banks)
            },
            dict(shape.scopes),
        )
        if found is None:
            return None
        together = found
    counts = [(0,) * len(bank.free) for bank in banks]
    gpus: LinkedDeviceSetCounts | None = None
    shares: list[DeviceChosenForShare] = []
    used: set[int] = set()
    for position in sorted(range(len(banks)), key=lambda i: _hardness(banks[i])):
        bank = banks[position]
        want = asked.get(bank.type, 0)
        if bank.type in shared:
            parts = pick_whole_devices_and_shares(
                node, shape, cells, position, together.get(bank.type)
            )
            if parts is None:
                return None
            counts[position], takes = parts
            shares += takes
        elif want:
            free = free_device_counts_in_cells(bank, cells)
            if sum(free) < want:
                return None
            picked = together.get(bank.type)
            if picked is None:
                picked = _pick(node, counts, position, free, want, shape, used)
            if picked is None:
                return None
            counts[position] = picked
        else:
            continue
        touched = _with_shares(counts[position], [t for t in shares if t.bank == position])
        if bank.type == GPU:
            gpus = linked_set_of_bank(bank, touched)
        pairs = zip(touched, bank.cells, strict=True)
        used.update(cell for count, cell in pairs if count and cell is not None)
    if mig_instances_overlap(banks, tuple(counts)):
        return None
    apart = joint_device_split_excess_of_pod(joint, together) if joint else 0
    return DevicesChosenForPod(tuple(counts), gpus, frozenset(used), apart, tuple(sorted(shares)))


def _pick(
    node: NodeState,
    counts: Sequence[tuple[int, ...]],
    position: int,
    free: tuple[int, ...],
    want: int,
    shape: Shape,
    near: set[int],
) -> tuple[int, ...] | None:
    """Return the best whole devices of one type beside what the pod has of others.

    The answer is None if no set of them is permitted, or if there is no room for MIG instances.
    """
    bank = node.banks[position]
    scope = shape.scope_of(bank.type)
    if bank.type == GPU:
        best = best_permitted_devices(bank.board, want, free, scope)
        return best.counts if best else None
    rooms = free_counts_within_scope(bank.board, want, free, scope)
    if bank.cuts:
        cut = (
            pick_mig_instances(node.banks, tuple(counts), position, room, want, near)
            for room in rooms
        )
        found = [picked[position] for picked in cut if picked is not None]
    else:
        found = [_nearest(bank, room, want, near) for room in rooms]
    return min(found, key=lambda taken: _strangers(bank, taken, near), default=None)


def _with_shares(counts: tuple[int, ...], shares: list[DeviceChosenForShare]) -> tuple[int, ...]:
    """Return the devices of each equivalence class, counting those that give shares."""
    touched = list(counts)
    for take in shares:
        touched[take.class_index] += 1
    return tuple(touched)


def fitting_device_counts_in_cells(
    node: NodeState, shape: Shape, position: int, cells: Collection[int]
) -> tuple[int, ...]:
    """Return how many devices of each equivalence class of a bank the pod could have a part of."""
    bank = node.banks[position]
    if any(need.type == bank.type for need in shape.shares):
        return share_device_counts_by_class(node, shape, cells, position)
    return free_device_counts_in_cells(bank, cells)


def _hardness(bank: DeviceBank) -> tuple[bool, int]:
    """Return a key that orders GPUs first, and large MIG instances before small ones."""
    return bank.type != GPU, -len(bank.cuts[0].covers) if bank.cuts else 0


def free_device_counts_in_cells(bank: DeviceBank, cells: Collection[int]) -> tuple[int, ...]:
    """Return the free devices of each equivalence class, those of other cells left out."""
    return tuple(
        count if cell is None or cell in cells else 0
        for count, cell in zip(bank.free, bank.cells, strict=True)
    )


def usable_device_points_lost(
    node: NodeState,
    counts: tuple[tuple[int, ...], ...],
    shares: tuple[DeviceChosenForShare, ...] = (),
) -> int:
    """Return how many points of tier ``usable`` the node loses with these devices."""
    lost = 0
    banks = node.banks
    for i, (bank, taken) in enumerate(zip(banks, counts, strict=True)):
        opened = [
            t
            for t in shares
            if t.bank == i and not bank.shareable[t.class_index][t.device_index].shared
        ]
        if bank.type == GPU and (any(taken) or opened):
            gone = _with_shares(taken, opened)
            left = tuple(have - take for have, take in zip(bank.free, gone, strict=True))
            before = total_devices_in_usable_sets(bank.board, bank.free)
            lost += GPU_POINTS * (before - total_devices_in_usable_sets(bank.board, left))
    if any(bank.cuts for bank in banks):
        lost += free_usable_mig_points(banks) - free_usable_mig_points(
            banks_after_mig_instances(banks, counts)
        )
    return lost


def usable_device_points(node: NodeState) -> int:
    """Return the points of tier ``usable`` of the node's free GPUs and instances."""
    whole = sum(
        GPU_POINTS * total_devices_in_usable_sets(bank.board, bank.free)
        for bank in node.banks
        if bank.type == GPU
    )
    return whole + free_usable_mig_points(node.banks)


def linked_set_of_bank(bank: DeviceBank, counts: tuple[int, ...]) -> LinkedDeviceSetCounts:
    """Return devices of a bank as a set, with what its pairs are worth."""
    return LinkedDeviceSetCounts(
        counts, pair_minimum(bank.board, counts), pair_sum(bank.board, counts)
    )


def _strangers(bank: DeviceBank, taken: tuple[int, ...], near: set[int]) -> int:
    """Return how many of the devices are in no cell in ``near``."""
    pairs = zip(taken, bank.cells, strict=True)
    return sum(count for count, cell in pairs if cell not in near)


def _nearest(bank: DeviceBank, free: tuple[int, ...], want: int, near: set[int]) -> tuple[int, ...]:
    """Take from classes in ``near`` first, and from those with the fewest left."""
    taken = [0] * len(free)
    for i in sorted(range(len(free)), key=lambda i: (bank.cells[i] not in near, free[i], i)):
        taken[i] = min(want, free[i])
        want -= taken[i]
    return tuple(taken)
