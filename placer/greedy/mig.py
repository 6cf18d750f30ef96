"""Which MIG instances a pod takes: those that leave the most for others."""

from collections.abc import Collection

from placer.greedy.residual import Bank, Residual

Counts = tuple[tuple[int, ...], ...]
"""For each bank, devices of each class."""


def pick_instances(
    residual: Residual,
    counts: Counts,
    position: int,
    room: tuple[int, ...],
    want: int,
    near: Collection[int],
) -> Counts | None:
    """Return the counts with so many instances of one bank more; None: there is no room.

    One after the other: in a cell that is used already if that can be, then where the
    fewest points are lost, then on the lowest GPU.

    Args:
        residual: What is left on the node.
        counts: What the pod takes already, of any bank.
        position: The bank.
        room: Which of its instances may be taken.
        want: How many are.
        near: Cells that the pod uses.

    """
    banks = residual.layout.banks
    bank = banks[position]
    used = set(near)
    for _ in range(want):
        left = after_devices(banks, residual.devices, counts)
        options = []
        for i, (free, may) in enumerate(zip(left[position], room, strict=True)):
            if free and may:
                one = tuple(int(j == i) for j in range(len(room)))
                trial = (*counts[:position], _plus(counts[position], one), *counts[position + 1 :])
                lost = -instance_points(banks, after_devices(banks, residual.devices, trial))
                options.append((bank.cells[i] not in used, lost, bank.cuts[i].gpu, i, trial))
        if not options:
            return None
        _, _, _, i, counts = min(options)
        cell = bank.cells[i]
        if cell is not None:
            used.add(cell)
    return counts


def after_devices(
    banks: tuple[Bank, ...],
    devices: tuple[tuple[int, ...], ...],
    taken: tuple[tuple[int, ...], ...],
) -> tuple[tuple[int, ...], ...]:
    """Return the devices that are left: without MIG instances that overlap those taken."""
    left = tuple(
        tuple(have - take for have, take in zip(free, counts, strict=True))
        for free, counts in zip(devices, taken, strict=True)
    )
    gone = {
        (cut.gpu, part)
        for bank, counts in zip(banks, taken, strict=True)
        for cut, count in zip(bank.cuts, counts, strict=False)
        if count
        for part in cut.covers
    }
    if not gone:
        return left
    return tuple(
        tuple(
            0 if any((cut.gpu, part) in gone for part in cut.covers) else count
            for cut, count in zip(bank.cuts, free, strict=True)
        )
        if bank.cuts
        else free
        for bank, free in zip(banks, left, strict=True)
    )


def overlap(banks: tuple[Bank, ...], counts: Counts) -> bool:
    """Return whether instances of the counts share anything of a GPU."""
    taken = [
        (cut.gpu, part)
        for bank, of_bank in zip(banks, counts, strict=True)
        for cut, count in zip(bank.cuts, of_bank, strict=False)
        if count
        for part in cut.covers
    ]
    return len(set(taken)) < len(taken)


def instance_points(banks: tuple[Bank, ...], free: Counts) -> int:
    """Return the usable points of the instances that could still be made."""
    return sum(
        cut.points * count
        for bank, of_bank in zip(banks, free, strict=True)
        for cut, count in zip(bank.cuts, of_bank, strict=False)
    )


def _plus(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(x + y for x, y in zip(a, b, strict=True))
