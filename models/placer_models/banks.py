"""The devices of a node as a solver sees them: what is free, in counts."""

from dataclasses import dataclass

from placer_models.links import Board
from placer_models.mig import Cut
from placer_models.shares import Slot


@dataclass(frozen=True, slots=True)
class DeviceBank:
    """The healthy devices of one type on a node.

    Attributes:
        free: Free devices of each twin class of the board: nobody has any part of them.
        cells: Index of the cell of each twin class; None where it has no NUMA node.
        slots: For each twin class the devices that can take shares: those that are
            shared already, then as many as are free. Empty where no pod of the batch
            asks for shares of the type.
        cuts: Of MIG instances: that of each class, which is one instance; else empty.

    """

    type: str
    board: Board
    free: tuple[int, ...]
    cells: tuple[int | None, ...]
    slots: tuple[tuple[Slot, ...], ...] = ()
    cuts: tuple[Cut, ...] = ()

    def is_free(self, twin: int, slot: int) -> bool:
        """Return whether nobody has any part of the device of a slot."""
        return slot >= len(self.slots[twin]) - self.free[twin]
