"""Shares of devices as a solver sees them: what is left, what is needed, what meets it."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from placer_models.device import FunctionSelector, selects
from placer_models.device_share import DeviceShare, DeviceTotals, ShareAmounts, fits, taken
from placer_models.device_strategy import DeviceStrategy
from placer_models.links import Board
from placer_models.policy import DeviceChoice
from placer_models.selectors import Labels


class ShareableDevice(NamedTuple):
    """One device that can take shares.

    Attributes:
        left: What is left of it.
        totals: What there is of it when it is empty.
        functions: (Labels, how many of its virtual functions with them are free),
            ascending; empty where nobody in the batch asks for one.
        shared: Pods have shares of it.

    """

    left: ShareAmounts
    totals: DeviceTotals
    functions: tuple[tuple[Labels, int], ...] = ()
    shared: bool = False

    def takes(
        self, share: DeviceShare, function: FunctionSelector | None = None
    ) -> ShareAmounts | None:
        """Return what the share takes here; None: it does not fit.

        Args:
            share: What is taken.
            function: Which virtual function comes with it; None: none does.

        """
        if function is not None and not self.functions_for(function):
            return None
        amounts = taken(share, self.totals)
        return amounts if amounts is not None and fits(amounts, self.left) else None

    def left_of(self, name: str) -> int:
        """Return what is left of a quantity, in 0.01; 0 where the device has none."""
        names = self.totals.names
        return self.left[names.index(name)] if name in names else 0

    def functions_for(self, function: FunctionSelector) -> int:
        """Return how many free virtual functions are such as are wanted."""
        return sum(count for labels, count in self.functions if selects(function, labels))

    def room_for(
        self, share: DeviceShare, most: int, function: FunctionSelector | None = None
    ) -> int:
        """Return how many such shares it could take, at most so many."""
        amounts = self.takes(share, function)
        if amounts is None:
            return 0
        if function is not None:
            most = min(most, self.functions_for(function))
        limits = zip(self.left, amounts, strict=True)
        return min((most, *(have // want for have, want in limits if want)))


@dataclass(frozen=True, slots=True)
class ShareNeed:
    """The same share of each of so many devices of one type.

    Attributes:
        count: With a strategy 1: the fewest that a pod has.
        function: Which virtual function of the device comes with each; None: none does.
        strategy: What says of how many devices; None: the count.
        whole: The share is all of a device, and nobody shares it.
        choice: Which of the devices that fit the pod would like; None: whichever.
        size_percent: How much of the largest device of the type it is, at least 1; says in
            which order pods are placed, and nothing else.

    """

    type: str
    count: int
    share: DeviceShare
    function: FunctionSelector | None = None
    strategy: DeviceStrategy | None = None
    whole: bool = False
    size_percent: int = 1
    choice: DeviceChoice | None = None

    def least_on(self, board: Board) -> int:
        """Return of how many devices a pod has the share at least, of a board of the type."""
        is_all = self.strategy is DeviceStrategy.APPLY_FOR_ALL
        return max(1, sum(board.sizes)) if is_all else self.count


def follows_strategy(needs: Iterable[ShareNeed], device_type: str) -> bool:
    """Return whether a strategy says how many devices of a type a pod of the needs has."""
    return any(need.type == device_type and need.strategy is not None for need in needs)


class ShareTake(NamedTuple):
    """One share that a pod has: of which device, and which of its needs that meets.

    Attributes:
        bank: Index of the bank of the node.
        class_index: Index of the equivalence class of the bank.
        device_index: Index of the device in the class.
        need: Index into the shares of the shape.

    """

    bank: int
    class_index: int
    device_index: int
    need: int
