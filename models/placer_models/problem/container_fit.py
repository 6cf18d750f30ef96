"""Container fits: containers that are each aligned by themselves, on a kind of node (C12)."""

from collections.abc import Sequence
from dataclasses import dataclass

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


def pools_of(
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
