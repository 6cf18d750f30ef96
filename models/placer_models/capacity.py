"""Quantities of devices that pods may take a part of: bytes, percent or plain units (B1)."""

from dataclasses import dataclass
from enum import StrEnum

from placer_models.quantity import format_bytes, parse_bytes
from placer_models.typed import check_field_types

MAX_QUANTITY = 2**50
"""The most that a device can have of a quantity."""

PERCENT = "percent"
"""The part of a GPU's compute, or of everything that a device of another type has."""

MEMORY = "memory"
"""The device's own memory."""

MEMORY_PERCENT = "memoryPercent"
"""The device's own memory, in percent."""

OWN_WORDS = (PERCENT, MEMORY, MEMORY_PERCENT)
"""What any device may be asked for; no quantity has one of these names."""


class DeviceQuantityUnit(StrEnum):
    """What the amounts of a quantity are."""

    BYTES = "bytes"
    PERCENT = "percent"
    """A device has 100 percent."""
    UNITS = "units"
    """Plain numbers, such as queues, addresses or bits per second."""


@dataclass(frozen=True, slots=True)
class DeviceQuantity:
    """How much a device has of something, or how much of it a pod takes of one device.

    Attributes:
        name: What people call it; the same on all devices of a type.

    Raises:
        ValueError: The name is one of ``OWN_WORDS``, which have fields of their own.

    """

    name: str
    amount: int
    unit: DeviceQuantityUnit = DeviceQuantityUnit.UNITS

    def __post_init__(self) -> None:
        check_field_types(self)
        if self.name in OWN_WORDS:
            raise ValueError(f"{self.name!r} is a field of its own; no quantity has that name")

    @property
    def text(self) -> str:
        """The amount exactly, as files say it: ``5Gi``, ``30%``, ``200``."""
        return format_amount(self.amount, self.unit)


def format_amount(amount: int, unit: DeviceQuantityUnit) -> str:
    """Write an amount exactly, in its unit: ``5Gi``, ``30%``, ``200``."""
    match unit:
        case DeviceQuantityUnit.BYTES:
            return format_bytes(amount)
        case DeviceQuantityUnit.PERCENT:
            return f"{amount}%"
        case DeviceQuantityUnit.UNITS:
            return str(amount)


def device_quantity_unit_of_text(text: str) -> DeviceQuantityUnit:
    """Return the unit of an amount, judged by how it is written: ``5Gi``, ``30%``, ``200``."""
    if text.endswith("%"):
        return DeviceQuantityUnit.PERCENT
    return DeviceQuantityUnit.BYTES if text.endswith("i") else DeviceQuantityUnit.UNITS


def parse_amount(
    text: str, unit: DeviceQuantityUnit | None = None
) -> tuple[int, DeviceQuantityUnit]:
    """Read an amount of a quantity, and its unit.

    Args:
        text: As written. ``5Gi`` is in bytes and ``30%`` in percent; a plain number is in
            the unit of the quantity, or in plain units where that unit is not known.
        unit: The unit of the quantity; None: not known.

    Raises:
        ValueError: The text is no amount, 0, too large, or in another unit than the quantity.

    """
    written = device_quantity_unit_of_text(text)
    if unit is not None and written not in (DeviceQuantityUnit.UNITS, unit):
        raise ValueError(f"got {text!r}, which is in {written}; expected {unit}, {_SUCH_AS[unit]}")
    unit = unit or written
    try:
        amount = parse_bytes(text.removesuffix("%"))
    except ValueError as error:
        raise ValueError(str(error).replace("number of bytes", f"number of {unit}")) from None
    most = 100 if unit is DeviceQuantityUnit.PERCENT else MAX_QUANTITY
    if not amount:
        raise ValueError("got 0; expected some, or delete the line")
    if amount > most:
        raise ValueError(f"got {text!r}; expected {format_amount(most, unit)} at most")
    return amount, unit


_SUCH_AS = {
    DeviceQuantityUnit.BYTES: "such as 5Gi",
    DeviceQuantityUnit.PERCENT: "such as 30%",
    DeviceQuantityUnit.UNITS: "a plain number such as 5 or 2k",
}
