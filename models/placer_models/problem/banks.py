"""Banks: the devices of a node as a solver sees them, and the shares that pods have of them."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from placer_models.device import FunctionSelector, admits_virtual_function
from placer_models.device_share import (
    DeviceCapacity,
    DeviceShare,
    ShareAmounts,
    amounts_of_share,
    share_fits,
)
from placer_models.device_strategy import DeviceCountStrategy
from placer_models.links.board import LinkedDeviceClasses
from placer_models.mig import PossibleMigPlacement
from placer_models.policy import DeviceChoicePolicy
from placer_models.records import record
from placer_models.selectors import Labels

ClassesBelow = tuple[tuple[int, int], ...]
"""(bank, equivalence class) of all devices below a PCIe switch, ascending."""


class ShareableDevice(NamedTuple):
    """One device that can take shares.

    Attributes:
        left: What is left of it.
        totals: What it has when it is empty.
        functions: (Labels, how many of its virtual functions with them are free),
            ascending; empty if no pod of the batch asks for one.
        shared: Whether pods have shares of it.

    """

    left: ShareAmounts
    totals: DeviceCapacity
    functions: tuple[tuple[Labels, int], ...] = ()
    shared: bool = False

    def takes(
        self, share: DeviceShare, function: FunctionSelector | None = None
    ) -> ShareAmounts | None:
        """Return what the share takes here, or None if it does not fit.

        Args:
            share: What is taken.
            function: Which virtual function comes with it; None: no function.

        """
        if function is not None and not self.functions_for(function):
            return None
        amounts = amounts_of_share(share, self.totals)
        return amounts if amounts is not None and share_fits(amounts, self.left) else None

    def left_of(self, name: str) -> int:
        """Return what is left of a quantity, in 0.01; 0 where the device has none."""
        names = self.totals.names
        return self.left[names.index(name)] if name in names else 0

    def functions_for(self, function: FunctionSelector) -> int:
        """Return how many free virtual functions the selector admits."""
        return sum(
            count for labels, count in self.functions if admits_virtual_function(function, labels)
        )

    def room_for(
        self, share: DeviceShare, most: int, function: FunctionSelector | None = None
    ) -> int:
        """Return how many such shares the device could take, but no more than ``most``."""
        amounts = self.takes(share, function)
        if amounts is None:
            return 0
        if function is not None:
            most = min(most, self.functions_for(function))
        limits = zip(self.left, amounts, strict=True)
        return min((most, *(have // want for have, want in limits if want)))


@dataclass(frozen=True, slots=True)
class DeviceShareNeed:
    """A need for the same share of each of ``count`` devices of one type.

    Attributes:
        count: How many devices; with a strategy 1, the fewest that a pod can have.
        function: Which virtual function of the device comes with each share; None: no function.
        strategy: What sets the number of devices; None: the count.
        whole: Whether the share is all of a device, which nobody else shares.
        choice: Which of the devices that fit the pod would like; None: any.
        size_percent: How much of the largest device of the type a share is, in percent, at least
            1. It only decides in which order pods are placed.

    """

    type: str
    count: int
    share: DeviceShare
    function: FunctionSelector | None = None
    strategy: DeviceCountStrategy | None = None
    whole: bool = False
    size_percent: int = 1
    choice: DeviceChoicePolicy | None = None

    def least_on(self, board: LinkedDeviceClasses) -> int:
        """Return from how many devices of a board of the type a pod gets the share at least."""
        is_all = self.strategy is DeviceCountStrategy.APPLY_FOR_ALL
        return max(1, sum(board.sizes)) if is_all else self.count


def has_device_count_set_by_strategy(needs: Iterable[DeviceShareNeed], device_type: str) -> bool:
    """Return whether a strategy sets how many devices of a type a pod with these needs gets."""
    return any(need.type == device_type and need.strategy is not None for need in needs)


class DeviceChosenForShare(NamedTuple):
    """One share that a pod has: which device it is of, and which of the pod's needs it meets.

    Attributes:
        bank: Index of the bank of the node.
        class_index: Index of the equivalence class in the bank.
        device_index: Index of the device in the class.
        need: Index into the shares of the shape.

    """

    bank: int
    class_index: int
    device_index: int
    need: int


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
    board: LinkedDeviceClasses = field(hash=False)
    free: tuple[int, ...]
    cells: tuple[int | None, ...] = field(hash=False)
    shareable: tuple[tuple[ShareableDevice, ...], ...] = ()
    cuts: tuple[PossibleMigPlacement, ...] = field(default=(), hash=False)
    by_minor: bool = field(default=False, hash=False)
