"""Shares of devices: what is taken of one, whether it fits, and what that is in bytes (D3, D5)."""

from dataclasses import dataclass, replace
from functools import lru_cache
from operator import le, sub
from typing import NamedTuple

from placer_models.capacity import MEMORY, PERCENT, DeviceQuantity
from placer_models.device import GPU, Device
from placer_models.typed import TypeChecked

WHOLE_PERCENT = 100
"""All of one device."""

ShareAmounts = tuple[int, ...]
"""Amounts of one device: percent, memory in 0.01 bytes, each quantity of its capacity in 0.01."""


@dataclass(frozen=True, slots=True)
class DeviceShare(TypeChecked):
    """What is taken of one device; None: not asked for.

    Attributes:
        percent: Percent of a GPU's compute, or of everything that another device has.
        memory_bytes: Bytes of the device's own memory.
        memory_percent: The same, in percent of the memory of the device that is chosen.
        capacity: Other quantities taken, in the units of the device; ascending by name, no zeros.

    """

    percent: int | None = None
    memory_bytes: int | None = None
    memory_percent: int | None = None
    capacity: tuple[DeviceQuantity, ...] = ()

    @property
    def has_memory(self) -> bool:
        """Whether the share names memory, in bytes or percent."""
        return self.memory_bytes is not None or self.memory_percent is not None

    @property
    def amounts(self) -> dict[str, int]:
        """What is taken as an amount, by name; what is taken in percent is left out."""
        found = {} if self.memory_bytes is None else {MEMORY: self.memory_bytes}
        return found | {quantity.name: quantity.amount for quantity in self.capacity}

    @property
    def shared(self) -> bool:
        """Whether others may hold the rest of the device.

        If memory is asked for, it decides: a pod that holds all of it leaves no GPU to others.
        """
        if self.memory_percent is not None:
            return self.memory_percent < WHOLE_PERCENT
        if self.memory_bytes is not None:
            return True
        return self.percent is None or self.percent < WHOLE_PERCENT

    @property
    def whole(self) -> bool:
        """Whether the share is the whole device.

        A pod that has all of the memory and a part of the compute shares the device with
        nobody, but it gets that part of the compute and no more.
        """
        return not self.shared and (self.percent is None or self.percent >= WHOLE_PERCENT)


def share_unless_whole(share: DeviceShare | None) -> DeviceShare | None:
    """Return the share, or None if there is none or it leaves nothing to others."""
    return share if share is not None and share.shared else None


class DeviceCapacity(NamedTuple):
    """What an empty device has.

    Attributes:
        memory_bytes: 0 if unknown or none.
        capacity: As in ``Device``.
        of_all: Whether a percent of the device is that part of everything that it has; true of
            any device but a GPU.

    """

    memory_bytes: int = 0
    capacity: tuple[DeviceQuantity, ...] = ()
    of_all: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the amounts, in the order of `ShareAmounts`."""
        return PERCENT, MEMORY, *(quantity.name for quantity in self.capacity)


def device_capacity_of(device: Device | None) -> DeviceCapacity:
    """Return what an empty device has; None stands for one of which nothing is known."""
    if device is None:
        return DeviceCapacity()
    return _totals(device.memory_bytes, device.capacity, of_all=device.type != GPU)


@lru_cache(maxsize=4096)
def _totals(
    memory_bytes: int, capacity: tuple[DeviceQuantity, ...], *, of_all: bool
) -> DeviceCapacity:
    """Return totals; equal totals are one object, as most devices of a cluster have the same."""
    return DeviceCapacity(memory_bytes, capacity, of_all)


def whole_device_amounts(totals: DeviceCapacity) -> ShareAmounts:
    """Return the amounts that an empty device has for shares."""
    memory = 100 * (totals.memory_bytes or 1)
    if not totals.capacity:
        return WHOLE_PERCENT, memory
    return WHOLE_PERCENT, memory, *(100 * quantity.amount for quantity in totals.capacity)


def amounts_of_share(share: DeviceShare, totals: DeviceCapacity) -> ShareAmounts | None:
    """Return exactly what the share takes of a device, or None if even an empty one is too small.

    A percent of any amount is a whole number of 0.01. Whole bytes would not do for accounts:
    ten shares of 10 percent must fit a memory of any size. If the memory is unknown (0), a
    share of it is counted in percent alone, as if it were one byte, and an amount in bytes
    cannot be had.
    """
    total_bytes, capacity, of_all = totals
    counted_bytes = total_bytes or 1
    percent = share.percent or 0
    if share.memory_bytes is not None:
        if not total_bytes:
            return None
        memory = 100 * share.memory_bytes
    elif share.memory_percent is not None:
        memory = share.memory_percent * counted_bytes
    else:
        memory = percent * total_bytes if of_all else 0
    if percent > WHOLE_PERCENT or memory > 100 * counted_bytes:
        return None
    if not capacity:
        return None if share.capacity else (percent, memory)
    asked = {quantity.name: quantity for quantity in share.capacity}
    amounts = [percent, memory]
    for has in capacity:
        want = asked.pop(has.name, None)
        if want is None:
            amounts.append(percent * has.amount if of_all else 0)
        elif want.unit is has.unit and want.amount <= has.amount:
            amounts.append(100 * want.amount)
        else:
            return None
    return None if asked else tuple(amounts)


def share_amounts_left(left: ShareAmounts, amounts: ShareAmounts) -> ShareAmounts:
    """Return what is left once the amounts are taken."""
    return tuple(map(sub, left, amounts))


MILLION = 1_000_000
"""The use of a device that is used fully, where use is one number."""


def device_usage_millionths(used: ShareAmounts, has: ShareAmounts, asked: ShareAmounts) -> int:
    """Return how much of a device is used, in one number: the mean over the quantities asked for.

    The used part of each quantity is counted in millionths, rounded down, and so is the mean.

    Args:
        used: What is taken of the device.
        has: All that the device has.
        asked: What is asked of it; quantities of which nothing is asked do not count.

    """
    parts = [
        MILLION * take // total for take, total, want in zip(used, has, asked, strict=True) if want
    ]
    return sum(parts) // len(parts) if parts else 0


def share_fits(amounts: ShareAmounts, left: ShareAmounts) -> bool:
    """Return whether ONE device that has ``left`` can give the amounts (D5, B11)."""
    return all(map(le, amounts, left))


def with_memory_in_both_units(share: DeviceShare, total_bytes: int) -> DeviceShare:
    """Return the share with its memory both in bytes and in percent of the device (D3).

    The missing one is rounded down, as Koordinator does in what it writes. If the memory is
    unknown (0), the share stays as it is.
    """
    if total_bytes <= 0:
        return share
    if share.memory_bytes is None and share.memory_percent is not None:
        return replace(share, memory_bytes=share.memory_percent * total_bytes // 100)
    if share.memory_percent is None and share.memory_bytes is not None:
        return replace(share, memory_percent=share.memory_bytes * 100 // total_bytes)
    return share
