"""Problems that leave out what some tiers do not look at: links, locality, choices of shares.

Which GPUs of a NUMA node a pod gets decides no rule and no tier before the link tiers,
unless it wants them beside other devices. So those tiers are solved over counts per cell
(and PCIe switch), in a much smaller model, and the answer is then refined to counts per
equivalence class. GPUs that a partition table or a scope tells apart stay as they are.

Where no policy asks, the NUMA nodes and packages that a pod is on decide no rule, and no tier
before the two tiers of default locality, which come almost last. So the tiers before those are
solved in a model that counts equal pods together, and the result is dealt out with few places each.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace

from placer_models.cpsat.families import sees_links
from placer_models.device import GPU
from placer_models.links.board import (
    LinkedDeviceClasses,
    number_of_selectable_device_sets,
    selectable_device_sets,
)
from placer_models.problem.banks import DeviceBank
from placer_models.problem.fits import JointDevicesFit
from placer_models.problem.node_state import NodeState
from placer_models.problem.problem import Choice, Choices, Fit, Problem

MOST_LOOKED_AT = 5_000
"""The most GPU sets that refining looks through for one pod."""


def links_matter(problem: Problem) -> bool:
    """Return whether some pod wants several GPUs of a board that has links."""
    wanted = any(shape.count_of(GPU) > 1 for shape in problem.shapes)
    return wanted and any(
        any(bank.board.inner) or any(map(any, bank.board.across))
        for node in problem.nodes
        for bank in node.banks
    )


def without_links(problem: Problem) -> Problem:
    """Return the Problem with GPUs told apart only by what decides more than links.

    That is their cell, and the group in which a pod counts them that wants them beside
    other devices. Default locality comes after the links, so it is left out too.
    """
    problem = without_locality(problem)
    merged: dict[tuple[DeviceBank, int], DeviceBank] = {}
    classes = {node.kind: _together(problem, node) for node in problem.nodes}

    def coarse(bank: DeviceBank, kind: int) -> DeviceBank:
        if bank.type != GPU or sees_links(problem, bank):
            return bank
        if (bank, kind) not in merged:
            merged[bank, kind] = _merged(bank, classes[kind])
        return merged[bank, kind]

    return replace(
        problem,
        homes=tuple((pod, _at_home(problem, home, classes)) for pod, home in problem.homes),
        nodes=tuple(
            replace(
                node,
                banks=tuple(coarse(bank, node.kind) for bank in node.banks),
                switches=(),  # they are told by classes that are one now
            )
            for node in problem.nodes
        ),
        fits=tuple(
            tuple(_by_merged(fit, classes.get(kind, [])) for kind, fit in enumerate(of_shape))
            for of_shape in problem.fits
        ),
    )


def _at_home(
    problem: Problem, home: Choice | None, classes: Mapping[int, list[list[int]]]
) -> Choice | None:
    """Return the choice that a pod has at home, by merged classes of GPUs."""
    if home is None:
        return None
    node = problem.nodes[home.node]
    return replace(
        home,
        devices=tuple(
            tuple(
                sum(counts[class_index] for class_index in members)
                for members in classes[node.kind]
            )
            if bank.type == GPU
            else counts
            for bank, counts in zip(node.banks, home.devices, strict=True)
        ),
    )


def _together(problem: Problem, node: NodeState) -> list[list[int]]:
    """Return the node's equivalence classes of GPUs, in groups that are one class without links."""
    bank = node.bank(GPU)
    if bank is None:
        return []
    if sees_links(problem, bank):
        return [[class_index] for class_index in range(len(bank.cells))]
    groups = [
        _gpu_groups(fit.joint)
        for of_shape in problem.fits
        if (fit := of_shape[node.kind]) is not None and fit.joint is not None
    ]
    held = _held_at_home(problem, node)
    alike: defaultdict[tuple[int | None, ...], list[int]] = defaultdict(list)
    for class_index, cell in enumerate(bank.cells):
        alone = class_index if class_index in held else None
        alike[cell, alone, *(of_wish[class_index] for of_wish in groups if of_wish)].append(
            class_index
        )
    return list(alike.values())


def _held_at_home(problem: Problem, node: NodeState) -> set[int]:
    """Return the equivalence classes of GPUs that pods with a home on such a node hold there."""
    return {
        class_index
        for _, home in problem.homes
        if home is not None and problem.nodes[home.node].kind == node.kind
        for bank, counts in zip(node.banks, home.devices, strict=True)
        if bank.type == GPU
        for class_index, count in enumerate(counts)
        if count
    }


