"""Parts of devices: what is taken of one, whether it fits, and what that is in bytes (D3, D5)."""

from dataclasses import dataclass, replace

from placer_models.typed import check_types

WHOLE_PERCENT = 100
"""All of one device."""


@dataclass(frozen=True, slots=True)
class DeviceShare:
    """What is taken of one device; None: not asked for.

    Attributes:
        percent: Of a GPU's compute; of any other device: of all that it is.
        memory_bytes: Of the device's own memory.
        memory_percent: The same, as a part of the memory of the very device chosen.
        more: (Resource, amount) without a word of its own, ascending, no zeros.

    """

    percent: int | None = None
    memory_bytes: int | None = None
    memory_percent: int | None = None
    more: tuple[tuple[str, int], ...] = ()

    def __post_init__(self) -> None:
        check_types(self)

    @property
    def shared(self) -> bool:
        """Whether others may hold the rest of the device.

        Memory decides where it is asked for: who holds all of it leaves no GPU to others.
        """
        if self.memory_percent is not None:
            return self.memory_percent < WHOLE_PERCENT
        if self.memory_bytes is not None:
            return True
        return self.percent is None or self.percent < WHOLE_PERCENT

    @property
    def whole(self) -> bool:
        """Whether it is all that the device is.

        Who has all of the memory and a part of the compute shares with nobody, but is to
        have that part of the compute and no more.
        """
        return not self.shared and (self.percent is None or self.percent >= WHOLE_PERCENT)


def part_of(share: DeviceShare | None) -> DeviceShare | None:
    """Return the share, or None where it is all of the device."""
    return share if share is not None and share.shared else None


@dataclass(frozen=True, slots=True)
class DeviceDemand:
    """The same share of each of so many devices of one type, all on one node (D5)."""

    type: str
    count: int
    each: DeviceShare


def memory_centi_bytes(share: DeviceShare, total_bytes: int) -> int:
    """Return the memory that a share takes of a device, exactly, in 0.01 bytes.

    A percent of any memory is a whole number of these. Whole bytes would not do for
    accounts: ten shares of 10 percent must fit a memory of any size.

    Raises:
        ValueError: A percent is asked for, and the memory is unknown.

    """
    if share.memory_bytes is not None:
        return share.memory_bytes * 100
    if share.memory_percent is None:
        return 0
    if total_bytes <= 0:
        raise ValueError(
            f"{share.memory_percent} percent of an unknown memory; say how much the device has"
        )
    return share.memory_percent * total_bytes


def taken(share: DeviceShare, total_bytes: int) -> tuple[int, int] | None:
    """Return what the share takes of a device: percent, and memory in 0.01 bytes.

    None where even the empty device cannot give it. Of an unknown memory (0) a share is
    counted in percent alone, as if it were one byte; an amount in bytes it cannot give.
    """
    if total_bytes <= 0 and share.memory_bytes is not None:
        return None
    percent = share.percent or 0
    memory = memory_centi_bytes(share, max(1, total_bytes))
    return (percent, memory) if percent <= 100 and memory <= room(total_bytes)[1] else None


def room(total_bytes: int) -> tuple[int, int]:
    """Return what an empty device has for shares: percent, and memory in 0.01 bytes."""
    return WHOLE_PERCENT, 100 * max(1, total_bytes)


def fits(share: DeviceShare, *, free_percent: int, free_centi_bytes: int, total_bytes: int) -> bool:
    """Return whether ONE device with so much left can give the share (D5).

    Nothing is rounded: against whole free bytes it is as if the share were rounded up.

    Raises:
        ValueError: A percent of memory is asked for, and the memory is unknown.

    """
    return (share.percent or 0) <= free_percent and (
        memory_centi_bytes(share, total_bytes) <= free_centi_bytes
    )


def filled(share: DeviceShare, total_bytes: int) -> DeviceShare:
    """Return the share with its memory both in bytes and in percent of the device (D3).

    What is missing is rounded down, as Koordinator does in what it writes. Of an
    unknown memory (0) nothing can be said: the share stays as it is.
    """
    if total_bytes <= 0:
        return share
    if share.memory_bytes is None and share.memory_percent is not None:
        return replace(share, memory_bytes=share.memory_percent * total_bytes // 100)
    if share.memory_percent is None and share.memory_bytes is not None:
        return replace(share, memory_percent=share.memory_bytes * 100 // total_bytes)
    return share
