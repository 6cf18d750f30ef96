"""A Problem without links between GPUs, for the tiers that do not look at them.

Which GPUs of a NUMA node a pod gets decides no rule and no tier before the link tiers.
So those tiers are solved over counts per cell, in a much smaller model, and the answer
is then refined to counts per class of twins.
"""

from collections import defaultdict
from dataclasses import replace

from placer_models.device import GPU
from placer_models.links import Board, selection_count, selections
from placer_models.problem import Choice, Choices, DeviceBank, Problem

MOST_LOOKED_AT = 5_000
"""GPU sets that refining looks through for one pod."""


def links_matter(problem: Problem) -> bool:
    """Return whether some pod wants several GPUs of a board that has links."""
    wanted = any(shape.count_of(GPU) > 1 for shape in problem.shapes)
    return wanted and any(
        any(bank.board.inner) or any(map(any, bank.board.across))
        for node in problem.nodes
        for bank in node.banks
    )


def without_links(problem: Problem) -> Problem:
    """Return the Problem with GPUs told apart by their cell alone."""
    merged: dict[DeviceBank, DeviceBank] = {}

    def coarse(bank: DeviceBank) -> DeviceBank:
        if bank.type != GPU:
            return bank
        if bank not in merged:
            merged[bank] = _by_cell(bank)
        return merged[bank]

    return replace(
        problem,
        nodes=tuple(
            replace(node, banks=tuple(coarse(bank) for bank in node.banks))
            for node in problem.nodes
        ),
    )


def _by_cell(bank: DeviceBank) -> DeviceBank:
    groups: defaultdict[int | None, list[int]] = defaultdict(list)
    for twin, cell in enumerate(bank.cells):
        groups[cell].append(twin)
    board = bank.board
    size = len(groups)
    return DeviceBank(
        type=bank.type,
        board=Board(
            classes=tuple(
                tuple(sorted(minor for twin in twins for minor in board.classes[twin]))
                for twins in groups.values()
            ),
            numa_nodes=tuple(board.numa_nodes[twins[0]] for twins in groups.values()),
            packages=(None,) * size,
            switches=(None,) * size,
            inner=(0,) * size,
            across=((0,) * size,) * size,
        ),
        free=tuple(sum(bank.free[twin] for twin in twins) for twins in groups.values()),
        cells=tuple(groups),
    )


def refine(problem: Problem, coarse: Problem, choices: Choices) -> Choices:
    """Return the choices of the coarse Problem with GPUs by class of twins.

    Pods with most GPUs choose first; each gets the fastest set of the counts per cell
    that it has been given.
    """
    left = [[list(bank.free) for bank in node.banks] for node in problem.nodes]
    refined: Choices = {}
    for pod in sorted(choices, key=lambda p: (-problem.shape_of(p).count_of(GPU), p)):
        choice = choices[pod]
        banks = zip(problem.nodes[choice.node].banks, coarse.nodes[choice.node].banks, strict=True)
        devices = list(choice.devices)
        for index, (fine, rough) in enumerate(banks):
            if fine.type == GPU:
                free = left[choice.node][index]
                devices[index] = _fastest(fine, rough, choice.devices[index], tuple(free))
                left[choice.node][index] = [
                    a - b for a, b in zip(free, devices[index], strict=True)
                ]
        refined[pod] = Choice(choice.node, choice.cores, choice.memory, tuple(devices))
    return dict(sorted(refined.items()))


def _fastest(
    fine: DeviceBank, rough: DeviceBank, per_cell: tuple[int, ...], free: tuple[int, ...]
) -> tuple[int, ...]:
    """Return the fastest free set with so many devices in each cell."""
    wanted = dict(zip(rough.cells, per_cell, strict=True))
    size = sum(per_cell)
    within = tuple(min(count, wanted[cell]) for count, cell in zip(free, fine.cells, strict=True))
    if selection_count(fine.board, size, within) <= MOST_LOOKED_AT:
        for selection in selections(fine.board, size, within):
            got: defaultdict[int | None, int] = defaultdict(int)
            for cell, count in zip(fine.cells, selection.counts, strict=True):
                got[cell] += count
            if all(got[cell] == count for cell, count in wanted.items()):
                return selection.counts
    taken = []
    for cell, count in zip(fine.cells, free, strict=True):
        take = min(count, wanted[cell])
        wanted[cell] -= take
        taken.append(take)
    return tuple(taken)
