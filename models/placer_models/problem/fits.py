"""Fits: what containers, devices side by side and locality of a shape mean on a kind of node."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from placer_models.policy import BINDING, AlignmentPolicy


@dataclass(frozen=True, slots=True)
class ContainerFit:
    """What one container means on a kind of node where each is aligned by itself.

    Attributes:
        index: Its index among the containers of the pod.
        need: The goods that it needs: CPUs (owned ones, or milli of a pool), memory, hugepages
            of each of the Problem's page sizes, and devices of each type in the shape's order.
        alignment: The policy that holds; ``None`` under Restricted where nothing has a width.
        cell_limit: The most cells it may use, all of them NUMA nodes; None: any number.
        fewest_cells: The number of cells that BestEffort is measured against.
        lasts: Whether it keeps what it has; an init container leaves it to those after it.
        beside: The sidecars that run while an init container does, by their indices
            among the fits of the pod's containers.

    """

    index: int
    need: tuple[int, ...]
    alignment: AlignmentPolicy
    cell_limit: int | None
    fewest_cells: int
    lasts: bool
    beside: tuple[int, ...] = ()


def pool_milli_of_containers_by_cell(
    fits: Sequence[ContainerFit], parts: Sequence[Sequence[Sequence[int]]]
) -> tuple[tuple[tuple[int, ...], int], ...]:
    """Return what a pod whose containers are each bound by themselves counts in each cell's pool.

    That is the most that any phase of its life counts there.

    Args:
        fits: The fits of its containers.
        parts: For each container and each good, how much comes from each cell; the last
            number is what comes from no cell.

    """
    phases = [[i for i, fit in enumerate(fits) if fit.lasts]]
    phases += [[*fit.beside, i] for i, fit in enumerate(fits) if not fit.lasts]
    bound = [i for i, fit in enumerate(fits) if fit.alignment in BINDING]
    cells = range(len(parts[0][0]) - 1) if parts else range(0)
    return tuple(
        ((cell,), max(sum(parts[i][0][cell] for i in phase) for phase in phases))
        for cell in cells
        if any(row[cell] for i in bound for row in parts[i])
    )


@dataclass(frozen=True, slots=True)
class JointDevicesFit:
    """Devices that a pod wants side by side, on a kind of node (D9).

    Attributes:
        types: (type, count), two or more; the count is 1 for a type of which each group gives
            one device.
        groups: For each of the types, the group of each equivalence class of its bank; None
            where it is not known.
        beside: Pairs of types by index, where the wish is required: each group that gives
            a device of the first gives one of the second, and no device is without a group.
        each: Types by index, never the first, of which each group gives the pod at most one
            device. The pod has at least one in all, and no more than there are groups that
            give it the first type; a device of that type without a group counts as a group.

    """

    types: tuple[tuple[str, int], ...]
    groups: tuple[tuple[int | None, ...], ...]
    beside: tuple[tuple[int, int], ...]
    each: tuple[int, ...] = ()


class FewestCellsAndPackages(NamedTuple):
    """The fewest places that hold a pod with all that it has, on the empty node.

    Attributes:
        cells: The fewest cells; None where a policy says which it uses, or there is only one.
        packages: The fewest packages; None where there is only one.

    """

    cells: int | None
    packages: int | None
