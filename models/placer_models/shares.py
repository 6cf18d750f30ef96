"""Shares of devices as a solver sees them: slots, needs and what meets them."""

from dataclasses import dataclass
from typing import NamedTuple

from placer_models.device_share import DeviceShare, taken


@dataclass(frozen=True, slots=True)
class Slot:
    """One device that can take shares.

    Attributes:
        percent: What is left of it.
        memory: What is left of its memory, in 0.01 bytes.
        total_bytes: Its memory; 0 if unknown or none.

    """

    percent: int
    memory: int
    total_bytes: int

    def takes(self, share: DeviceShare) -> tuple[int, int] | None:
        """Return percent and memory that the share takes here; None: it does not fit."""
        amounts = taken(share, self.total_bytes)
        if amounts is None or amounts[0] > self.percent or amounts[1] > self.memory:
            return None
        return amounts

    def room_for(self, share: DeviceShare, most: int) -> int:
        """Return how many such shares it could take, at most so many."""
        amounts = self.takes(share)
        if amounts is None:
            return 0
        limits = zip((self.percent, self.memory), amounts, strict=True)
        return min((most, *(have // want for have, want in limits if want)))


@dataclass(frozen=True, slots=True)
class ShareNeed:
    """The same share of each of so many devices of one type."""

    type: str
    count: int
    share: DeviceShare


class ShareTake(NamedTuple):
    """One share that a pod has: of which device, and which of its needs that meets.

    Attributes:
        bank: Index of the bank of the node.
        twin: Index of the twin class of the bank.
        slot: Index of the slot of the class.
        need: Index into the shares of the shape.

    """

    bank: int
    twin: int
    slot: int
    need: int
