"""Amounts as people write them, read into exact whole numbers."""

import re
from decimal import Decimal

from placer.slots.fractions import PLACES
from placer.slots.resources import E8
from placer_models.message_text import in_quotes

_DECIMAL = re.compile(r"(?P<number>[0-9]{1,9}(?:\.[0-9]{1,30})?|\.[0-9]{1,30})(?P<milli>m?)")
_FRACTION = re.compile(r"(?:[01](?:\.[0-9]+)?|\.[0-9]+)(?:[eE]-[0-9]{1,2})?")

FIELDS = {
    "cpu_e8": "cpu",
    "heap_bytes": "heap",
    "off_heap_bytes": "offHeap",
    "managed_on_heap_bytes": "managedOnHeap",
    "managed_off_heap_bytes": "managedOffHeap",
    "network_bytes": "network",
}
"""What files call the fields of ``Amounts``; extended resources go by their own names."""


def parse_hundred_millionths(text: str) -> int:
    """Read CPUs or an extended resource as hundred-millionths; finer places are cut off.

    Raises:
        ValueError: It is no such amount.

    """
    match = _DECIMAL.fullmatch(text)
    if match is None:
        raise ValueError(f"got {in_quotes(text)}; expected an amount such as 2, 0.25 or 500m")
    amount = Decimal(match["number"]) * E8
    return int(amount / 1000 if match["milli"] else amount)


def format_hundred_millionths(amount_e8: int) -> str:
    """Write hundred-millionths as the number that they are: ``0.25``."""
    whole, rest = divmod(amount_e8, E8)
    return f"{whole}.{rest:08}".rstrip("0").rstrip(".")


def parse_slot_fraction(text: str) -> Decimal:
    """Read a fraction of at most 16 places. Whether it is one of a slot is checked later.

    Raises:
        ValueError: It is no number from 0 to below 2, or finer than that.

    """
    if not _FRACTION.fullmatch(text):
        raise ValueError(f"got {in_quotes(text)}; a fraction of a slot is 0 to 1, such as 0.25")
    fraction = Decimal(text)
    if fraction != round(fraction, PLACES):
        raise ValueError(f"got {in_quotes(text)}; a fraction has {PLACES} places at most")
    return fraction