def _gpu_groups(wish: JointDevicesFit) -> tuple[int | None, ...]:
    """Return the group of each class of the GPUs, or none if they are not in the wish."""
    return next(
        (groups for (kind, _), groups in zip(wish.types, wish.groups, strict=True) if kind == GPU),
        (),
    )


def _by_merged(fit: Fit | None, classes: list[list[int]]) -> Fit | None:
    """Return the fit with the groups of merged classes of GPUs."""
    if fit is None or fit.joint is None:
        return fit
    groups = tuple(
        tuple(of_type[members[0]] for members in classes) if kind == GPU else of_type
        for (kind, _), of_type in zip(fit.joint.types, fit.joint.groups, strict=True)
    )
    return replace(fit, joint=replace(fit.joint, groups=groups))


def _merged(bank: DeviceBank, classes: list[list[int]]) -> DeviceBank:
    board = bank.board
    size = len(classes)
    return DeviceBank(
        type=bank.type,
        board=LinkedDeviceClasses(
            classes=tuple(
                tuple(
                    sorted(minor for class_index in members for minor in board.classes[class_index])
                )
                for members in classes
            ),
            numa_nodes=tuple(board.numa_nodes[members[0]] for members in classes),
            packages=(None,) * size,
            switches=(None,) * size,
            inner=(0,) * size,
            across=((0,) * size,) * size,
        ),
        free=tuple(sum(bank.free[class_index] for class_index in members) for members in classes),
        cells=tuple(bank.cells[members[0]] for members in classes),
    )


def refine_coarse_choices(problem: Problem, coarse: Problem, choices: Choices) -> Choices:
    """Return the choices of the coarse Problem with GPUs by equivalence class.

    Pods with the most GPUs choose first. Each gets the fastest set with the counts per
    cell that it has been given.
    """
    left = [[list(bank.free) for bank in node.banks] for node in problem.nodes]
    refined: Choices = {}
    for pod in sorted(choices, key=lambda p: (-problem.shape_of(p).count_of(GPU), p)):
        choice = choices[pod]
        banks = zip(problem.nodes[choice.node].banks, coarse.nodes[choice.node].banks, strict=True)
        devices = list(choice.devices)
        for index, (fine, rough) in enumerate(banks):
            if fine.type == GPU and rough != fine:
                free = left[choice.node][index]
                devices[index] = _fastest(fine, rough, choice.devices[index], tuple(free))
                left[choice.node][index] = [
                    a - b for a, b in zip(free, devices[index], strict=True)
                ]
        refined[pod] = replace(choice, devices=tuple(devices))
    return dict(sorted(refined.items()))


def _fastest(
    fine: DeviceBank, rough: DeviceBank, chosen: tuple[int, ...], free: tuple[int, ...]
) -> tuple[int, ...]:
    """Return the fastest free set with the chosen number of devices in each merged class."""
    merged = {minor: i for i, minors in enumerate(rough.board.classes) for minor in minors}
    home = [merged[minors[0]] for minors in fine.board.classes]
    size = sum(chosen)
    within = tuple(min(count, chosen[at]) for count, at in zip(free, home, strict=True))
    if number_of_selectable_device_sets(fine.board, size, within) <= MOST_LOOKED_AT:
        for selection in selectable_device_sets(fine.board, size, within):
            got = [0] * len(chosen)
            for at, count in zip(home, selection.counts, strict=True):
                got[at] += count
            if tuple(got) == chosen:
                return selection.counts
    wanted = list(chosen)
    taken = []
    for at, count in zip(home, free, strict=True):
        take = min(count, wanted[at])
        wanted[at] -= take
        taken.append(take)
    return tuple(taken)


def without_locality(problem: Problem) -> Problem:
    """Return the Problem with pods that may be on any NUMA nodes and packages."""
    if not any(fit and fit.locality for of_shape in problem.fits for fit in of_shape):
        return problem
    anywhere: dict[int, Fit | None] = {}
    for of_shape in problem.fits:
        for fit in of_shape:
            if id(fit) not in anywhere:  # Most kinds of nodes share theirs.
                anywhere[id(fit)] = replace(fit, locality=None) if fit and fit.locality else fit
    fits = tuple(tuple(anywhere[id(fit)] for fit in of_shape) for of_shape in problem.fits)
    return replace(problem, fits=fits)


def without_share_preferences(problem: Problem) -> Problem:
    """Return the Problem with shares that may come from any devices that fit."""
    if not any(need.choice for shape in problem.shapes for need in shape.shares):
        return problem
    shapes = tuple(
        replace(shape, shares=tuple(replace(need, choice=None) for need in shape.shares))
        for shape in problem.shapes
    )
    return replace(problem, shapes=shapes)
