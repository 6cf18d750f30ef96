"""Quantities of devices in machine files: their names, and how they are written (B1)."""

import re

from placer_models.capacity import OWN_WORDS, DeviceQuantity, device_quantity_unit_of_text
from placer_models.device_request import DEVICE_RESOURCES, OTHER_SPELLINGS
from placer_models.message_text import in_quotes

_QUANTITY_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._/-]{0,61}[A-Za-z0-9])?")


def check_quantity_name(name: str) -> None:
    """Refuse what cannot be the name of a quantity of a device.

    Raises:
        ValueError: It is not such a name, or means something else already.

    """
    if name in OWN_WORDS:
        raise ValueError(f"{name} is a field of its own; write it beside capacity")
    if OTHER_SPELLINGS.get(name, name) in DEVICE_RESOURCES:
        raise ValueError(f"{in_quotes(name)} is what a GPU has; take another name")
    if not _QUANTITY_NAME.fullmatch(name):
        raise ValueError(f"{in_quotes(name)} is no name of a quantity; expected such as bandwidth")


def device_capacity_to_plain_value(quantity: DeviceQuantity) -> object:
    """Return a quantity as machine files write it: its text, with the unit where that needs it."""
    if device_quantity_unit_of_text(quantity.text) is quantity.unit:
        return quantity.text
    return {"amount": quantity.text, "unit": quantity.unit.value}
