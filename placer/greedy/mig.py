"""MIG instances that a pod takes: those that leave the most for others."""

from collections.abc import Collection
from dataclasses import replace
from operator import sub

from placer_models.problem.banks import DeviceBank

_Counts = tuple[tuple[int, ...], ...]
"""For each bank, devices of each class."""


def pick_mig_instances(
    banks: tuple[DeviceBank, ...],
    counts: _Counts,
    position: int,
    room: tuple[int, ...],
    want: int,
    near: Collection[int],
) -> _Counts | None:
    """Return the counts with ``want`` more instances of one bank, or None if there is no room.

    They are picked one after the other: in a cell that is used already if possible, then
    where the fewest points are lost, then on the lowest GPU.

    Args:
        banks: What is left on the node.
        counts: What the pod takes already, of any bank.
        position: Index of the bank.
        room: Which of its instances may be taken.
        want: How many are to be taken.
        near: Cells that the pod uses.

    """
    bank = banks[position]
    used = set(near)
    for _ in range(want):
        left = banks_after_mig_instances(banks, counts)[position].free
        options = []
        for i, (free, may) in enumerate(zip(left, room, strict=True)):
            if free and may:
                more = tuple(n + (j == i) for j, n in enumerate(counts[position]))
                trial = (*counts[:position], more, *counts[position + 1 :])
                lost = -free_usable_mig_points(banks_after_mig_instances(banks, trial))
                options.append((bank.cells[i] not in used, lost, bank.cuts[i].gpu, i, trial))
        if not options:
            return None
        _, _, _, i, counts = min(options)
        cell = bank.cells[i]
        if cell is not None:
            used.add(cell)
    return counts


def banks_after_mig_instances(
    banks: tuple[DeviceBank, ...], taken: _Counts
) -> tuple[DeviceBank, ...]:
    """Return what is left of banks: without MIG instances that overlap those taken."""
    gone = set(_slices_covered(banks, taken))
    return tuple(
        replace(bank, free=_left(bank, counts, gone))
        if any(counts) or (gone and bank.cuts)
        else bank
        for bank, counts in zip(banks, taken, strict=True)
    )


def _left(
    bank: DeviceBank, counts: tuple[int, ...], gone: Collection[tuple[int, int]]
) -> tuple[int, ...]:
    left = tuple(map(sub, bank.free, counts))
    if not gone or not bank.cuts:
        return left
    return tuple(
        0 if any((cut.gpu, part) in gone for part in cut.covers) else count
        for cut, count in zip(bank.cuts, left, strict=True)
    )


def mig_instances_overlap(banks: tuple[DeviceBank, ...], counts: _Counts) -> bool:
    """Return whether instances of the counts share anything of a GPU."""
    covered = _slices_covered(banks, counts)
    return len(set(covered)) < len(covered)


def _slices_covered(banks: tuple[DeviceBank, ...], taken: _Counts) -> list[tuple[int, int]]:
    """Return (GPU, slice) of all that each MIG instance taken covers."""
    return [
        (cut.gpu, part)
        for bank, counts in zip(banks, taken, strict=True)
        for cut, count in zip(bank.cuts, counts, strict=False)
        if count
        for part in cut.covers
    ]


def free_usable_mig_points(banks: tuple[DeviceBank, ...]) -> int:
    """Return the usable points of the instances that could still be made."""
    return sum(
        cut.points * count
        for bank in banks
        for cut, count in zip(bank.cuts, bank.free, strict=False)
    )
