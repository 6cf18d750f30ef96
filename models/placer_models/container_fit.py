"""What a container means on a kind of node where each is aligned for itself (C12)."""

from dataclasses import dataclass

from placer_models.policy import AlignmentPolicy


@dataclass(frozen=True, slots=True)
class ContainerFit:
    """What one container means on a kind of node where each is aligned for itself.

    Attributes:
        index: Its place among the containers of the pod.
        need: Owned CPUs, memory, hugepages of each of the Problem's page sizes, and
            devices of each type in the shape's order: the goods.
        alignment: The policy that holds; not ``None``.
        cell_limit: Most cells it may use, all of them NUMA nodes; None: any.
        fewest_cells: What BestEffort is measured against.
        lasts: It keeps what it has; an init container leaves it to those after it.
        beside: The sidecars that run while an init container does, by their positions
            among the fits of the pod's containers.

    """

    index: int
    need: tuple[int, ...]
    alignment: AlignmentPolicy
    cell_limit: int | None
    fewest_cells: int
    lasts: bool
    beside: tuple[int, ...] = ()
