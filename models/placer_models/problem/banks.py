"""Device banks: the devices of a node as a solver sees them, with what is free in counts."""

from dataclasses import field

from placer_models.links.board import Board
from placer_models.mig import MigPlacement
from placer_models.problem.shares import ShareableDevice
from placer_models.records import record


@record(frozen=True, slots=True)
class DeviceBank:
    """The healthy devices of one type on a node.

    The hash leaves out the parts of a bank that never change.

    Attributes:
        free: How many devices of each equivalence class of the board are free: nobody has any
            part of them.
        cells: Index of the cell of each equivalence class; None where it has no NUMA node.
        shareable: For each equivalence class the devices that can take shares: those that are
            shared already, then as many as were free when the batch came, which include those
            that the batch was given whole. Empty where no pod of the batch asks for
            shares of the type.
        cuts: For MIG instances, the placement of each class, which is one instance; else empty.
        by_minor: Whether the devices of each class that can take shares are ascending by minor,
            and not the fullest first.

    """

    type: str
    board: Board = field(hash=False)
    free: tuple[int, ...]
    cells: tuple[int | None, ...] = field(hash=False)
    shareable: tuple[tuple[ShareableDevice, ...], ...] = ()
    cuts: tuple[MigPlacement, ...] = field(default=(), hash=False)
    by_minor: bool = field(default=False, hash=False)
